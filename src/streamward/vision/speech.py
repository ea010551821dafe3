"""Whether a Worker speaks of a camera, which two Workers may watch for a moment while one hands it over to the other.

What was seen while it is silent is kept for a moment: when it is let speak, it speaks of all that arrived after the
last frame that the other one spoke of, and half an interval more, for a frame arrives twice but never at the same time.
The first that it sees counts for nothing: who has just dialed may be sent everything since the last keyframe at once.
Who entered a zone while nobody heard of it, enters it when it is spoken of.
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
    _entered: set[tuple[str, int]] = field(default_factory=set)  # zones and tracks, as those who hear of it know
    _after: float = 0.0
    _kept: deque[Seen] = field(default_factory=lambda: deque(maxlen=MOST_KEPT))

    @property
    def is_fit(self) -> bool:
        """Whether it speaks, or has something to say."""
        return not self.is_silent or bool(self._kept)

    def hush(self) -> None:
        """It says no more."""
        self.is_silent = True
        self._entered = set()

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
        """The same as it is told: who stands in a zone has entered it, and nobody stays or leaves who did not."""
        standing = {(zone, each.track_id): each.label for each in seen.detections for zone in each.zones}
        known = self._entered | {_whose(each) for each in seen.zone_events if each.kind is Crossing.ENTER}
        entering = tuple(
            ZoneEvent(kind=Crossing.ENTER, zone=zone, track_id=track_id, label=label, at=seen.arrived_at)
            for (zone, track_id), label in standing.items()
            if track_id is not None and (zone, track_id) not in known
        )
        events = (*entering, *(each for each in seen.zone_events if _whose(each) in known))
        for each in events:
            change = self._entered.discard if each.kind is Crossing.LEAVE else self._entered.add
            change(_whose(each))
        return replace(seen, zone_events=events)


def _whose(event: ZoneEvent) -> tuple[str, int]:
    return event.zone, event.track_id
