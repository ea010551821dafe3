"""The last seconds of a camera, compressed, as they came: what a clip is cut from without encoding anything.

Whole groups of pictures are kept, from a keyframe to the next, for nothing else can be shown. The oldest goes when what
is left is long enough, or when there are too many bytes; a camera whose single group is too large keeps none of it.
"""

from collections import deque
from dataclasses import dataclass, field

from streamward.vision.lane import ArrivedUnit


@dataclass(slots=True)
class _Group:
    units: list[ArrivedUnit] = field(default_factory=list)
    size: int = 0  # bytes

    def add(self, unit: ArrivedUnit) -> None:
        self.units.append(unit)
        self.size += len(unit.content)


@dataclass(slots=True)
class Ring:
    """One camera's."""

    seconds: float
    most_bytes: int
    _groups: deque[_Group] = field(default_factory=deque)
    _bytes: int = 0

    def add(self, unit: ArrivedUnit) -> None:
        """The newest; what comes before the first keyframe cannot be shown."""
        if unit.is_keyframe:
            self._groups.append(_Group())
        if not self._groups:
            return
        self._groups[-1].add(unit)
        self._bytes += len(unit.content)
        while self._groups and (self._bytes > self.most_bytes or self._is_long_enough(unit.arrived_at)):
            self._bytes -= self._groups.popleft().size

    def latest(self, seconds: float) -> tuple[ArrivedUnit, ...]:
        """At least so many of the last seconds as far as there are, from a keyframe on."""
        if not self._groups:
            return ()
        first = self._groups[-1].units[-1].arrived_at - seconds
        starts = [place for place, group in enumerate(self._groups) if group.units[0].arrived_at <= first]
        groups = list(self._groups)[starts[-1] if starts else 0 :]
        return tuple(unit for group in groups for unit in group.units)

    def clear(self) -> None:
        """What comes next does not follow what is here."""
        self._groups.clear()
        self._bytes = 0

    def _is_long_enough(self, now: float) -> bool:
        """Without the oldest group."""
        return len(self._groups) > 1 and now - self._groups[1].units[0].arrived_at >= self.seconds
