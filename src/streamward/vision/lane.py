"""One camera's way through the Worker: what waits to be decoded, and the one frame that waits to be looked at.

    reader ─offer→ units ─take→ decoder ─show→ the newest frame ─look→ detector

Nobody waits for the next: the reader drops what the decoder cannot take, from a keyframe on, and the decoder replaces
the frame that nobody has looked at yet (DROP_OLDEST, EAGER). What was decoded only because something moved later is
overdue: a few of those wait their turn. What was dropped is counted.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Generic, TypeVar

MOST_UNITS = 150  # that wait to be decoded: a few seconds
MOST_OVERDUE = 16  # frames

F = TypeVar("F")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivedUnit:
    """One compressed frame, and when its last byte arrived, in boot-time."""

    content: bytes
    is_keyframe: bool
    arrived_at: float
    is_damaged: bool = False  # a picture that it needs may be missing: it would be seen, but smeared
    is_disposable: bool = False  # no other refers to it
    shown_at: float | None = None  # seconds on the camera's own clock; one that is sent later may be shown before


@dataclass(slots=True)
class Lane(Generic[F]):
    """The two places where something may wait."""

    most_units: int = MOST_UNITS
    dropped_units: int = 0
    dropped_frames: int = 0
    _units: deque[ArrivedUnit] = field(default_factory=deque)
    _is_skipping: bool = False  # until a keyframe
    _newest: F | None = None
    _overdue: deque[F] = field(default_factory=deque)

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

    def show_overdue(self, frame: F) -> bool:
        """The decoder has a frame that must not give way to newer ones; returns whether there was room."""
        if len(self._overdue) >= MOST_OVERDUE:
            self.dropped_frames += 1
            return False
        self._overdue.append(frame)
        return True

    def look(self) -> F | None:
        """The detector fetches what is overdue, and then the newest frame."""
        if self._overdue:
            return self._overdue.popleft()
        frame, self._newest = self._newest, None
        return frame

    def clear(self) -> None:
        """Forgets what waits: the connection is new."""
        self._units.clear()
        self._newest = None
        self._overdue.clear()
        self._is_skipping = False
