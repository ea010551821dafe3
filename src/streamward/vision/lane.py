"""One camera's way through the Worker: what waits to be decoded, and the one frame that waits to be looked at.

    reader ─offer→ units ─take→ decoder ─show→ the newest frame ─look→ detector

Nobody waits for the next: the reader drops what the decoder cannot take, from a keyframe on, and the decoder replaces
the frame that nobody has looked at yet (DROP_OLDEST, EAGER). What was dropped is counted.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Generic, TypeVar

MOST_UNITS = 150  # that wait to be decoded: a few seconds

F = TypeVar("F")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivedUnit:
    """One compressed frame, and when its last byte arrived, in boot-time."""

    content: bytes
    is_keyframe: bool
    arrived_at: float
    is_damaged: bool = False  # a picture that it needs may be missing: it would be seen, but smeared


@dataclass(slots=True)
class Lane(Generic[F]):
    """The two places where something may wait."""

    most_units: int = MOST_UNITS
    dropped_units: int = 0
    dropped_frames: int = 0
    _units: deque[ArrivedUnit] = field(default_factory=deque)
    _is_skipping: bool = False  # until a keyframe
    _newest: F | None = None

    def offer(self, unit: ArrivedUnit) -> bool:
        """The reader brings a unit; returns whether it was taken."""
        if unit.is_keyframe:
            self._is_skipping = False
        if not self._is_skipping and len(self._units) >= self.most_units:
            self.dropped_units += len(self._units)
            self._units.clear()
            self._is_skipping = not unit.is_keyframe
        if self._is_skipping:
            self.dropped_units += 1
            return False
        self._units.append(unit)
        return True

    def take(self) -> ArrivedUnit | None:
        """The decoder fetches the next unit."""
        return self._units.popleft() if self._units else None

    def show(self, frame: F) -> bool:
        """The decoder has a frame that is to be looked at; returns whether none waited for that already."""
        is_first = self._newest is None
        self.dropped_frames += not is_first
        self._newest = frame
        return is_first

    def look(self) -> F | None:
        """The detector fetches the newest frame."""
        frame, self._newest = self._newest, None
        return frame

    def clear(self) -> None:
        """Forgets what waits: the connection is new."""
        self._units.clear()
        self._newest = None
        self._is_skipping = False
