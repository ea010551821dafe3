"""Cameras of a runner that drains softly: another may watch them silently before it holds them.

    on offer ─ a runner with room asks ─→ awaited ─ it sees the camera ─→ shown ─ the owner lets go ─→ the heir acquires
                                             └─ it cannot ─→ refused ─→ the owner lets go, and somebody dials then

A handover is no lease. It allows its heir to dial, to log in and to know the source, and while it counts nobody else is
given the camera once that is free; that is all. Who watches has nothing to date a picture by, and cannot speak of any.

A camera also moves so to balance a fleet, without a drain: `leases/rebalance.py` names its heir, and the handover has a
deadline after which the owner keeps the camera.

Guaranteed: a camera has one heir at most at a time; without a word of the heir a handover counts for `WATCHED_FOR`
seconds at most, so that a dead heir holds up nobody for longer; leases, their generations and the fence know nothing of
it. Not guaranteed: that a camera has an heir, that the heir gets it (whoever names it may take what is free), or that
the recorder bears a second session: then the owner lets go first.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from streamward.leases.lease import Owner
from streamward.model.camera import Camera
from streamward.model.ids import CameraId, Generation

WATCHED_FOR = 5.0  # seconds since the heir's last word
REFUSED_FOR = 60.0  # seconds in which a camera that an heir could not see is not offered again
TALK_EVERY = 2.0  # seconds, while nothing is handed over
TALK_OFTEN = 0.25
GIVES_UP_AFTER = 8.0  # seconds from its first dial for an heir to see a camera
NO_ONE_WITHIN = 5.0  # seconds after which a camera without an heir is let go: who has room has asked by then
HANDED_WITHIN = 25.0  # seconds after which an owner waits no more for heirs
MOVED_WITHIN = 25.0  # seconds after which a move that is not done ends, and the owner keeps the camera
SETTLES_FOR = 60.0  # seconds from the start of a move in which its camera is not moved again


class HandoverStage(StrEnum):
    """How far an heir is."""

    AWAITED = "awaited"
    SHOWN = "shown"
    REFUSED = "refused"


LASTS = {
    HandoverStage.AWAITED: timedelta(seconds=WATCHED_FOR),
    HandoverStage.SHOWN: timedelta(seconds=WATCHED_FOR),
    HandoverStage.REFUSED: timedelta(seconds=REFUSED_FOR),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """Who may watch a camera while somebody else holds it under that generation."""

    camera_id: CameraId
    generation: Generation
    heir: Owner
    stage: HandoverStage
    until: datetime  # by the database's time
    deadline: datetime | None = None  # of a move to balance (`leases/rebalance.py`); None: its owner drains

    def counts(self, generation: Generation, now: datetime) -> bool:
        """Whether it is about the camera's present grant, and its time is not over.

        One that lasts longer than any could was written before the database's clock went back.
        """
        is_in_time = now < self.until <= now + LASTS[self.stage]
        return self.generation == generation and is_in_time and self._may_move(now)

    def _may_move(self, now: datetime) -> bool:
        """Whether the deadline of a move has not passed; that a successor refused it is remembered for longer."""
        if self.deadline is None or self.stage is HandoverStage.REFUSED:
            return True
        return now < self.deadline <= now + timedelta(seconds=MOVED_WITHIN)

    def settles(self, generation: Generation, now: datetime) -> bool:
        """Whether a move began so lately that there is no other yet, be it done (that is the next grant) or failed."""
        if self.deadline is None or generation - self.generation not in {0, 1}:
            return False
        begun = self.deadline - timedelta(seconds=MOVED_WITHIN)
        return begun <= now < begun + timedelta(seconds=SETTLES_FOR)

    def is_news(self, before: "Handover | None") -> bool:
        """Whether it says more than one before it: another stage, or a good deal more time."""
        if before is None or replace(self, until=before.until) != before:
            return True
        return self.until - before.until > timedelta(seconds=WATCHED_FOR / 4)

    def reserves(self, generation: Generation, *, against: Owner, now: datetime) -> bool:
        """Whether it keeps somebody from a camera that is free."""
        is_others = self.heir != against and self.stage is not HandoverStage.REFUSED
        return is_others and self.counts(generation, now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A camera that is held, and its handover: its owner drains softly, or it may move to balance."""

    camera: Camera
    generation: Generation
    owner: Owner
    handover: Handover | None = None  # the latest, whether it counts or not

    def standing(self, now: datetime) -> Handover | None:
        """The one that counts."""
        handover = self.handover
        return handover if handover is not None and handover.counts(self.generation, now) else None

    def settles(self, now: datetime) -> bool:
        """Whether a move of it began lately."""
        return self.handover is not None and self.handover.settles(self.generation, now)


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoverAsk:
    """A runner tells what it sees of the cameras that it watches, and for how many more it has room."""

    owner: Owner
    room: int = 0
    shown: frozenset[CameraId] = frozenset()
    refused: frozenset[CameraId] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Handing:
    """How the heirs of a runner's own cameras are doing."""

    awaited: frozenset[CameraId] = frozenset()
    shown: frozenset[CameraId] = frozenset()
    moving: frozenset[tuple[CameraId, Generation]] = frozenset()  # those of them that leave without a drain

    def moved(self, held: Mapping[CameraId, Generation]) -> list[CameraId]:
        """Of cameras that are held those to release though nothing is drained: their successors have frames.

        The generation is compared because an answer may be older than the present grant.
        """
        return [each for each, generation in held.items() if each in self.shown and (each, generation) in self.moving]


def unawaited(held: Iterable[CameraId], handing: Handing | None, *, waited: float) -> list[CameraId]:
    """Of cameras that are drained softly for so long those to let go now: no heir will see them before that."""
    if handing is None or waited >= HANDED_WITHIN:
        return list(held)
    return [each for each in held if each not in handing.awaited] if waited >= NO_ONE_WITHIN else []


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoversTold:
    """The answer: what the runner may watch, each with its owner's generation, and how its own are doing."""

    watch: tuple[tuple[Camera, Generation], ...] = ()
    handing: Handing = field(default_factory=Handing)


def plan(
    ask: HandoverAsk, offers: Iterable[Offer], *, share: int, suits: Callable[[Camera], bool], now: datetime
) -> list[Handover]:
    """The handovers to write down: those of the asking runner go on, and it gets more as far as room and share go."""
    mine: list[Handover] = []
    free: list[Offer] = []
    for offer in sorted(offers, key=lambda each: each.camera.camera_id):
        standing = offer.standing(now)
        if standing is not None and standing.heir == ask.owner:
            mine.append(_gone_on(standing, ask, now))
        elif standing is None and offer.owner != ask.owner and suits(offer.camera):
            free.append(offer)
    more = max(0, min(ask.room, share - len(mine)))
    return [*mine, *(_begun(offer, ask.owner, now) for offer in free[:more])]


def told(ask: HandoverAsk, offers: Iterable[Offer], now: datetime) -> HandoversTold:
    """What a runner is answered, after what was planned is written down."""
    watch, own = [], []
    for offer in offers:
        standing = offer.standing(now)
        if standing is not None and offer.owner == ask.owner:
            own.append(standing)
        elif standing is not None and standing.heir == ask.owner and standing.stage is not HandoverStage.REFUSED:
            watch.append((offer.camera, offer.generation))
    moving = (each for each in own if each.deadline is not None and each.stage is not HandoverStage.REFUSED)
    handing = Handing(
        awaited=_at(_AWAITED, own),
        shown=_at(_SHOWN, own),
        moving=frozenset((each.camera_id, each.generation) for each in moving),
    )
    return HandoversTold(watch=tuple(watch), handing=handing)


_AWAITED, _SHOWN = HandoverStage.AWAITED, HandoverStage.SHOWN


def _at(stage: HandoverStage, handovers: Iterable[Handover]) -> frozenset[CameraId]:
    return frozenset(each.camera_id for each in handovers if each.stage is stage)


def _gone_on(handover: Handover, ask: HandoverAsk, now: datetime) -> Handover:
    """The same after the heir's word; one that was refused stays so, and only its first word counts."""
    if handover.stage is HandoverStage.REFUSED:
        return handover
    if handover.camera_id in ask.refused:
        stage = HandoverStage.REFUSED
    else:
        stage = _SHOWN if handover.camera_id in ask.shown else _AWAITED
    return replace(handover, stage=stage, until=now + LASTS[stage])


def _begun(offer: Offer, heir: Owner, now: datetime) -> Handover:
    return Handover(
        camera_id=offer.camera.camera_id,
        generation=offer.generation,
        heir=heir,
        stage=_AWAITED,
        until=now + LASTS[_AWAITED],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A camera that a runner watches silently; instants are boot-time."""

    generation: Generation  # that it will have once it is the runner's
    until: float


@dataclass(slots=True)
class Watching:
    """A runner's side of handovers, without I/O: what it watches, what it has seen, and how its own cameras do."""

    _watched: dict[CameraId, Watched] = field(default_factory=dict)
    _shown: set[CameraId] = field(default_factory=set)
    _refused: set[CameraId] = field(default_factory=set)

    def watched(self, now: float) -> dict[CameraId, Generation]:
        """What to watch now, and under which generation it would be the runner's."""
        return {
            camera_id: each.generation
            for camera_id, each in self._watched.items()
            if now < each.until and camera_id not in self._refused
        }

    def ask(self, owner: Owner, *, room: int, now: float) -> HandoverAsk:
        """What to say now; `room` is beside what is held.

        It says that it sees no more than it has room for: an owner would release a camera that nobody can take.
        """
        left = max(0, room - len(self.watched(now)))
        shown = frozenset(sorted(self._shown)[: max(0, room)])
        return HandoverAsk(owner=owner, room=left, shown=shown, refused=frozenset(self._refused))

    def heard(self, watch: Mapping[CameraId, Generation], *, asked: float) -> None:
        """Takes in what may be watched; what is not named any more counts until its time: it may be free just now."""
        for camera_id, generation in watch.items():
            following = Generation(generation + 1)
            before = self._watched.get(camera_id)
            if before is None or before.generation != following:
                self._forget(camera_id)
            self._watched[camera_id] = Watched(generation=following, until=asked + WATCHED_FOR)

    def looked(self, *, shown: Iterable[CameraId], refused: Iterable[CameraId]) -> None:
        """What its Workers see, and what they have not seen in time."""
        self._shown |= self._watched.keys() & set(shown)
        self._refused |= self._watched.keys() & set(refused) - self._shown

    def keep(self, held: Collection[CameraId], now: float) -> None:
        """Forgets what is held by now, and what has run out."""
        for camera_id in [each for each, of in self._watched.items() if each in held or now >= of.until]:
            del self._watched[camera_id]
            self._forget(camera_id)

    def _forget(self, camera_id: CameraId) -> None:
        self._shown.discard(camera_id)
        self._refused.discard(camera_id)
