"""Leases in memory: `leases.lease` applied to a dictionary."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from streamward.drivers.memory.database import MemoryDatabase
from streamward.leases import eligibility, placement
from streamward.leases.clock_guard import ClockGuard, ClockView
from streamward.leases.lease import DenialReason, Denied, Grant, Lease, Owner, SessionState, echo_fits
from streamward.leases.placement import FreeCamera, Slots
from streamward.leases.policy import BY_NAME, Policies, Terms, applied
from streamward.leases.store import (
    EVERY,
    Claim,
    Granted,
    Kept,
    Lapse,
    LeaseCounts,
    LeaseFilter,
    Named,
    OpenClaim,
    Orphan,
    PlacedLease,
    Renewal,
    Renewed,
)
from streamward.model.camera import Camera
from streamward.model.ids import CameraId, Generation
from streamward.model.register import Note
from streamward.model.runner import Runner
from streamward.runtime.bell import Bell
from streamward.runtime.clock import Clock


class MemoryLeases:
    """The lease port on a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase, *, clock: Clock, bell: Bell, policies: Policies = BY_NAME) -> None:
        self._db = database
        self._clock = clock
        self._policies = policies
        self._bell = bell
        self._guard = ClockGuard()

    async def acquire(self, claim: Claim) -> Granted | Denied:
        now, clock = self._look()
        camera = self._db.cameras.get(claim.camera_id)
        if camera is None:
            return Denied(DenialReason.CAMERA_UNKNOWN)
        runner = self._db.runners.get(claim.owner.runner_id)
        if denial := eligibility.refusal(runner, claim.owner):
            return denial
        assert runner is not None
        if denial := eligibility.mismatch(runner, camera):
            return denial
        lease = self._db.leases[claim.camera_id]
        if not lease.belongs_to(claim.owner) and (
            denial := eligibility.unfit(runner, slots_used=self._db.slots_used(claim.owner))
        ):
            return denial
        terms = self._terms(runner, camera, claim.ttl)
        taken = lease.acquire(claim.owner, terms, now=now, clock=clock, echo=claim.echo)
        if isinstance(taken, Denied):
            return taken
        changed = self._keep(taken, camera)
        return Granted(leases=((taken, camera),), at=now, changed=(camera.camera_id,) if changed else ())

    async def acquire_free(self, claim: OpenClaim) -> Granted | Denied:
        now, clock = self._look()
        runner = self._db.runners.get(claim.owner.runner_id)
        if denial := eligibility.refusal(runner, claim.owner):
            return denial
        assert runner is not None
        if not runner.takes_leases:
            return Denied(DenialReason.RUNNER_CORDONED)
        if not echo_fits(claim.echo, ttl=self._policies[runner.policy].ttl, now=now):
            return Denied(DenialReason.BUSY)
        free = self._free_for(runner, claim, now, clock)
        mine = self._db.held_by(claim.owner)
        served = {self._db.cameras[lease.camera_id].site_id for lease in mine if lease.camera_id in self._db.cameras}
        room = min(claim.limit, runner.capacity - self._db.slots_used(claim.owner))
        share = room if claim.beyond_share else self._share(runner, free=len(free), now=now)
        chosen = placement.choose(free, served=served, limit=min(room, share))
        before = {choice.camera_id: self._db.leases[choice.camera_id].generation for choice in chosen}
        granted = [self._take(runner, choice.camera_id, claim.owner, now=now, clock=clock) for choice in chosen]
        return Granted(
            leases=tuple(granted),
            at=now,
            more=len(granted) < min(len(free), room),
            changed=tuple(lease.camera_id for lease, _ in granted if lease.generation > before[lease.camera_id]),
        )

    async def renew(self, renewal: Renewal) -> Renewed | Denied:
        now, _ = self._look()
        runner = self._db.runners.get(renewal.owner.runner_id)
        if denial := eligibility.refusal(runner, renewal.owner):
            return denial
        kept: list[Kept] = []
        lost: list[CameraId] = []
        busy: list[CameraId] = []
        for named in renewal.leases:
            match self._renewed(renewal, named, now):
                case Lease() as renewed:
                    self._db.leases[named.camera_id] = renewed
                    kept.append(Kept(named.camera_id, renewed.generation, renewed.ttl))
                case Denied():
                    busy.append(named.camera_id)
                case None:
                    lost.append(named.camera_id)
        listed = {named.camera_id for named in renewal.leases}
        unlisted = [
            Named(lease.camera_id, lease.generation)
            for lease in self._db.held_by(renewal.owner)
            if lease.camera_id not in listed
        ]
        return Renewed(at=now, kept=tuple(kept), lost=tuple(lost), busy=tuple(busy), unlisted=tuple(unlisted))

    async def release(self, owner: Owner, leases: Sequence[Named]) -> tuple[CameraId, ...]:
        now, clock = self._look()
        return tuple(named.camera_id for named in leases if self._release(owner, named, now, clock))

    async def lapse(self) -> Lapse:
        asked = self._clock.boot()
        now = self._db.now()
        jumped = self._guard.observe(now, asked=asked, answered=self._clock.boot())
        clock = self._guard.view(self._clock.boot())
        orphaned = [self._orphan(lease, now, clock) for lease in list(self._db.leases.values())]
        live = [(lease.expires_at - now).total_seconds() for lease in self._db.leases.values() if lease.takes_slot]
        return Lapse(
            orphaned=tuple(camera_id for camera_id in orphaned if camera_id is not None),
            next_expiry_in=min(live, default=None),
            clock_jumped=jumped,
        )

    async def orphans(self) -> list[Orphan]:
        return [
            Orphan(
                camera_id=lease.camera_id,
                generation=lease.generation,
                site_id=self._db.cameras[lease.camera_id].site_id,
                expires_at=lease.expires_at,
                soft_for=lease.soft_for,
            )
            for lease in self._db.leases.values()
            if lease.state is SessionState.ORPHANED and lease.soft_for > 0 and lease.camera_id in self._db.cameras
        ]

    async def reclaim(self, camera_id: CameraId, generation: Generation, *, note: Note | None = None) -> bool:
        now, clock = self._look()
        lease = self._db.leases.get(camera_id)
        if lease is None or lease.generation != generation or not lease.is_expired(now, clock):
            return False
        self._free(lease.freed(now=now, clock=clock), now)
        if note is not None:
            self._db.note(note)
        return True

    def _look(self) -> tuple[datetime, ClockView]:
        """The database's time now, and what this control plane expected it to be."""
        boot = self._clock.boot()
        view = self._guard.view(boot)
        now = self._db.now()
        self._guard.observe(now, asked=boot, answered=self._clock.boot())
        return now, view

    def _terms(self, runner: Runner, camera: Camera, ttl: float | None) -> Terms:
        site = self._db.sites.get(camera.site_id)
        policy = applied(runner=runner.policy, site=site.policy if site else None, policies=self._policies)
        return policy.terms(ttl)

    def _share(self, runner: Runner, *, free: int, now: datetime) -> int:
        rivals = (
            each
            for each in self._db.runners.values()
            if placement.is_rival(each, runner, lapsed=self._lapsed(each), now=now)
        )
        return placement.share(self._slots(runner), map(self._slots, rivals), free=free)

    def _lapsed(self, runner: Runner) -> int:
        owner = None if runner.incarnation is None else Owner(runner.runner_id, runner.incarnation)
        return sum(lease.owner == owner and lease.state is SessionState.ORPHANED for lease in self._db.leases.values())

    def _slots(self, runner: Runner) -> Slots:
        assert runner.incarnation is not None
        held = self._db.slots_used(Owner(runner.runner_id, runner.incarnation))
        return Slots(held=held, capacity=runner.capacity)

    def _free_for(self, runner: Runner, claim: OpenClaim, now: datetime, clock: ClockView) -> list[FreeCamera]:
        return [
            FreeCamera(
                camera_id=camera.camera_id, site_id=camera.site_id, free_since=self._db.free_since[camera.camera_id]
            )
            for camera in self._db.cameras.values()
            if eligibility.mismatch(runner, camera) is None
            and self._db.leases[camera.camera_id].state in (SessionState.PENDING, SessionState.ORPHANED)
            and self._db.leases[camera.camera_id].is_open(now, clock)
            and self._may_extend(self._db.leases[camera.camera_id], claim, now)
            and not self._is_reserved(camera.camera_id, runner, now)
        ]

    def _may_extend(self, lease: Lease, claim: OpenClaim, now: datetime) -> bool:
        """Whether it is another's, or its own and its owner receives answers."""
        return not lease.belongs_to(claim.owner) or echo_fits(claim.echo, ttl=lease.ttl, now=now)

    def _is_reserved(self, camera_id: CameraId, runner: Runner, now: datetime) -> bool:
        handover, generation = self._db.handovers.get(camera_id), self._db.leases[camera_id].generation
        assert runner.incarnation is not None
        asker = Owner(runner.runner_id, runner.incarnation)
        return handover is not None and handover.reserves(generation, against=asker, now=now)

    def _take(
        self, runner: Runner, camera_id: CameraId, owner: Owner, *, now: datetime, clock: ClockView
    ) -> tuple[Lease, Camera]:
        camera = self._db.cameras[camera_id]
        taken = self._db.leases[camera_id].acquire(owner, self._terms(runner, camera, None), now=now, clock=clock)
        assert isinstance(taken, Lease)
        self._keep(taken, camera)
        return taken, camera

    def _keep(self, lease: Lease, camera: Camera) -> bool:
        """Stores a granted lease and, with a new generation, its grant; returns whether it is new."""
        is_new = lease.generation != self._db.leases[lease.camera_id].generation
        self._db.leases[lease.camera_id] = lease
        if is_new:
            assert lease.owner is not None
            self._db.grants.setdefault(lease.camera_id, {})[lease.generation] = Grant(
                camera_id=lease.camera_id,
                generation=lease.generation,
                owner=lease.owner,
                tenant_id=camera.tenant_id,
                site_id=camera.site_id,
                granted_at=lease.granted_at,
            )
        return is_new

    def _renewed(self, renewal: Renewal, named: Named, now: datetime) -> Lease | Denied | None:
        lease = self._db.leases.get(named.camera_id)
        camera = self._db.cameras.get(named.camera_id)
        if lease is None or camera is None or not camera.is_wanted:
            return None
        generation = lease.generation if named.generation is None else named.generation
        return lease.renew(renewal.owner, generation, ttl=renewal.ttl or lease.ttl, now=now, echo=renewal.echo)

    def _release(self, owner: Owner, named: Named, now: datetime, clock: ClockView) -> bool:
        lease = self._db.leases.get(named.camera_id)
        freed = lease and lease.release(owner, named.generation, made_until=named.made_until, now=now, clock=clock)
        if freed is None:
            return False
        self._free(freed, now)
        return True

    def _orphan(self, lease: Lease, now: datetime, clock: ClockView) -> CameraId | None:
        orphaned = lease.orphaned(now=now, clock=clock)
        if orphaned is None:
            return None
        self._free(orphaned, now)
        return lease.camera_id

    def _free(self, lease: Lease, now: datetime) -> None:
        self._db.put_lease(lease)
        self._db.free_since[lease.camera_id] = now
        self._bell.ring()


class MemoryLeaseRecords:
    """The record port on a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._db = database

    async def find(self, camera_id: CameraId) -> Lease | None:
        return self._db.leases.get(camera_id)

    async def leases(self, wanted: LeaseFilter) -> list[PlacedLease]:
        found = [
            PlacedLease(
                lease=self._of_tenant(camera),
                tenant_id=camera.tenant_id,
                site_id=camera.site_id,
                status=self._db.statuses.get(camera_id),
            )
            for camera_id, camera in sorted(self._db.cameras.items())
            if wanted.after is None or camera_id > wanted.after
        ]
        return [each for each in found if _is_wanted(each, wanted)][: wanted.limit]

    def _of_tenant(self, camera: Camera) -> Lease:
        lease = self._db.leases[camera.camera_id]
        grant = self._db.grants.get(camera.camera_id, {}).get(lease.generation)
        return lease if grant is not None and grant.tenant_id == camera.tenant_id else replace(lease, owner=None)

    async def history(self, camera_id: CameraId, *, newest: int = EVERY) -> list[Grant]:
        return list(self._db.grants.get(camera_id, {}).values())[-newest:]

    async def counts(self) -> LeaseCounts:
        states = [lease.state for lease in self._db.leases.values()]
        orphaned = states.count(SessionState.ORPHANED)
        return LeaseCounts(
            leased=states.count(SessionState.ACTIVE) + states.count(SessionState.PAUSED),
            free=states.count(SessionState.PENDING),
            orphaned=orphaned,
        )


def _is_wanted(placed: PlacedLease, wanted: LeaseFilter) -> bool:
    owner = placed.lease.owner
    return (
        wanted.scope in (None, placed.tenant_id)
        and wanted.site_id in (None, placed.site_id)
        and (wanted.runner_id is None or (owner is not None and owner.runner_id == wanted.runner_id))
        and wanted.state in (None, placed.lease.state)
    )
