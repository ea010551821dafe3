"""Whether a Worker speaks of a camera, which two Workers may watch for a moment while one hands it over to the other.

What was seen while it is silent is kept for a moment: when it is let speak, it speaks of all that arrived after the
last frame that the other one spoke of, and half an interval more, for a frame arrives twice but never at the same time.
The first that it sees counts for nothing: who has just dialed may be sent everything since the last keyframe at once.
The first that it speaks of says who is in which zone: whoever entered before, enters with it.
"""

from collections import deque
from dataclasses import dataclass, field, replace

from streamward.model.zone import Crossing, ZoneEvent
from streamward.vision.watchdog import Seen

KEPT_FOR = 5.0  # seconds
MOST_KEPT = 64  # frames


@dataclass(slots=True)
class Speech:
    """Of one camera; instants are boot-time."""

    is_silent: bool = False
    _has_begun: bool = False
    _has_introduced: bool = False  # who is in which zone
    _after: float = 0.0
    _kept: deque[Seen] = field(default_factory=lambda: deque(maxlen=MOST_KEPT))

    @property
    def is_fit(self) -> bool:
        """Whether it speaks, or has something to say."""
        return not self.is_silent or bool(self._kept)

    def hush(self) -> None:
        """It says no more."""
        self.is_silent = True
        self._has_introduced = False

    def resume(self, *, after: float, interval: float) -> list[Seen]:
        """It speaks again, of what arrived after that; returns what it has to say now."""
        self._after = after + interval / 2
        self.is_silent = False
        kept, self._kept = list(self._kept), deque(maxlen=MOST_KEPT)
        return [seen for seen in kept if self.admit(seen)]

    def admit(self, seen: Seen) -> bool:
        """Whether to speak of it now; if not, it may still be."""
        is_first, self._has_begun = not self._has_begun, True
        if self.is_silent and is_first:
            return False
        if self.is_silent:
            while self._kept and seen.arrived_at - self._kept[0].arrived_at > KEPT_FOR:
                self._kept.popleft()
            self._kept.append(seen)
            return False
        return seen.arrived_at > self._after

    def introduce(self, seen: Seen) -> Seen:
        """The same, as it is told: the first with everybody who is in a zone entering it."""
        if self._has_introduced:
            return seen
        self._has_introduced = True
        events = tuple(
            ZoneEvent(kind=Crossing.ENTER, zone=zone, track_id=each.track_id, label=each.label, at=seen.arrived_at)
            for each in seen.detections
            for zone in each.zones
            if each.track_id is not None
        )
        return replace(seen, zone_events=events)
