"""The lease service: messages in, messages out, each change in the store and each fact in the journal."""

from dataclasses import replace
from typing import Protocol

from streamward.control.courier import SourceCourier
from streamward.leases import facts
from streamward.leases.lease import DenialReason, Denied, Lease, Owner
from streamward.leases.store import (
    Claim,
    Granted,
    LeaseRecords,
    LeaseStore,
    Named,
    OpenClaim,
    Renewal,
    Renewed,
    RunnerStore,
)
from streamward.model.camera import Camera, LeasePolicyName
from streamward.model.identity import Author, Caller, Role
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId, SiteId
from streamward.model.register import Note
from streamward.model.runner import Making, Runner, RunnerSpec
from streamward.protocol import leases as wire
from streamward.protocol.problem import Problem
from streamward.runtime.journal import Journal

_STATUS = {DenialReason.CAMERA_UNKNOWN: 404}  # every other denial is a conflict

_SENTENCES = {
    DenialReason.HELD: "another runner holds a fresh lease on this camera",
    DenialReason.SOFT_WINDOW: "the lease has expired, but its owner may still come back",
    DenialReason.CAMERA_UNKNOWN: "there is no such camera",
    DenialReason.CAMERA_NOT_WANTED: "the camera is disabled or must not be processed",
    DenialReason.SITE_MISMATCH: "the runner serves another site",
    DenialReason.INCARNATION_ENDED: "this incarnation has ended: start anew and register",
    DenialReason.RUNNER_CORDONED: "the runner is cordoned or draining",
    DenialReason.NO_CAPACITY: "the runner holds as many cameras as it may",
    DenialReason.BUSY: "this lease is locked just now, or the echoed time is too old: ask again with the newest one",
}

MOST_NAMED = 5  # cameras in one fact
ENDED = Denied(DenialReason.INCARNATION_ENDED)
NOT_OWNER = Problem(title="Not owner", status=404, detail="this lease is not the runner's", reason="not-owner")


async def lease_of(store: LeaseRecords, camera: Camera) -> Lease | None:
    """A camera's lease as its tenant may see it: without an owner that was granted the camera for another tenant."""
    lease, newest = await store.find(camera.camera_id), await store.history(camera.camera_id, newest=1)
    is_own = bool(newest) and newest[0].tenant_id == camera.tenant_id
    return lease if lease is None or is_own else replace(lease, owner=None)


class LeaseAndRunnerStore(LeaseStore, RunnerStore, Protocol):
    """The two ports that leasing needs."""


class LeaseService:
    """What runners may do with leases."""

    def __init__(self, store: LeaseAndRunnerStore, journal: Journal, *, courier: SourceCourier) -> None:
        self._store = store
        self._journal = journal
        self._courier = courier

    async def register(self, caller: Caller, message: wire.RegisterRunner) -> wire.RunnerFlags | Problem:
        owner = owner_of(caller, message.runner_id, message.incarnation)
        if isinstance(owner, Problem):
            return owner
        spec = RunnerSpec(
            runner_id=owner.runner_id,
            incarnation=owner.incarnation,
            tenant_id=caller.tenant_id,
            site_id=SiteId(message.site_id) if message.site_id else None,
            policy=message.policy or LeasePolicyName.FAST,
            capacity=message.capacity_streams,
        )
        return self._flags(await self._register(spec))

    async def heartbeat(self, caller: Caller, message: wire.Heartbeat) -> wire.RunnerFlags | Problem:
        owner = owner_of(caller, message.runner_id, None)
        if isinstance(owner, Problem):
            return owner
        making = Making(proven=message.make, tried=message.tried_make, problem=message.make_problem)
        outcome = await self._store.heartbeat(owner, making, answer_delay=message.answer_delay_s)
        if outcome == ENDED and await self._starts_anew(caller, owner):
            outcome = await self._store.heartbeat(owner, making, answer_delay=message.answer_delay_s)
        return self._flags(outcome)

    async def release_all(self, caller: Caller, message: wire.ReleaseAll) -> wire.CamerasReleased | Problem:
        owner = owner_of(caller, message.runner_id, message.incarnation)
        if isinstance(owner, Problem):
            return owner
        released = await self._store.end(owner)
        self._journal.record(
            facts.IncarnationEnded(runner_id=owner.runner_id, incarnation=owner.incarnation, released=len(released))
        )
        return wire.CamerasReleased(released=list(released))

    async def acquire(self, caller: Caller, message: wire.AcquireCamera) -> wire.GrantedLease | Problem:
        owner = owner_of(caller, message.runner_id, message.incarnation)
        if isinstance(owner, Problem):
            return owner
        claim = Claim(
            owner=owner,
            camera_id=CameraId(message.camera_uuid),
            ttl=message.ttl_seconds,
            echo=message.server_time_echo,
        )
        outcome = await self._store.acquire(claim)
        if outcome == ENDED and await self._starts_anew(caller, owner):
            outcome = await self._store.acquire(claim)
        self._note_acquired(owner, outcome, camera_id=claim.camera_id)
        if isinstance(outcome, Denied):
            return problem(outcome)
        lease, camera = outcome.leases[0]
        return wire.GrantedLease(
            camera_uuid=lease.camera_id,
            owner_id=owner.runner_id,
            expires_at=lease.expires_at,
            version=lease.generation,
            ttl_ms=round(lease.ttl * 1000),
            server_time=outcome.at,
            source=self._courier.source(camera),
        )

    async def acquire_free(self, caller: Caller, message: wire.AcquireCameras) -> wire.CamerasAcquired | Problem:
        owner = owner_of(caller, message.runner_id, message.incarnation)
        if isinstance(owner, Problem):
            return owner
        claim = OpenClaim(
            owner=owner,
            limit=message.limit,
            beyond_share=message.beyond_share,
            echo=message.server_time_echo,
        )
        outcome = await self._store.acquire_free(claim)
        self._note_acquired(owner, outcome, camera_id=None)
        if isinstance(outcome, Denied):
            return problem(outcome)
        return wire.CamerasAcquired(
            server_time=outcome.at,
            leases=[self._acquired(lease, camera) for lease, camera in outcome.leases],
            more=outcome.more,
        )

    async def renew(self, caller: Caller, message: wire.RenewCamera) -> wire.CameraLease | Problem:
        owner = owner_of(caller, message.runner_id, message.incarnation)
        if isinstance(owner, Problem):
            return owner
        named = Named(CameraId(message.camera_uuid), _generation(message.version))
        renewal = Renewal(owner=owner, leases=(named,), ttl=message.ttl_seconds, echo=message.server_time_echo)
        outcome = await self._renew(renewal)
        if isinstance(outcome, Denied) or outcome.lost:
            return NOT_OWNER
        if outcome.busy:
            return problem(Denied(DenialReason.BUSY))
        kept = outcome.kept[0]
        return wire.CameraLease(
            camera_uuid=kept.camera_id,
            owner_id=owner.runner_id,
            expires_at=kept.expires_at(outcome.at),
            version=kept.generation,
            ttl_ms=round(kept.ttl * 1000),
            server_time=outcome.at,
        )

    async def renew_many(self, caller: Caller, message: wire.RenewCameras) -> wire.CamerasRenewed | Problem:
        owner = owner_of(caller, message.runner_id, message.incarnation)
        if isinstance(owner, Problem):
            return owner
        named = tuple(Named(CameraId(each.camera_uuid), Generation(each.version)) for each in message.cameras)
        outcome = await self._renew(Renewal(owner=owner, leases=named, echo=message.server_time_echo))
        if isinstance(outcome, Denied):
            return problem(outcome)
        return wire.CamerasRenewed(
            server_time=outcome.at,
            renewed=[
                wire.RenewedLease(camera_uuid=kept.camera_id, version=kept.generation, ttl_ms=round(kept.ttl * 1000))
                for kept in outcome.kept
            ],
            lost=list(outcome.lost),
            busy=list(outcome.busy),
            unlisted=[
                wire.NamedLease(camera_uuid=each.camera_id, version=each.generation or 0) for each in outcome.unlisted
            ],
        )

    async def release(
        self, caller: Caller, message: wire.ReleaseCamera | wire.ReleaseCameras
    ) -> wire.CamerasReleased | Problem:
        owner = owner_of(caller, message.runner_id, message.incarnation)
        if isinstance(owner, Problem):
            return owner
        released = await self._store.release(owner, _named(message))
        for camera_id in released:
            self._journal.record(facts.LeaseReleased(camera_id=camera_id, runner_id=owner.runner_id))
        return wire.CamerasReleased(released=list(released))

    async def reclaim(
        self, message: wire.ReclaimCamera, *, camera: Camera, author: Author
    ) -> wire.CamerasReleased | Problem:
        """An operator takes an expired lease before its soft window ends."""
        camera_id, generation = camera.camera_id, Generation(message.version)
        note = Note(
            author=author,
            action="lease.reclaimed",
            tenant_id=camera.tenant_id,
            object_id=camera_id,
            before={"version": generation},
        )
        if not await self._store.reclaim(camera_id, generation, note=note):
            return Problem(
                title="Not reclaimed",
                status=409,
                detail="this grant has not expired, or is not the newest",
                reason=DenialReason.HELD,
            )
        self._journal.record(facts.LeaseReclaimed(camera_id=camera_id, generation=generation, hard=False))
        return wire.CamerasReleased(released=[camera_id])

    def _acquired(self, lease: Lease, camera: Camera) -> wire.AcquiredCamera:
        return wire.AcquiredCamera(
            camera_uuid=lease.camera_id,
            tenant_id=camera.tenant_id,
            site_id=camera.site_id,
            version=lease.generation,
            ttl_ms=round(lease.ttl * 1000),
            expires_at=lease.expires_at,
            source=self._courier.source(camera),
        )

    async def _starts_anew(self, caller: Caller, owner: Owner) -> bool:
        """Whether a refused call was the first of a start: a client that speaks plain S0 does not register.

        The store registers no incarnation twice, so a late call of a start that has ended stays refused.
        """
        known = await self._store.find_runner(owner.runner_id)
        registered = await self._register(
            RunnerSpec(
                runner_id=owner.runner_id,
                incarnation=owner.incarnation,
                tenant_id=caller.tenant_id,
                site_id=known.site_id if known else None,
                policy=known.policy if known else LeasePolicyName.FAST,
            )
        )
        return isinstance(registered, Runner)

    async def _register(self, spec: RunnerSpec) -> Runner | Denied:
        outcome = await self._store.register(spec)
        if isinstance(outcome, Runner):
            self._journal.record(facts.RunnerRegistered(runner_id=spec.runner_id, incarnation=spec.incarnation))
        return outcome

    async def _renew(self, renewal: Renewal) -> Renewed | Denied:
        outcome = await self._store.renew(renewal)
        if isinstance(outcome, Renewed) and outcome.lost:
            lost = facts.LeasesLost(
                runner_id=renewal.owner.runner_id, count=len(outcome.lost), cameras=outcome.lost[:MOST_NAMED]
            )
            self._journal.record(lost)
        return outcome

    def _note_acquired(self, owner: Owner, outcome: Granted | Denied, *, camera_id: CameraId | None) -> None:
        if isinstance(outcome, Denied):
            self._journal.record(
                facts.LeaseDenied(camera_id=camera_id, runner_id=owner.runner_id, reason=outcome.reason)
            )
            return
        for lease, _ in outcome.leases:
            if lease.camera_id in outcome.changed:
                self._journal.record(
                    facts.LeaseGranted(
                        camera_id=lease.camera_id,
                        runner_id=owner.runner_id,
                        incarnation=owner.incarnation,
                        generation=lease.generation,
                    )
                )

    def _flags(self, outcome: Runner | Denied) -> wire.RunnerFlags | Problem:
        return problem(outcome) if isinstance(outcome, Denied) else runner_flags(outcome)


def owner_of(caller: Caller, runner_id: str, incarnation: str | None) -> Owner | Problem:
    """The owner that a message speaks for, if its bearer may."""
    if caller.role is not Role.RUNNER or caller.subject != runner_id or caller.incarnation is None:
        return Problem(title="Forbidden", status=403, detail="the token is not this runner's", reason="wrong-runner")
    if incarnation not in (None, caller.incarnation):
        return Problem(
            title="Forbidden", status=403, detail="the token is another incarnation's", reason="wrong-incarnation"
        )
    return Owner(RunnerId(runner_id), Incarnation(caller.incarnation))


def problem(denied: Denied) -> Problem:
    """A denial as people and programs read it."""
    return Problem(
        title="Denied",
        status=_STATUS.get(denied.reason, 409),
        detail=_SENTENCES[denied.reason],
        reason=denied.reason,
        retry_in_ms=50 if denied.reason is DenialReason.BUSY else None,
    )


def runner_flags(runner: Runner) -> wire.RunnerFlags:
    """A runner as its flags on the wire."""
    return wire.RunnerFlags(
        runner_id=runner.runner_id,
        cordoned=runner.cordoned,
        drain_mode=runner.drain,
        capacity_streams=runner.capacity,
        incarnation=runner.incarnation,
        site_id=runner.site_id,
        policy=runner.policy,
        last_seen_at=runner.last_seen_at,
        make=runner.make,
        detector=runner.detector,
        earlier_detector=runner.earlier_detector,
        proven_make=runner.making.proven,
        tried_make=runner.making.tried,
        make_problem=runner.making.problem,
    )


def _generation(version: int | None) -> Generation | None:
    return None if version is None else Generation(version)


def _named(message: wire.ReleaseCamera | wire.ReleaseCameras) -> list[Named]:
    if isinstance(message, wire.ReleaseCamera):
        return [Named(CameraId(message.camera_uuid), _generation(message.version))]
    return [Named(CameraId(each.camera_uuid), Generation(each.version), each.made_until) for each in message.cameras]
