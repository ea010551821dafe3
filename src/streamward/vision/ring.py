"""The last seconds of a camera, compressed, as they came: what a clip is cut from without encoding anything.

    unit ─add→ the group that is being filled ─put→ shelf ─latest→ groups ─units→ clip

Whole groups of pictures are kept, from a keyframe or recovery point to the next, for nothing else can be shown. The
oldest goes when what is left is long enough, or when there are too many bytes; a camera whose single group is too large
keeps none of it. Behind a recovery point frames are whole only after a while, so one group more is handed out there.
Where groups lie is the shelf's business: in memory, or elsewhere, where some of them may get lost.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from streamward.vision.lane import ArrivedUnit

Units = tuple[ArrivedUnit, ...]


class Group(Protocol):
    """What came from a keyframe to the next."""

    def units(self) -> Units:
        """May take long; nothing of one that was lost or forgotten."""
        ...

    def forget(self) -> None:
        """Nobody will want it; never waits."""
        ...


class Shelf(Protocol):
    """Where one camera's groups lie."""

    def put(self, units: Units) -> Group:
        """One more that is whole; never waits."""
        ...

    def close(self) -> None:
        """Nothing is kept of the camera from now on; never waits."""
        ...


@dataclass(frozen=True, slots=True)
class HeldGroup:
    """One in memory."""

    held: Units

    def units(self) -> Units:
        return self.held

    def forget(self) -> None: ...


class Memory:
    """The shelf that is always there."""

    def put(self, units: Units) -> Group:
        return HeldGroup(units)

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Kept:
    began_at: float
    size: int  # bytes
    group: Group
    is_whole: bool  # it begins with a keyframe


@dataclass(slots=True)
class Ring:
    """One camera's."""

    seconds: float
    most_bytes: int
    shelf: Shelf = field(default_factory=Memory)
    _groups: deque[_Kept] = field(default_factory=deque)
    _filling: list[ArrivedUnit] = field(default_factory=list)
    _filled: int = 0  # bytes
    _bytes: int = 0  # of all
    _is_open: bool = True

    def add(self, unit: ArrivedUnit) -> None:
        """The newest; what comes before the first keyframe cannot be shown."""
        if not self._is_open or not (self._filling or unit.is_random_access):
            return
        if unit.is_random_access:
            self._shelve()
        self._filling.append(unit)
        self._filled += len(unit.content)
        self._bytes += len(unit.content)
        while self._bytes > self.most_bytes or self._is_long_enough(unit.arrived_at):
            self._drop_oldest()

    def latest(self, seconds: float) -> Sequence[Group]:
        """At least so many of the last seconds as far as there are."""
        if not self._filling:
            return ()
        first = self._filling[-1].arrived_at - seconds
        filling = HeldGroup(tuple(self._filling))
        kept = [*self._groups, _Kept(self._filling[0].arrived_at, self._filled, filling, self._filling[0].is_keyframe)]
        start = max((place for place, each in enumerate(kept) if each.began_at <= first), default=0)
        if not kept[start].is_whole:
            start = max(0, start - 1)
        return [each.group for each in kept[start:]]

    @property
    def span(self) -> float:
        """Seconds from the oldest to the newest that is here."""
        if not self._filling:
            return 0.0
        first = self._groups[0].began_at if self._groups else self._filling[0].arrived_at
        return self._filling[-1].arrived_at - first

    def clear(self) -> None:
        """What comes next does not follow what is here."""
        while self._groups or self._filling:
            self._drop_oldest()

    def close(self) -> None:
        """Keeps nothing, from now on."""
        self._is_open = False
        self.clear()
        self.shelf.close()

    def _shelve(self) -> None:
        """The group that was filled is whole."""
        if self._filling:
            began, units = self._filling[0], tuple(self._filling)
            self._groups.append(_Kept(began.arrived_at, self._filled, self.shelf.put(units), began.is_keyframe))
            self._filling, self._filled = [], 0

    def _drop_oldest(self) -> None:
        if self._groups:
            oldest = self._groups.popleft()
            oldest.group.forget()
            self._bytes -= oldest.size
        else:
            self._bytes -= self._filled
            self._filling, self._filled = [], 0

    def _is_long_enough(self, now: float) -> bool:
        """Without the oldest group."""
        if not self._groups:
            return False
        second = self._groups[1].began_at if len(self._groups) > 1 else self._filling[0].arrived_at
        return now - second >= self.seconds
