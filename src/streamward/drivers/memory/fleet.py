"""Runners, cameras and sites in memory."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from streamward.drivers.memory.database import MemoryDatabase
from streamward.leases.dialing import Bucket
from streamward.leases.lease import DenialReason, Denied, Lease, Owner, SessionState
from streamward.leases.policy import stamp_lead
from streamward.leases.store import REMEMBERED_FOR, CameraFilter, Once, Repeated, RunnerChange, SiteLoad
from streamward.model.camera import Camera, Site
from streamward.model.ids import CameraId, RunnerId, SiteId, TenantId
from streamward.model.runner import DEFAULT_CAPACITY, DrainMode, Runner, RunnerSpec
from streamward.model.vault import Sealed
from streamward.runtime.bell import Bell


class MemoryRunners:
    """The runner port on a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase, *, bell: Bell) -> None:
        self._db = database
        self._bell = bell

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
        now = self._db.now()
        for lease in mine:
            stamped = min(now + timedelta(seconds=stamp_lead(lease.ttl)), lease.expires_at)
            self._db.leases[lease.camera_id] = lease.freed(now=now, not_before=stamped)
            self._db.free_since[lease.camera_id] = now
        self._bell.ring()
        return tuple(lease.camera_id for lease in mine)

    async def heartbeat(self, owner: Owner) -> Runner | Denied:
        runner = self._db.runners.get(owner.runner_id)
        if runner is None or runner.incarnation != owner.incarnation:
            return Denied(DenialReason.INCARNATION_ENDED)
        self._db.runners[owner.runner_id] = seen = replace(runner, last_seen_at=self._db.now())
        return seen

    async def find_runner(self, runner_id: RunnerId) -> Runner | None:
        return self._db.runners.get(runner_id)

    async def change_runner(self, runner_id: RunnerId, change: RunnerChange) -> Runner | None:
        runner = self._db.runners.get(runner_id)
        if runner is None:
            return None
        changed = replace(
            runner,
            cordoned=runner.cordoned if change.cordoned is None else change.cordoned,
            drain=runner.drain if change.drain is None else change.drain,
            capacity=runner.capacity if change.capacity is None else change.capacity,
        )
        self._db.runners[runner_id] = changed
        self._bell.ring()
        return changed

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

    async def save_camera(self, camera: Camera) -> None:
        self._save(camera)

    async def add_camera(self, camera: Camera, *, once: Once | None = None) -> Camera | Repeated | None:
        if once is not None and (known := self._known(once)):
            return known
        if camera.camera_id in self._db.cameras:
            return None
        added = self._save(camera)
        if once is not None:
            self._db.created[once.subject, once.key] = Repeated(
                camera_id=added.camera_id, made_at=added.updated_at, digest=once.digest
            )
        return added

    async def change_camera(self, camera: Camera) -> Camera | None:
        known = self._db.cameras.get(camera.camera_id)
        if known is None or _version(known) != _version(camera):
            return None
        if known.credential_version == camera.credential_version:
            camera = replace(camera, sealed=known.sealed)
        return self._save(camera)

    async def reseal(self, camera_id: CameraId, *, old: Sealed, new: Sealed) -> bool:
        known = self._db.cameras.get(camera_id)
        if known is None or known.sealed != old:
            return False
        self._db.cameras[camera_id] = replace(known, sealed=new)
        return True

    async def remove_camera(self, camera_id: CameraId, *, scope: TenantId | None) -> bool:
        if await self.find_camera(camera_id, scope=scope) is None:
            return False
        del self._db.cameras[camera_id]
        self._db.leases[camera_id] = replace(self._db.leases[camera_id], state=SessionState.TERMINATED)
        self._bell.ring()
        return True

    def _known(self, once: Once) -> Repeated | None:
        known = self._db.created.get((once.subject, once.key))
        is_fresh = known and (self._db.now() - known.made_at).total_seconds() < REMEMBERED_FOR
        return known if is_fresh else None

    def _save(self, camera: Camera) -> Camera:
        now = self._db.now()
        lease = self._db.leases.get(camera.camera_id, Lease(camera_id=camera.camera_id))
        if lease.state is SessionState.TERMINATED:
            lease = replace(lease, state=SessionState.PENDING)
        known = self._db.cameras.get(camera.camera_id)
        saved = replace(camera, updated_at=now, revision=(known.revision if known else 0) + 1)
        self._db.cameras[camera.camera_id] = saved
        self._db.leases[camera.camera_id] = lease
        self._db.free_since.setdefault(camera.camera_id, now)
        self._bell.ring()
        return saved


class MemorySites:
    """The site port on a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._db = database

    async def find_site(self, site_id: SiteId, *, scope: TenantId | None) -> Site | None:
        site = self._db.sites.get(site_id)
        return site if site is not None and scope in (None, site.tenant_id) else None

    async def save_site(self, site: Site, *, capacity: int, per_minute: float) -> None:
        self._save_site(site, capacity=capacity, per_minute=per_minute)

    async def add_site(self, site: Site, *, capacity: int, per_minute: float) -> Site | None:
        if site.site_id in self._db.sites:
            return None
        return self._save_site(site, capacity=capacity, per_minute=per_minute)

    async def change_site(self, site: Site, *, capacity: int, per_minute: float) -> Site | None:
        known = self._db.sites.get(site.site_id)
        if known is None or (known.tenant_id, known.revision) != (site.tenant_id, site.revision):
            return None
        return self._save_site(site, capacity=capacity, per_minute=per_minute)

    def _save_site(self, site: Site, *, capacity: int, per_minute: float) -> Site:
        known = self._db.sites.get(site.site_id)
        saved = replace(site, revision=(known.revision if known else 0) + 1)
        self._db.sites[site.site_id] = saved
        bucket = self._db.buckets.get(site.site_id)
        if bucket is None:
            bucket = Bucket(tokens=capacity, reserve=0.0, reserve_size=0, updated_at=self._db.now())
        self._db.buckets[site.site_id] = replace(bucket, capacity=capacity, per_minute=per_minute)
        return saved


def _registered(known: Runner | None, spec: RunnerSpec, now: datetime) -> Runner:
    kept_capacity = known.capacity if known else DEFAULT_CAPACITY
    return Runner(
        runner_id=spec.runner_id,
        incarnation=spec.incarnation,
        tenant_id=spec.tenant_id,
        site_id=spec.site_id,
        policy=spec.policy,
        capacity=kept_capacity if spec.capacity is None else spec.capacity,
        cordoned=known.cordoned if known else False,
        drain=known.drain if known else DrainMode.NONE,
        last_seen_at=now,
    )


def _version(camera: Camera) -> tuple[object, ...]:
    """What tells one state of a camera from every other; its instant too, for a new camera may have an old one's id."""
    return camera.tenant_id, camera.revision, camera.updated_at


def _fits(camera: Camera, wanted: CameraFilter) -> bool:
    return (
        wanted.scope in (None, camera.tenant_id)
        and wanted.tenant_id in (None, camera.tenant_id)
        and wanted.site_id in (None, camera.site_id)
        and wanted.enabled in (None, camera.enabled)
        and (wanted.after is None or camera.camera_id > wanted.after)
    )
