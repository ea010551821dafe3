"""One camera's way through the Worker: what waits to be decoded, and the one frame that waits to be looked at.

    reader ─offer→ units ─take→ decoder ─show→ the newest frame ─look→ detector

Nobody waits for the next: the reader drops what the decoder cannot take, from a keyframe on, and the decoder replaces
the frame that nobody has looked at yet (DROP_OLDEST, EAGER). What was decoded only because something moved later is
overdue: a few of those wait their turn, and of more the oldest give way. What was dropped is counted.

Guaranteed: frames are looked at in the order in which they were shown; and whoever asks for a turn whenever `show` or
`show_overdue` says so has asked for as many as frames wait. After `clear` and `miss` there may be turns for which
nothing waits, but never a frame without its turn.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Generic, TypeVar

MOST_UNITS = 150  # that wait to be decoded: a few seconds
MOST_FRAMES = 16  # that wait to be looked at: what is overdue, and the newest

F = TypeVar("F")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivedUnit:
    """One compressed frame, and when its last byte arrived, in boot-time."""

    content: bytes
    is_keyframe: bool
    arrived_at: float
    is_damaged: bool = False  # a picture that it needs may be missing: it would be seen, but smeared
    is_disposable: bool = False  # no other refers to it
    is_recovery_point: bool = False  # no keyframe, but decoding can begin here: frames are whole a little later
    shown_at: float | None = None  # seconds on the camera's own clock; one that is sent later may be shown before

    @property
    def is_random_access(self) -> bool:
        """Whether decoding can begin here."""
        return self.is_keyframe or self.is_recovery_point


@dataclass(slots=True)
class Lane(Generic[F]):
    """The two places where something may wait."""

    most_units: int = MOST_UNITS
    dropped_units: int = 0
    dropped_frames: int = 0
    _units: deque[ArrivedUnit] = field(default_factory=deque)
    _is_skipping: bool = False  # until a keyframe or a recovery point
    _newest: F | None = None
    _overdue: deque[F] = field(default_factory=deque)

    def offer(self, unit: ArrivedUnit) -> bool:
        """The reader brings a unit; returns whether it was taken."""
        if unit.is_random_access:
            self._is_skipping = False
        if not self._is_skipping and len(self._units) >= self.most_units:
            self.dropped_units += len(self._units)
            self._units.clear()
            self._is_skipping = not unit.is_random_access
        if self._is_skipping:
            self.dropped_units += 1
            return False
        self._units.append(unit)
        return True

    def take(self) -> ArrivedUnit | None:
        """The decoder fetches the next unit."""
        return self._units.popleft() if self._units else None

    def show(self, frame: F) -> bool:
        """The decoder has a frame that is to be looked at; returns whether it needs a turn of its own."""
        is_first = self._newest is None
        self.dropped_frames += not is_first
        self._newest = frame
        return is_first and self._needs_turn()

    def show_overdue(self, frame: F) -> bool:
        """The decoder has a frame that must not give way to the next; returns whether it needs a turn of its own.

        The newest so far, of the same group, is older: it has to be looked at before.
        """
        if self._newest is not None:
            self._overdue.append(self._newest)
            self._newest = None
        self._overdue.append(frame)
        return self._needs_turn()

    def look(self) -> F | None:
        """The detector fetches what is overdue, and then the newest frame."""
        if self._overdue:
            return self._overdue.popleft()
        frame, self._newest = self._newest, None
        return frame

    def miss(self) -> None:
        """Drops what waits to be looked at: who was to do it does not come."""
        self.dropped_frames += self._waiting
        self._newest = None
        self._overdue.clear()

    def clear(self) -> None:
        """Forgets what waits: the connection is new."""
        self._units.clear()
        self._newest = None
        self._overdue.clear()
        self._is_skipping = False

    @property
    def _waiting(self) -> int:
        """As many frames wait, and as many turns were asked for."""
        return len(self._overdue) + (self._newest is not None)

    def _needs_turn(self) -> bool:
        """Whether there was room for one more; else the oldest gives way, and leaves it its turn."""
        if self._waiting <= MOST_FRAMES:
            return True
        self._overdue.popleft()
        self.dropped_frames += 1
        return False
