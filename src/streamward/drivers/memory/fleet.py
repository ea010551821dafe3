"""Runners and cameras in memory."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from streamward.drivers.memory.database import MemoryDatabase
from streamward.leases.clock_guard import ClockView
from streamward.leases.dialing import Bucket
from streamward.leases.lease import DenialReason, Denied, Lease, Owner, SessionState
from streamward.leases.store import CameraFilter, SiteLoad
from streamward.model.camera import Camera, Site
from streamward.model.ids import CameraId, RunnerId, SiteId, TenantId
from streamward.model.runner import AS_STARTED, DEFAULT_CAPACITY, DrainMode, Making, Runner, RunnerSpec
from streamward.model.tenant import Tenant, tenant_key
from streamward.model.vault import Sealed
from streamward.runtime.bell import Bell


class MemoryRunners:
    """The runner port on a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase, *, bell: Bell, clock_view: Callable[[], ClockView]) -> None:
        self._db = database
        self._bell = bell
        self._clock_view = clock_view

    async def register(self, spec: RunnerSpec) -> Runner | Denied:
        known = self._db.runners.get(spec.runner_id)
        current = known is not None and known.incarnation == spec.incarnation
        if not current and (spec.runner_id, spec.incarnation) in self._db.incarnations:
            return Denied(DenialReason.INCARNATION_ENDED)
        self._db.incarnations.add((spec.runner_id, spec.incarnation))
        runner = _registered(known, spec, self._db.now())
        self._db.runners[spec.runner_id] = runner
        return runner

    async def end(self, owner: Owner) -> tuple[CameraId, ...]:
        self._db.incarnations.add((owner.runner_id, owner.incarnation))
        runner = self._db.runners.get(owner.runner_id)
        if runner is not None and runner.incarnation == owner.incarnation:
            self._db.runners[owner.runner_id] = replace(runner, incarnation=None)
        mine = self._db.held_by(owner)
        now, clock = self._db.now(), self._clock_view()
        for lease in mine:
            self._db.put_lease(lease.released_with_all(now=now, clock=clock))
            self._db.free_since[lease.camera_id] = now
        self._bell.ring()
        return tuple(lease.camera_id for lease in mine)

    async def heartbeat(
        self, owner: Owner, making: Making = AS_STARTED, *, answer_delay: float | None = None
    ) -> Runner | Denied:
        runner = self._db.runners.get(owner.runner_id)
        if runner is None or runner.incarnation != owner.incarnation:
            return Denied(DenialReason.INCARNATION_ENDED)
        self._db.runners[owner.runner_id] = seen = replace(
            runner, last_seen_at=self._db.now(), making=making, answer_delay=answer_delay
        )
        return seen

    async def find_runner(self, runner_id: RunnerId) -> Runner | None:
        return self._db.runners.get(runner_id)

    async def runners(self) -> list[Runner]:
        return sorted(self._db.runners.values(), key=lambda runner: runner.runner_id)

    async def site_load(self, site_id: SiteId) -> SiteLoad:
        now = self._db.now()
        healthy = list(self._healthy(site_id, now))
        return SiteLoad(
            unowned=sum(
                camera.site_id == site_id
                and camera.is_wanted
                and self._db.leases[camera.camera_id].state in (SessionState.PENDING, SessionState.ORPHANED)
                for camera in self._db.cameras.values()
            ),
            free_slots=sum(max(0, runner.capacity - self._used(runner)) for runner in healthy),
            runners=len(healthy),
            at=now,
        )

    def _healthy(self, site_id: SiteId, now: datetime) -> Iterator[Runner]:
        site = self._db.sites.get(site_id)
        for runner in self._db.runners.values():
            fits = runner.site_id in (None, site_id) and (site is None or runner.tenant_id in (None, site.tenant_id))
            if fits and runner.incarnation is not None and runner.takes_leases and runner.is_healthy(now):
                yield runner

    def _used(self, runner: Runner) -> int:
        assert runner.incarnation is not None
        return self._db.slots_used(Owner(runner.runner_id, runner.incarnation))


class MemoryCameras:
    """The camera port on a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase, *, bell: Bell) -> None:
        self._db = database
        self._bell = bell

    async def page(self, wanted: CameraFilter) -> list[Camera]:
        fitting = sorted(camera.camera_id for camera in self._db.cameras.values() if _fits(camera, wanted))
        return [self._db.cameras[camera_id] for camera_id in fitting[: wanted.limit]]

    async def find_camera(self, camera_id: CameraId, *, scope: TenantId | None) -> Camera | None:
        camera = self._db.cameras.get(camera_id)
        return camera if camera is not None and scope in (None, camera.tenant_id) else None

    async def find_cameras(self, camera_ids: Sequence[CameraId], *, scope: TenantId | None) -> list[Camera]:
        found = [await self.find_camera(camera_id, scope=scope) for camera_id in camera_ids]
        return [camera for camera in found if camera is not None]

    async def find_named_cameras(self, names: Sequence[str], *, tenant_id: TenantId) -> list[Camera]:
        wanted = set(names)
        return [each for each in self._db.cameras.values() if each.tenant_id == tenant_id and each.name in wanted]

    async def save_camera(self, camera: Camera) -> None:
        put_camera(self._db, camera)
        self._bell.ring()

    async def save_site(self, site: Site) -> None:
        put_site(self._db, site)
        self._db.tenants.setdefault(
            site.tenant_id,
            Tenant(
                tenant_id=site.tenant_id,
                tenant_key=tenant_key(secrets.token_hex(16)),
                updated_at=self._db.now(),
                revision=1,
            ),
        )

    async def reseal(self, camera_id: CameraId, *, old: Sealed, new: Sealed) -> bool:
        known = self._db.cameras.get(camera_id)
        if known is None or known.sealed != old:
            return False
        self._db.cameras[camera_id] = replace(known, sealed=new)
        return True


def put_camera(db: MemoryDatabase, camera: Camera) -> Camera:
    """Writes a camera; its lease row follows it."""
    now = db.now()
    lease = db.leases.get(camera.camera_id, Lease(camera_id=camera.camera_id))
    if lease.state is SessionState.TERMINATED:
        lease = replace(lease, state=SessionState.PENDING if lease.owner is None else SessionState.ACTIVE)
    known = db.cameras.get(camera.camera_id)
    if known is not None and camera.withdraws(known):
        lease = lease.withdrawn(now)
    saved = replace(camera, updated_at=now, revision=(known.revision if known else 0) + 1)
    db.cameras[camera.camera_id] = saved
    db.put_lease(lease)
    db.free_since.setdefault(camera.camera_id, now)
    return saved


def put_site(db: MemoryDatabase, site: Site) -> Site:
    """Writes a site and its dial budget."""
    known = db.sites.get(site.site_id)
    saved = replace(site, updated_at=db.now(), revision=(known.revision if known else 0) + 1)
    db.sites[site.site_id] = saved
    bucket = db.buckets.get(site.site_id)
    if bucket is None:
        bucket = Bucket(tokens=site.dials, reserve=0.0, reserve_size=0, updated_at=db.now())
    db.buckets[site.site_id] = replace(bucket, capacity=site.dials, per_minute=site.dials_per_minute)
    return saved


def _registered(known: Runner | None, spec: RunnerSpec, now: datetime) -> Runner:
    if known is not None:
        return replace(
            known,
            incarnation=spec.incarnation,
            tenant_id=spec.tenant_id,
            site_id=spec.site_id,
            policy=spec.policy,
            capacity=known.capacity if spec.capacity is None else spec.capacity,
            last_seen_at=now,
            answer_delay=None,
        )
    return Runner(
        runner_id=spec.runner_id,
        incarnation=spec.incarnation,
        tenant_id=spec.tenant_id,
        site_id=spec.site_id,
        policy=spec.policy,
        capacity=DEFAULT_CAPACITY if spec.capacity is None else spec.capacity,
        cordoned=False,
        drain=DrainMode.NONE,
        last_seen_at=now,
        revision=1,
    )


def _fits(camera: Camera, wanted: CameraFilter) -> bool:
    return (
        wanted.scope in (None, camera.tenant_id)
        and wanted.tenant_id in (None, camera.tenant_id)
        and wanted.site_id in (None, camera.site_id)
        and wanted.enabled in (None, camera.enabled)
        and wanted.name in (None, camera.name)
        and (wanted.after is None or camera.camera_id > wanted.after)
    )
