"""Mistakes planted on purpose: a simulator that does not catch them proves nothing.

Each is a small change to one part of the real code, of the kind that reviews let pass. `streamward drill simulate --bug
NAME` shows how it is caught; `tests/simulation` replays the seeds that caught each one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any

from streamward.control.courier import SourceCourier
from streamward.control.handing import HandoverService
from streamward.control.leasing import LeaseService
from streamward.drills.simulation.control import VAULT, DirectEndpoint, Endpoint
from streamward.drills.simulation.events import EPOCH, HostClock
from streamward.drills.simulation.script import REBALANCES_FROM
from streamward.drills.simulation.world import Parts
from streamward.drivers.memory import MemoryStore
from streamward.leases.clock_guard import BLIND, ClockGuard, ClockView
from streamward.leases.fence import StampedRecord, Verdict, admit
from streamward.leases.handover import HandoverAsk, HandoversTold
from streamward.leases.holder import Answer, Ask, Holder
from streamward.leases.lease import NEVER, Denied, Grant, Lease, Owner, SessionState
from streamward.leases.policy import Terms
from streamward.leases.rebalance import Rebalance, RebalanceAsk
from streamward.leases.renewal_answers import RenewalAnswers
from streamward.leases.store import Granted, Kept, Lapse, OpenClaim, Renewal, Renewed
from streamward.model.camera import Camera
from streamward.model.identity import Caller
from streamward.model.ids import CameraId, Generation
from streamward.model.register import Thing
from streamward.model.runner import Runner, RunnerSpec
from streamward.protocol import leases as wire
from streamward.protocol.problem import Problem
from streamward.runtime.journal import Journal


@dataclass(frozen=True, slots=True)
class Bug:
    """A planted mistake."""

    says: str
    parts: Parts
    first_seed: int = 0  # of those that may show it


class DeadlineFromAnswer(Holder):
    def _claim(self, now: float) -> OpenClaim | None:
        """Whatever is free, at once: a takeover that waits its turn would come too late to show the bug."""
        claim = super()._claim(now)
        return None if claim is None else replace(claim, beyond_share=True)

    def receive(self, ask: Ask, answer: Answer | None, now: float) -> None:
        super().receive(replace(ask, sent=now), answer, now)


class NoMargin(Holder):
    def _extend(self, ask: Ask, kept: Kept, *, at: datetime, now: float) -> None:
        super()._extend(ask, kept, at=at, now=now)
        if (held := self._held.get(kept.camera_id)) is not None and held.asked == ask.sent:
            self._held[kept.camera_id] = replace(held, deadline=ask.sent + kept.ttl)


class DeadlineAddsUp(Holder):
    def _extend(self, ask: Ask, kept: Kept, *, at: datetime, now: float) -> None:
        before = self._held.get(kept.camera_id)
        super()._extend(ask, kept, at=at, now=now)
        if before is not None and (held := self._held.get(kept.camera_id)) is not None:
            self._held[kept.camera_id] = replace(held, deadline=max(before.deadline, ask.sent) + kept.ttl / 2)


class RevivesGivenBack(Holder):
    def receive(self, ask: Ask, answer: Answer | None, now: float) -> None:
        self._given_back.clear()
        self._channels[ask.kind].outstanding[ask.number] = ask  # takes answers that it had closed, and repeats
        super().receive(ask, answer, now)


class GivesUpAfterASecond(Holder):
    """Without an echo, or the store would not extend what it cannot use."""

    def receive(self, ask: Ask, answer: Answer | None, now: float) -> None:
        super().receive(ask, answer if now - ask.sent < 1.0 else None, now)
        self.answers.echo = None


class ClaimsUnheardAnswers(RenewalAnswers):
    def may_claim(self, now: float) -> bool:  # noqa: ARG002
        return True


class ClaimsUnheard(Holder):
    """Claims also while it receives nothing: a grant that it does not know of is what shows some bugs of stores."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.answers = ClaimsUnheardAnswers(self.spec.renew_every)


class ReleasesBeforeStopping(Holder):
    def drop(self, camera_id: CameraId, now: float) -> None:
        held = self._held.get(camera_id)
        super().drop(camera_id, now)
        if held is not None:
            self._held[camera_id] = held


class RenewsWithoutGeneration(Lease):
    def renew(
        self,
        owner: Owner,
        generation: Generation,  # noqa: ARG002
        *,
        ttl: float,
        now: datetime,
        echo: datetime | None = None,
    ) -> Lease | Denied | None:
        return super().renew(owner, self.generation, ttl=ttl, now=now, echo=echo)


class ReleasesWithoutGeneration(Lease):
    def release(
        self,
        owner: Owner,
        generation: Generation | None,  # noqa: ARG002
        *,
        made_until: datetime | None,
        now: datetime,
        clock: ClockView,
    ) -> Lease | None:
        return super().release(owner, None, made_until=made_until, now=now, clock=clock)


class ExpiresEarly(Lease):
    def acquire(
        self, owner: Owner, terms: Terms, *, now: datetime, clock: ClockView, echo: datetime | None = None
    ) -> Lease | Denied:
        taken = super().acquire(owner, terms, now=now, clock=clock, echo=echo)
        return taken if isinstance(taken, Denied) else _shortened(taken)

    def renew(
        self, owner: Owner, generation: Generation, *, ttl: float, now: datetime, echo: datetime | None = None
    ) -> Lease | Denied | None:
        renewed = super().renew(owner, generation, ttl=ttl, now=now, echo=echo)
        return _shortened(renewed) if isinstance(renewed, Lease) else renewed


def _shortened(lease: Lease) -> Lease:
    return replace(lease, expires_at=lease.expires_at - timedelta(seconds=2))


class KeepsGeneration(Lease):
    def acquire(
        self, owner: Owner, terms: Terms, *, now: datetime, clock: ClockView, echo: datetime | None = None
    ) -> Lease | Denied:
        taken = super().acquire(owner, terms, now=now, clock=clock, echo=echo)
        return taken if isinstance(taken, Denied) else replace(taken, generation=max(self.generation, Generation(1)))


class KeepsWithdrawn(Lease):
    def withdrawn(self, now: datetime) -> Lease:  # noqa: ARG002
        return self


class FreesWithdrawn(Lease):
    def withdrawn(self, now: datetime) -> Lease:
        ended = super().withdrawn(now)
        return replace(ended, owner=None, state=SessionState.PENDING)


class ExtendsWithoutAnswers(Lease):
    def renew(
        self,
        owner: Owner,
        generation: Generation,
        *,
        ttl: float,
        now: datetime,
        echo: datetime | None = None,  # noqa: ARG002
    ) -> Lease | Denied | None:
        return super().renew(owner, generation, ttl=ttl, now=now)


class NoFloor(Lease):
    def acquire(
        self, owner: Owner, terms: Terms, *, now: datetime, clock: ClockView, echo: datetime | None = None
    ) -> Lease | Denied:
        taken = super().acquire(owner, terms, now=now, clock=clock, echo=echo)
        if isinstance(taken, Denied) or taken.generation == self.generation:
            return taken
        return replace(taken, granted_at=now)


class NoClockFloor(Lease):
    def acquire(
        self, owner: Owner, terms: Terms, *, now: datetime, clock: ClockView, echo: datetime | None = None
    ) -> Lease | Denied:
        return super().acquire(owner, terms, now=now, clock=replace(clock, floor=NEVER), echo=echo)

    def freed(self, *, now: datetime, clock: ClockView) -> Lease:
        return super().freed(now=now, clock=replace(clock, floor=NEVER))


class PlainReleaseEndsNothing(Lease):
    def release(
        self,
        owner: Owner,
        generation: Generation | None,
        *,
        made_until: datetime | None,
        now: datetime,
        clock: ClockView,
    ) -> Lease | None:
        return super().release(owner, generation, made_until=made_until or self.expires_at, now=now, clock=clock)


class ReleaseDatesAhead(Lease):
    def freed(self, *, now: datetime, clock: ClockView) -> Lease:
        freed = super().freed(now=now, clock=clock)
        return replace(freed, not_before=max(freed.not_before, now + timedelta(seconds=0.24 * self.ttl)))


class PlantedStore(MemoryStore):
    """A store whose leases are of another make."""

    lease_type: type[Lease] = Lease

    async def save_camera(self, camera: Camera) -> None:
        await super().save_camera(camera)
        lease = self._db.leases[camera.camera_id]
        if type(lease) is Lease:
            values = {field.name: getattr(lease, field.name) for field in fields(lease)}
            self._db.leases[camera.camera_id] = self.lease_type(**values)


class GrantsLateClaims(MemoryStore):
    """Grants also what was long on its way: grants that nobody waits for are what shows some bugs of stores."""

    async def acquire_free(self, claim: OpenClaim) -> Granted | Denied:
        return await super().acquire_free(replace(claim, echo=None))


class EchoingStore(GrantsLateClaims, PlantedStore):
    """Answers a renewal with the generation that was asked for."""

    lease_type = RenewsWithoutGeneration

    async def renew(self, renewal: Renewal) -> Renewed | Denied:
        outcome = await super().renew(renewal)
        if isinstance(outcome, Denied):
            return outcome
        asked = {named.camera_id: named.generation for named in renewal.leases}
        kept = tuple(replace(each, generation=asked[each.camera_id] or each.generation) for each in outcome.kept)
        return replace(outcome, kept=kept)


class ForgetsGenerations(MemoryStore):
    def _remove(self, thing: Thing) -> None:
        super()._remove(thing)
        if isinstance(thing, Camera):
            self._db.leases[thing.camera_id] = Lease(camera_id=thing.camera_id, state=SessionState.TERMINATED)


class InheritsLeases(MemoryStore):
    async def register(self, spec: RunnerSpec) -> Runner | Denied:
        outcome = await super().register(spec)
        for lease in list(self._db.leases.values()):
            if lease.owner is not None and lease.owner.runner_id == spec.runner_id:
                heir = Owner(spec.runner_id, spec.incarnation)
                self._db.leases[lease.camera_id] = replace(lease, owner=heir)
        return outcome


class EndsNothing(MemoryStore):
    async def end(self, owner: Owner) -> tuple[CameraId, ...]:
        runner = self._db.runners.get(owner.runner_id)
        released = await super().end(owner)
        if runner is not None:
            self._db.runners[owner.runner_id] = runner
        return released


class EndsTheRunner(MemoryStore):
    async def end(self, owner: Owner) -> tuple[CameraId, ...]:
        released = await super().end(owner)
        now = self._db.now()
        for lease in list(self._db.leases.values()):
            if lease.owner is not None and lease.owner.runner_id == owner.runner_id:
                self._free(lease.freed(now=now, clock=BLIND), now)
        return released


class LongTransactions(MemoryStore):
    """Reads `now()` once in three seconds, as a connection does that is never out of a transaction."""

    _began = -1e9

    def _look(self) -> tuple[datetime, ClockView]:
        boot = self._clock.boot()
        if boot - self._began > 3.0:
            self._began = boot
            self._frozen = super()._look()
        return self._frozen


class RevokesOnSilence(MemoryStore):
    async def lapse(self) -> Lapse:
        now = self._db.now()
        silent = {runner.incarnation for runner in self._db.runners.values() if not runner.is_healthy(now)}
        for lease in list(self._db.leases.values()):
            if lease.owner is not None and lease.owner.incarnation in silent:
                self._free(lease.freed(now=now, clock=BLIND), now)
        return await super().lapse()


class ChecksThenActs(GrantsLateClaims):
    """Decides on rows that it read up to two seconds ago."""

    _read_at = -1e9

    def _take(
        self, runner: Runner, camera_id: CameraId, owner: Owner, *, now: datetime, clock: ClockView
    ) -> tuple[Lease, Camera]:
        current = self._db.leases[camera_id]
        self._db.leases[camera_id] = self._rows.get(camera_id, current)
        if not self._db.leases[camera_id].is_open(now, clock):
            self._db.leases[camera_id] = current
        return super()._take(runner, camera_id, owner, now=now, clock=clock)

    def _look(self) -> tuple[datetime, ClockView]:
        if self._clock.boot() - self._read_at > 2.0:
            self._read_at = self._clock.boot()
            self._rows = dict(self._db.leases)
        return super()._look()


class _AlwaysJudges(ClockView):
    def may_judge(self, *, now: datetime, ttl: float) -> bool:  # noqa: ARG002
        return True


class NoGuard(ClockGuard):
    def view(self, boot: float) -> ClockView:  # noqa: ARG002
        return _AlwaysJudges(expected_at=None, steady_for=0.0)


class JudgesFromTheStart(ClockGuard):
    def view(self, boot: float) -> ClockView:
        view = super().view(boot)
        if view.expected_at is None:
            return _AlwaysJudges(expected_at=None, steady_for=0.0)
        return replace(view, steady_for=1e9)


class UnguardedStore(MemoryStore):
    guard_type: type[ClockGuard] = NoGuard

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._guard = self.guard_type()


class ReservesForEver(MemoryStore):
    def _is_reserved(self, camera_id: CameraId, runner: Runner, now: datetime) -> bool:  # noqa: ARG002
        handover, generation = self._db.handovers.get(camera_id), self._db.leases[camera_id].generation
        return (
            handover is not None
            and handover.generation == generation
            and handover.heir.incarnation != runner.incarnation
        )


class TakesFromTheOwner(MemoryStore):
    async def hand_over(self, ask: HandoverAsk) -> HandoversTold:
        told = await super().hand_over(ask)
        now = self._db.now()
        for camera, _ in told.watch:
            lease = self._db.leases[camera.camera_id]
            if camera.camera_id in ask.shown:
                self._free(lease.freed(now=now, clock=BLIND), now)
        return told


class ReleasesBeforeFrames(Holder):
    def _drain(self, now: float) -> None:
        super()._drain(now)
        for camera_id, _ in sorted(self.handing.moving) if self.handing else ():
            self.drop(camera_id, now)


class MovesAtOnce(MemoryStore):
    async def rebalance(self, ask: RebalanceAsk) -> Rebalance:
        planned = await super().rebalance(ask)
        now = self._db.now()
        for move in planned.moves:
            self._free(self._db.leases[move.camera_id].freed(now=now, clock=BLIND), now)
        return planned


class AnswersKept(LeaseService):
    async def renew_many(self, caller: Caller, message: wire.RenewCameras) -> wire.CamerasRenewed | Problem:
        outcome = await super().renew_many(caller, message)
        if isinstance(outcome, Problem):
            return outcome
        asked = {each.camera_uuid: each.version for each in message.cameras}
        kept = [wire.RenewedLease(camera_uuid=lost, version=asked[lost], ttl_ms=8000) for lost in outcome.lost]
        return wire.CamerasRenewed(
            server_time=outcome.server_time,
            renewed=[*outcome.renewed, *kept],
            lost=[],
            busy=outcome.busy,
            unlisted=outcome.unlisted,
        )


def compares_text(record: StampedRecord, grants: Mapping[Generation, Grant], *, now: datetime) -> Verdict:
    newest = max(grants, key=str, default=Generation(0))
    if str(record.generation) >= str(newest):
        return Verdict.LIVE
    return admit(record, grants, now=now)


def accepts_all_late(record: StampedRecord, grants: Mapping[Generation, Grant], *, now: datetime) -> Verdict:
    verdict = admit(record, grants, now=now)
    return Verdict.LATE if verdict is Verdict.REFUSED else verdict


def ignores_made_until(record: StampedRecord, grants: Mapping[Generation, Grant], *, now: datetime) -> Verdict:
    return admit(record, {number: replace(each, made_until=None) for number, each in grants.items()}, now=now)


def ignores_the_interval(made_at: datetime, grant: Grant, *, now: datetime) -> datetime:  # noqa: ARG001
    return min(made_at, now)


def trusts_the_future(made_at: datetime, grant: Grant, *, now: datetime) -> datetime:  # noqa: ARG001
    return made_at


def _leases(kind: type[Lease]) -> Parts:
    return Parts(store=type("Planted", (PlantedStore,), {"lease_type": kind}))


def _answers_kept(store: MemoryStore, journal: Journal) -> Endpoint:
    courier = SourceCourier(VAULT, journal)
    return DirectEndpoint(AnswersKept(store, journal, courier=courier), HandoverService(store, courier=courier))


def _by_wall(clock: HostClock) -> float:
    return (clock.wall() - EPOCH).total_seconds()


_FROM_START = Parts(store=type("Planted", (UnguardedStore,), {"guard_type": JudgesFromTheStart}))

BUGS: dict[str, Bug] = {
    "deadline-from-answer": Bug(
        "the deadline counts from the answer, not from the ask",
        Parts(holder=DeadlineFromAnswer, hands_over=False),  # one seed in hundreds shows it: this keeps its history
    ),
    "no-margin": Bug("a lease is trusted for its whole ttl", Parts(holder=NoMargin)),
    "deadline-adds-up": Bug("each renewal adds to the deadline", Parts(holder=DeadlineAddsUp)),
    "revives-given-back": Bug("a late or repeated answer revives what was given back", Parts(holder=RevivesGivenBack)),
    "releases-before-stopping": Bug(
        "a camera is given back before it is stopped", Parts(holder=ReleasesBeforeStopping)
    ),
    "wall-clock": Bug("deadlines are kept on the wall clock", Parts(read_clock=_by_wall)),
    "monotonic-clock": Bug("deadlines stand still while the host sleeps", Parts(read_clock=HostClock.monotonic)),
    "renew-without-generation": Bug(
        "a renewal does not name its generation", Parts(store=EchoingStore, holder=ClaimsUnheard)
    ),
    "release-without-generation": Bug("a release does not name its generation", _leases(ReleasesWithoutGeneration)),
    "inherited-incarnation": Bug("a new process inherits its forerunner's leases", Parts(store=InheritsLeases)),
    "expires-early": Bug("a lease expires two seconds early", _leases(ExpiresEarly)),
    "generation-kept": Bug("a new owner gets the old generation", _leases(KeepsGeneration)),
    "generation-reset-on-delete": Bug("a camera made anew starts at generation 1", Parts(store=ForgetsGenerations)),
    "no-floor": Bug("a grant may be dated before its forerunner's last record", _leases(NoFloor)),
    "no-clock-floor": Bug("a small step back dates a grant before an accepted record", _leases(NoClockFloor)),
    "plain-release-ends-nothing": Bug(
        "an owner that released may go on until its lease expires", _leases(PlainReleaseEndsNothing)
    ),
    "release-dates-ahead": Bug("a release dates the next grant ahead", _leases(ReleaseDatesAhead)),
    "withdrawn-grant-goes-on": Bug("a camera created again keeps its owner and grant", _leases(KeepsWithdrawn)),
    "withdrawal-frees-at-once": Bug("a withdrawn camera is granted while its owner trusts", _leases(FreesWithdrawn)),
    "extends-without-answers": Bug("a lease is extended whose owner receives nothing", _leases(ExtendsWithoutAnswers)),
    "gives-up-after-a-second": Bug("an answer counts within one second only", Parts(holder=GivesUpAfterASecond)),
    "late-acquire-after-release-all": Bug(
        "giving everything back does not end the incarnation", Parts(store=EndsNothing)
    ),
    "release-all-by-runner": Bug(
        "giving everything back frees a later incarnation's leases", Parts(store=EndsTheRunner)
    ),
    "now-in-long-transaction": Bug("time stands still inside a transaction", Parts(store=LongTransactions)),
    "revoke-on-silence": Bug("a missing heartbeat frees a lease that has not expired", Parts(store=RevokesOnSilence)),
    "check-then-act": Bug("a grant is decided on rows read earlier", Parts(store=ChecksThenActs)),
    "no-clock-guard": Bug("a step of the database's clock expires leases", Parts(store=UnguardedStore)),
    "judges-from-the-start": Bug("a control plane judges expiry as soon as it starts", _FROM_START),
    "reserves-for-ever": Bug("a dead heir keeps others from its camera", Parts(store=ReservesForEver)),
    "takes-from-the-owner": Bug("an heir that sees a camera gets it at once", Parts(store=TakesFromTheOwner)),
    "releases-before-frames": Bug(
        "a camera that moves is released before its successor has frames",
        Parts(holder=ReleasesBeforeFrames),
        REBALANCES_FROM,
    ),
    "moves-at-once": Bug("a camera that moves is taken from its owner", Parts(store=MovesAtOnce), REBALANCES_FROM),
    "answers-kept": Bug("a lost lease is answered as kept", Parts(endpoint=_answers_kept)),
    "fence-compares-text": Bug("the fence compares generations as text", Parts(admit=compares_text)),
    "fence-accepts-all-late": Bug("the fence takes whatever an earlier owner made", Parts(admit=accepts_all_late)),
    "fence-ignores-made-until": Bug(
        "the fence takes what was stamped after the grant ended", Parts(admit=ignores_made_until)
    ),
    "fence-ignores-the-interval": Bug("the fence dates a record outside its grant", Parts(dated=ignores_the_interval)),
    "fence-trusts-the-future": Bug("the fence takes dates that lead its own clock", Parts(dated=trusts_the_future)),
}
