"""Which compressed frames are decoded, and which decoded ones are looked at.

    all         every frame is decoded, and as many are looked at as the sampler lets pass
    sampled     the same are looked at; what none of them refers to is not decoded
    keyframes   only keyframes
    adaptive    keyframes while the scene is still; once something moves, everything since the last one, and on

A frame between two keyframes can be decoded only after all those before it, so the choice is made for a group of
pictures (from a keyframe to the next) and the adaptive one keeps the present group, compressed. Something moves if a
frame stands out by its size, or if a keyframe's picture differs from the one before; then the group is decoded from its
start, so that the first frame that is looked at is the first in which something moved. A camera that is loud
(`vision.packets`) is decoded whole: nothing is missed there, and nothing saved.

A decoder holds pictures back where they are shown in another order than they are sent in (B-frames). Of a keyframe that
is decoded alone it is asked for all that it has, or it would show one that is groups old. For `sampled`, which leaves
out what it can, such a camera is decoded whole.

An access unit that is not decoded by choice is no lost frame: it counts like a decoded one, as long as the one that was
decoded last gave an intact frame.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from streamward.model.video import DecodeMode
from streamward.vision.lane import ArrivedUnit
from streamward.vision.packets import Sizes, Ticks
from streamward.vision.sampling import Sampler

QUIET_FOR = 5.0  # seconds without movement after which a scene is still
DOUBT_FOR = 1.0  # seconds for which a size that stood out is looked into, unless a picture says that nothing moved
MOST_KEPT = 8 << 20  # bytes of one group: one that is longer is decoded as it comes


@dataclass(frozen=True, slots=True)
class NumberedUnit:
    """One compressed frame, and the how-manieth of its camera it is."""

    number: int
    unit: ArrivedUnit


@dataclass(frozen=True, slots=True)
class Order:
    """One unit that is decoded now."""

    unit: NumberedUnit
    is_shown: bool = False  # to the detector; otherwise later ones need it
    is_alone: bool = False  # what is decoded next may be another keyframe: its picture is not waited for
    is_judged: bool = False  # its picture is compared, and `judged` says what is done with it
    is_overdue: bool = False  # it waits until it was looked at: a newer one does not take its place


class Comparer(Protocol):
    """Looks for movement in the pictures of one camera."""

    def differs(self, image: Any) -> bool:
        """Whether a picture differs from the one before, where it counts."""
        ...


class Chooser(Protocol):
    """One camera's choice. Units come in their order; after a reconnection a new chooser begins."""

    def next(self, unit: NumberedUnit) -> Sequence[Order]:
        """What is decoded now that this one came."""
        ...

    def judged(self, *, is_moving: bool) -> Sequence[Order]:
        """What is decoded now that a keyframe was compared with the one before: itself again, last, to be shown."""
        ...

    def looked(self, arrived_at: float, *, is_moving: bool) -> None:
        """Whether something moved in a frame that is shown."""
        ...

    def reordered(self) -> None:
        """The camera's pictures are shown in another order than they are sent in."""
        ...


def chooser(mode: DecodeMode, sampler: Sampler) -> Chooser:
    """One for a connection that begins."""
    match mode:
        case DecodeMode.ALL:
            return EveryUnit(sampler)
        case DecodeMode.SAMPLED:
            return NeededUnits(sampler)
        case DecodeMode.KEYFRAMES:
            return KeyUnits(sampler)
        case DecodeMode.ADAPTIVE:
            return MovingUnits(sampler)


@dataclass(slots=True)
class _Sampled:
    """What every choice shares: a sampler that says which frames are looked at."""

    sampler: Sampler

    def judged(self, *, is_moving: bool) -> Sequence[Order]:  # noqa: ARG002 - most compare nothing
        return ()

    def looked(self, arrived_at: float, *, is_moving: bool) -> None: ...

    def reordered(self) -> None: ...

    def _wants(self, unit: NumberedUnit) -> bool:
        self.sampler, is_wanted = self.sampler.admit(unit.unit.arrived_at)
        return is_wanted


@dataclass(slots=True)
class EveryUnit(_Sampled):
    """All are decoded."""

    def next(self, unit: NumberedUnit) -> Sequence[Order]:
        return (Order(unit, is_shown=self._wants(unit)),)


@dataclass(slots=True)
class KeyUnits(_Sampled):
    """Keyframes only; even those are decoded only to be looked at. A camera that sends none is decoded whole."""

    _has_keyframes: bool = False

    def next(self, unit: NumberedUnit) -> Sequence[Order]:
        self._has_keyframes = self._has_keyframes or unit.unit.is_keyframe
        if not self._has_keyframes:  # it began with a recovery point
            return (Order(unit, is_shown=self._wants(unit)),)
        return (Order(unit, is_shown=True, is_alone=True),) if unit.unit.is_keyframe and self._wants(unit) else ()


@dataclass(slots=True)
class NeededUnits(_Sampled):
    """What is looked at, and what that refers to: at the end of a group nobody waits for the rest."""

    _waiting: list[NumberedUnit] = field(default_factory=list)
    _bytes: int = 0
    _is_whole: bool = False  # a picture comes out only after others were put in

    def next(self, unit: NumberedUnit) -> Sequence[Order]:
        if self._is_whole:
            return (*self._due(), Order(unit, is_shown=self._wants(unit)))
        if unit.unit.is_keyframe:
            self._forget()
        if not self._wants(unit):
            return self._put_off(unit)
        return (*self._due(), Order(unit, is_shown=True))

    def reordered(self) -> None:
        self._is_whole = True

    def _put_off(self, unit: NumberedUnit) -> Sequence[Order]:
        if not unit.unit.is_disposable:
            self._waiting.append(unit)
            self._bytes += len(unit.unit.content)
        return () if self._bytes <= MOST_KEPT else self._due()

    def _due(self) -> Sequence[Order]:
        orders = tuple(map(Order, self._waiting))
        self._forget()
        return orders

    def _forget(self) -> None:
        self._waiting = []
        self._bytes = 0


@dataclass(slots=True)
class MovingUnits(_Sampled):
    """Keyframes while nothing moves; begins awake, for it has yet to learn what is usual."""

    _sizes: Sizes = field(default_factory=Sizes)
    _ticks: Ticks = field(default_factory=Ticks)
    _group: list[NumberedUnit] = field(default_factory=list)  # the present one, from its keyframe on, while still
    _bytes: int = 0
    _missed: list[NumberedUnit] = field(default_factory=list)  # the one before, while its end is judged
    _awake_until: float | None = None
    _is_awake: bool = True
    _is_moving: bool = True
    _doubted: ArrivedUnit | None = None  # which stood out by its size, and is looked into

    def next(self, unit: NumberedUnit) -> Sequence[Order]:
        if self._awake_until is None:
            self._awake_until = unit.unit.arrived_at + QUIET_FOR
        return self._begin(unit) if unit.unit.is_keyframe else self._go_on(unit)

    def judged(self, *, is_moving: bool) -> Sequence[Order]:
        missed, self._missed = self._missed, []
        [key] = self._group
        if is_moving:
            self._wake(key.unit.arrived_at + QUIET_FOR)
        if not is_moving or not missed:
            return (Order(key, is_shown=self._wants(key)),)
        return (Order(missed[0]), *map(self._overdue, missed[1:]), self._overdue(key))

    def looked(self, arrived_at: float, *, is_moving: bool) -> None:
        self._is_moving = is_moving
        doubted = self._doubted
        if doubted is not None and (is_moving or doubted.arrived_at <= arrived_at):
            self._doubted = None
            if not is_moving:
                self._ticks.learn(doubted.arrived_at)
                self._awake_until = arrived_at
        if is_moving and self._is_awake:
            self._awake_until = max(self._awake_until or 0.0, arrived_at + QUIET_FOR)

    def _begin(self, key: NumberedUnit) -> Sequence[Order]:
        """A keyframe; of a camera that has been quiet for long enough it is the last that had to be decoded."""
        assert self._awake_until is not None
        if self._is_awake and key.unit.arrived_at >= self._awake_until and self._sizes.is_quiet:
            self._is_awake = False
            self._group = []
        if self._is_awake:
            return (Order(key, is_shown=self._wants(key)),)
        self._missed, self._group, self._bytes = self._group, [key], len(key.unit.content)
        return (Order(key, is_alone=True, is_judged=True),)

    def _go_on(self, unit: NumberedUnit) -> Sequence[Order]:
        size = len(unit.unit.content)
        if self._is_awake:
            if not self._is_moving:
                self._sizes.learn(size)
            return (Order(unit, is_shown=self._wants(unit)),)
        self._group.append(unit)
        self._bytes += size
        is_calm = self._is_usual(size, unit.unit.arrived_at) and self._bytes <= MOST_KEPT
        self._sizes.learn(size)
        if is_calm:
            return ()
        self._doubted = unit.unit
        _, *behind = self._group
        self._wake(unit.unit.arrived_at + DOUBT_FOR)
        return tuple(map(self._overdue, behind))

    def _is_usual(self, size: int, arrived_at: float) -> bool:
        return not self._sizes.stands_out(size) or (self._sizes.is_tick(size) and self._ticks.expect(arrived_at))

    def _wake(self, until: float) -> None:
        self._is_awake = True
        self._awake_until = until
        self._is_moving = True  # until a picture says otherwise: what comes now is not usual

    def _overdue(self, unit: NumberedUnit) -> Order:
        return Order(unit, is_shown=self._wants(unit), is_overdue=True)
