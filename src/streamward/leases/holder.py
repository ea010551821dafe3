"""A runner's side of its leases, without I/O: what to ask now, what an answer means, what may be trusted until when.

    register → (acquire · renew · beat · release)* → ended

An ask that is not answered within one second is followed by another, and its answer still counts when it arrives:
`leases.renewal_answers` says how renewals overlap. At most four asks of a kind are outstanding, and none for longer
than four renewals take; a fifth closes the oldest, and what its answer might have said is not known. Not knowing means
not holding.

Guaranteed: `stamp` gives nothing past a lease's deadline, which is counted on the boot-time clock from *before* the ask
that earned it, and nothing for a frame from before its grant; no stamp of a lease is dated at or after the moment the
store lets it expire, whatever the clocks do; a lease that was given back is not used again under the same generation.
Not guaranteed: that a lease is still the runner's when its deadline has not come. The fence decides that at the sink.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from streamward.leases.fence import Stamp
from streamward.leases.handover import Handing, unawaited
from streamward.leases.held import Held, heard
from streamward.leases.lease import DenialReason, Denied, Owner
from streamward.leases.policy import BY_NAME, FAST, RENEW_TIMEOUT, renewal_interval, trusted_for
from streamward.leases.renewal_answers import MOST_OUTSTANDING, RenewalAnswers
from streamward.leases.store import Kept, Named, OpenClaim, Renewal, Renewed
from streamward.model.ids import CameraId, Generation
from streamward.model.runner import (
    AS_STARTED,
    DEFAULT_CAPACITY,
    NO_LOAD,
    DrainMode,
    Making,
    RunnerLoad,
    RunnerSpec,
)

SOFT_DRAIN_BATCH = 4  # leases given back at a time
SOFT_DRAIN_EVERY = 2.0
RETRY_AFTER = 0.1  # seconds until an ask that failed at once goes again
MOST_ASKED = 1000  # cameras in one ask
SETTLED_AFTER = 1.5  # seconds from its registration on in which a runner takes but a few: others may be starting too
FIRST_FEW = 2
LOOK_AGAIN = 0.25  # seconds, while cameras are free that are others' to take
LEFT_FOR = 2.0  # seconds after which those are anybody's
RESEND_EVERY = 2.0  # seconds between asks of a kind while two of them or more are not answered


class AskKind(StrEnum):
    """The conversations of a runner with its control plane."""

    REGISTER = "register"
    ACQUIRE = "acquire"
    RENEW = "renew"
    RELEASE = "release"
    BEAT = "beat"


@dataclass(frozen=True, slots=True)
class Releasing:
    """An ask to give leases back."""

    owner: Owner
    leases: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class Released:
    """The answer: these are not the owner's any more."""

    cameras: tuple[CameraId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Acquired:
    """The answer to an open claim."""

    at: datetime
    leases: tuple[Kept, ...]
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """The answer to a registration and to a beat: what operators want."""

    capacity: int
    cordoned: bool = False
    drain: DrainMode = DrainMode.NONE


@dataclass(frozen=True, slots=True)
class Beat:
    """An ask that says the runner lives, and wants its flags."""

    owner: Owner
    streams_owned: int  # leases that it trusts: of one camera no two runners count one at the same time
    making: Making = AS_STARTED
    load: RunnerLoad = NO_LOAD
    answer_delay: float | None = None  # while answers come too late to keep a lease


AskBody = RunnerSpec | OpenClaim | Renewal | Releasing | Beat
Answer = Flags | Acquired | Renewed | Released | Denied


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Something to send now."""

    number: int
    kind: AskKind
    body: AskBody
    sent: float  # boot-time before sending


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderSpec:
    """How a runner behaves; seconds."""

    runner: RunnerSpec
    renew_every: float = FAST.renew_every  # or more often, if a lease that it holds is shorter
    acquire_every: float = 2.0
    beat_every: float = 1.0
    answer_within: float = RENEW_TIMEOUT


@dataclass(slots=True)
class _Channel:
    """One conversation: when it is due next, and the asks without an answer, the oldest first."""

    due: float = 0.0
    resend_at: float | None = None  # while an ask is not answered; None: there is nothing to say again
    outstanding: dict[int, Ask] = field(default_factory=dict)
    answered: int = 0  # the number of the newest ask that was answered

    @property
    def is_waiting(self) -> bool:
        """Whether the newest ask has no answer yet; those before it that have none were overtaken."""
        return any(number > self.answered for number in self.outstanding)


_SERVING = (AskKind.RENEW, AskKind.RELEASE, AskKind.ACQUIRE, AskKind.BEAT)


class HolderState(StrEnum):
    """Where an incarnation stands."""

    STARTING = "starting"  # not registered yet
    SERVING = "serving"
    LEAVING = "leaving"  # gives everything back
    ENDED = "ended"  # superseded or given back for good: nothing is held, nothing is asked


@dataclass(slots=True)
class Holder:
    """The leases of one incarnation of one runner."""

    spec: HolderSpec
    state: HolderState = HolderState.STARTING
    owner: Owner = field(init=False)
    making: Making = AS_STARTED  # told with each beat
    load: RunnerLoad = NO_LOAD  # reported with each beat
    handing: Handing | None = None  # how the heirs of its cameras do, while these are handed over; None: nobody says
    is_watching: bool = False  # what will be its own soon, be that more than its share
    _held: dict[CameraId, Held] = field(default_factory=dict)
    _stamped_until: dict[CameraId, tuple[Generation, datetime]] = field(default_factory=dict)  # also of what was lost
    giving_back: dict[CameraId, Named] = field(default_factory=dict)
    _given_back: dict[CameraId, Generation] = field(default_factory=dict)
    _channels: dict[AskKind, _Channel] = field(default_factory=lambda: {kind: _Channel() for kind in AskKind})
    _numbers: int = 0
    flags: Flags = field(default_factory=lambda: Flags(capacity=DEFAULT_CAPACITY))
    _flags_asked: int = 0  # the number of the ask that the flags answer
    _next_drain: float = 0.0
    _drains_since: float | None = None
    _settled_at: float = 0.0
    _unlisted: dict[CameraId, tuple[Generation, int]] = field(default_factory=dict)  # with the newest ask's number then
    answers: RenewalAnswers = field(init=False)
    _left_since: float | None = None  # since when cameras have been free that others should take

    def __post_init__(self) -> None:
        self.owner = Owner(self.spec.runner.runner_id, self.spec.runner.incarnation)
        self.answers = RenewalAnswers(self.spec.renew_every)

    @property
    def outstanding(self) -> set[int]:
        """The numbers of the asks whose answers still count."""
        return {number for channel in self._channels.values() for number in channel.outstanding}

    def held(self, now: float) -> dict[CameraId, Held]:
        """The cameras that may be processed now, under which generation and until when."""
        return {camera_id: held for camera_id, held in self._held.items() if held.is_trusted(now)}

    def stamp(self, camera_id: CameraId, *, arrived: float, now: float) -> Stamp | None:
        """What a frame that arrived then carries if it is emitted now; None: it must not be."""
        held = self._held.get(camera_id)
        stamp = None if held is None else held.stamp(camera_id, self.owner, arrived=arrived, now=now)
        if stamp is not None:
            before = self._stamped(camera_id, stamp.generation) or stamp.made_at
            self._stamped_until[camera_id] = (stamp.generation, max(stamp.made_at, before))
        return stamp

    def wake(self, now: float) -> None:
        """Something may be free: ask at once."""
        channel = self._channels[AskKind.ACQUIRE]
        channel.due = min(channel.due, now)

    def drop(self, camera_id: CameraId, now: float) -> None:
        """Stops using a camera and gives it back."""
        held = self._held.pop(camera_id, None)
        if held is not None:
            latest = held.database_time(now)
            stamped = self._stamped(camera_id, held.generation) or latest
            self._give_back(Named(camera_id, held.generation, max(latest, stamped)))

    def leave(self, now: float) -> None:
        """Takes nothing more and gives everything back; when that is done it has ended."""
        if self.state is not HolderState.ENDED:
            self.state = HolderState.LEAVING
            for camera_id in list(self._held):
                self.drop(camera_id, now)
            self._end_if_left()

    def end(self) -> None:
        """Forgets everything: the process stops."""
        self.state = HolderState.ENDED
        self._held.clear()
        self.giving_back.clear()

    def next_due(self) -> float:
        """When `due` has something to do at the latest, if no answer comes before."""
        if self.state is HolderState.ENDED:
            return math.inf
        soonest = self._next_drain if self._held and self.flags.drain is not DrainMode.NONE else math.inf
        return min(soonest, *map(self._next_at, self._kinds()))

    def due(self, now: float) -> list[Ask]:
        """What to send now."""
        if self.state is HolderState.ENDED:
            return []
        closed_before = now - MOST_OUTSTANDING * max(self.answers.renew_every, RESEND_EVERY)
        for channel in self._channels.values():
            channel.outstanding = {
                number: ask for number, ask in channel.outstanding.items() if ask.sent > closed_before
            }
        self._drain(now)
        return [ask for kind in self._kinds() for ask in self._ask(kind, now)]

    def receive(self, ask: Ask, answer: Answer | None, now: float) -> None:
        """Takes in the answer to an ask; None: it failed, nothing is known."""
        channel = self._channels[ask.kind]
        if self.state is HolderState.ENDED or channel.outstanding.pop(ask.number, None) is None:
            return  # closed, or answered already
        channel.answered = max(channel.answered, ask.number)
        if answer is None:
            channel.due = now + RETRY_AFTER
        else:
            self._take(ask, answer, now)

    def _next_at(self, kind: AskKind) -> float:
        """When the next ask of a kind goes: renewals at their pace, others not before the last one had its second."""
        channel = self._channels[kind]
        if channel.resend_at is None or kind is AskKind.RENEW or not channel.is_waiting:
            return channel.due
        return channel.resend_at

    def _take(self, ask: Ask, answer: Answer, now: float) -> None:
        match answer:
            case Denied(DenialReason.INCARNATION_ENDED):
                self.end()
            case Denied():
                pass
            case Flags():
                self._take_flags(ask, answer, now)
            case Acquired():
                self._take_grants(ask, answer, now)
            case Renewed():
                self._take_renewed(ask, answer, now)
            case Released():
                self._forget_given_back(ask)

    def _kinds(self) -> tuple[AskKind, ...]:
        """The conversations of this stage, most urgent first."""
        return (AskKind.REGISTER,) if self.state is HolderState.STARTING else _SERVING

    def _ask(self, kind: AskKind, now: float) -> Iterator[Ask]:
        channel = self._channels[kind]
        if now < self._next_at(kind):
            return
        body, every = self._next(kind, now)
        channel.due = now + every
        if body is None:
            channel.resend_at = None
            return
        channel.resend_at = now + (RESEND_EVERY if channel.is_waiting else self.spec.answer_within)
        if len(channel.outstanding) == MOST_OUTSTANDING:
            del channel.outstanding[next(iter(channel.outstanding))]
        self._numbers += 1
        channel.outstanding[self._numbers] = ask = Ask(number=self._numbers, kind=kind, body=body, sent=now)
        yield ask

    def _next(self, kind: AskKind, now: float) -> tuple[AskBody | None, float]:
        """What this conversation would say now, and how long it then rests."""
        match kind:
            case AskKind.REGISTER:
                return self.spec.runner, 1.0
            case AskKind.RENEW:
                named = tuple(Named(camera_id, held.generation) for camera_id, held in self._held.items())
                # Also with nothing to name: the answer tells of leases whose grant was never heard of.
                return Renewal(owner=self.owner, leases=named, echo=self.answers.echo), self.answers.renew_every
            case AskKind.RELEASE:
                leases = tuple(self.giving_back.values())
                return (Releasing(self.owner, leases), 0.5) if leases else (None, math.inf)
            case AskKind.ACQUIRE:
                return self._claim(now), self._settled_at - now if self._is_settling(now) else self.spec.acquire_every
            case AskKind.BEAT:
                beat = Beat(self.owner, len(self.held(now)), self.making, self.load, self.answers.delay)
                return beat, self.spec.beat_every

    def _claim(self, now: float) -> OpenClaim | None:
        """What it may take now; nothing: None."""
        if not self.answers.may_claim(now):
            return None
        limit = room(self)
        if self._is_settling(now):
            limit = min(limit, FIRST_FEW - len(self._held) - len(self.giving_back))
        is_left = self._left_since is not None and now - self._left_since >= LEFT_FOR
        beyond = is_left or self.is_watching
        if limit <= 0:
            return None
        return OpenClaim(owner=self.owner, limit=min(limit, MOST_ASKED), beyond_share=beyond, echo=self.answers.echo)

    def _is_settling(self, now: float) -> bool:
        return now < self._settled_at

    def _take_flags(self, ask: Ask, flags: Flags, now: float) -> None:
        if ask.number < self._flags_asked:
            return  # a later ask was answered before
        self._flags_asked = ask.number
        if self.state is HolderState.STARTING:
            self.state = HolderState.SERVING
            self._settled_at = now + SETTLED_AFTER
            self.answers.begin(now)
        self.flags = flags

    def _take_grants(self, ask: Ask, acquired: Acquired, now: float) -> None:
        self.answers.begin(now, granted_at=acquired.at)
        for lease in acquired.leases:
            if lease.generation <= self._given_back.get(lease.camera_id, 0):
                continue
            self.giving_back.pop(lease.camera_id, None)
            is_new = lease.camera_id not in self._held
            self._extend(ask, lease, at=acquired.at, now=now)
            if is_new and not self._held[lease.camera_id].is_trusted(now):
                self.drop(lease.camera_id, now)  # the answer came too late to begin with it: another may be quicker
        self._pace_renewals(now)
        is_others = acquired.more and not acquired.leases
        self._left_since = (now if self._left_since is None else self._left_since) if is_others else None
        if acquired.more:
            self._channels[AskKind.ACQUIRE].due = now + LOOK_AGAIN if is_others else now
        if self.state is HolderState.LEAVING:
            self.leave(now)

    def _take_renewed(self, ask: Ask, renewed: Renewed, now: float) -> None:
        assert isinstance(ask.body, Renewal)
        could_claim = self.answers.may_claim(now)
        is_newest = self.answers.receive(renewed.at, sent=ask.sent, now=now)
        for kept in renewed.kept:
            self._extend(ask, kept, at=renewed.at, now=now)
        if is_newest:
            self._take_losses(ask.body, renewed, now)
            self._give_back_unknown(renewed.unlisted)
        self._judge_delay(ask, now)
        self._pace_renewals(now)
        if not could_claim and self.answers.may_claim(now):
            self.wake(now)

    def _take_losses(self, asked: Renewal, renewed: Renewed, now: float) -> None:
        """Stops and gives back what is not the owner's any more, so that a withdrawn camera is free at once."""
        named = {lease.camera_id: lease.generation for lease in asked.leases}
        for camera_id in renewed.lost:
            held = self._held.get(camera_id)
            if held is not None and held.generation == named.get(camera_id):
                self.drop(camera_id, now)
        renewals = self._channels[AskKind.RENEW]
        has_newest_echo = any(
            isinstance(each.body, Renewal) and each.body.echo == self.answers.echo
            for each in renewals.outstanding.values()
        )
        if renewed.busy and not has_newest_echo:
            renewals.due = now

    def _judge_delay(self, ask: Ask, now: float) -> None:
        """Gives everything back for which answers come too late, time and again."""
        trusted = {camera_id: held.deadline - held.asked for camera_id, held in self._held.items()}
        shortest = min(trusted.values(), default=trusted_for(BY_NAME[self.spec.runner.policy].ttl))
        if self.answers.judge(sent=ask.sent, now=now, trusted=shortest):
            for camera_id, seconds in trusted.items():
                if now - ask.sent > seconds - self.answers.renew_every:
                    self.drop(camera_id, now)

    def _pace_renewals(self, now: float) -> None:
        """Renews as often as the shortest lease needs it, from now on."""
        trusted = [held.deadline - held.asked for held in self._held.values()]
        every = min([self.spec.renew_every, *map(renewal_interval, trusted)])
        self.answers.renew_every = every
        renewals = self._channels[AskKind.RENEW]
        renewals.due = min(renewals.due, now + every)

    def _extend(self, ask: Ask, kept: Kept, *, at: datetime, now: float) -> None:
        held = self._held.get(kept.camera_id)
        if held is None and ask.kind is AskKind.RENEW:
            return  # given back meanwhile
        if held is not None and (held.generation > kept.generation or held.asked > ask.sent):
            return
        self._held[kept.camera_id] = heard(kept, at=at, asked=ask.sent, now=now, known=held)

    def _give_back_unknown(self, unlisted: tuple[Named, ...]) -> None:
        """Releases what an answer granted that will not be received any more.

        While an acquire is outstanding that was sent before the lease was listed here, its answer may still arrive. Of
        a generation that was given back no answer counts, so that is given back again at once: the first release was
        lost.
        """
        unknown = [
            each
            for each in unlisted
            if each.camera_id not in self._held
            and ((known := self.giving_back.get(each.camera_id)) is None or known.generation != each.generation)
        ]
        acquires = self._channels[AskKind.ACQUIRE].outstanding
        before, self._unlisted = self._unlisted, {}
        for named in unknown:
            generation, newest = before.get(named.camera_id, (named.generation, self._numbers))
            if generation != named.generation:
                newest = self._numbers
            assert named.generation is not None
            was_given_back = named.generation <= self._given_back.get(named.camera_id, 0)
            if not was_given_back and any(number <= newest for number in acquires):
                self._unlisted[named.camera_id] = (named.generation, newest)
            else:
                self._give_back(replace(named, made_until=self._stamped(named.camera_id, named.generation)))

    def _stamped(self, camera_id: CameraId, generation: Generation | None) -> datetime | None:
        """The last moment that was stamped under a generation."""
        known, until = self._stamped_until.get(camera_id, (None, None))
        return until if known == generation else None

    def _give_back(self, named: Named) -> None:
        self.giving_back[named.camera_id] = named
        self._given_back[named.camera_id] = max(
            named.generation or Generation(0), self._given_back.get(named.camera_id, Generation(0))
        )
        self._channels[AskKind.RELEASE].due = 0.0

    def _forget_given_back(self, ask: Ask) -> None:
        assert isinstance(ask.body, Releasing)
        for named in ask.body.leases:
            if self.giving_back.get(named.camera_id) == named:
                del self.giving_back[named.camera_id]
        self._end_if_left()

    def _end_if_left(self) -> None:
        if self.state is HolderState.LEAVING and not self._held and not self.giving_back:
            self.end()

    def _drain(self, now: float) -> None:
        if self.flags.drain is DrainMode.NONE:
            self._drains_since = None
            if self.handing is not None and self.handing.moving:
                for camera_id in self.handing.moved({each: held.generation for each, held in self._held.items()}):
                    self.drop(camera_id, now)
            return
        since = self._drains_since = now if self._drains_since is None else self._drains_since
        for camera_id in [each for each in self._held if self.handing and each in self.handing.shown]:
            self.drop(camera_id, now)  # its heir sees it already
        if now >= self._next_drain:
            late = unawaited(self._held, self.handing, waited=now - since)[:SOFT_DRAIN_BATCH]
            for camera_id in list(self._held) if self.flags.drain is DrainMode.HARD else late:
                self.drop(camera_id, now)
            self._next_drain = now + SOFT_DRAIN_EVERY


def room(holder: Holder) -> int:
    """How many cameras more a runner may take."""
    flags = holder.flags
    if holder.state is HolderState.LEAVING or flags.cordoned or flags.drain is not DrainMode.NONE:
        return 0
    return flags.capacity - len(holder.held(-math.inf)) - len(holder.giving_back)
