"""Who stands in which zone, and for how long: told when somebody enters, has stayed for long enough, and leaves.

    outside ─first look in it→ enter ─a zone's own seconds→ dwell ─seen outside, or lost→ leave

One enters at the first look. One who is missed for some pictures has not left; one who is seen outside for less than a
second neither, for feet on an edge go to and fro. A leaving is told when it is sure, and dated when one was last there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from streamward.model.zone import Crossing, ZoneEvent
from streamward.vision.detections import Detections

OUT_FOR = 1.0  # seconds outside after which somebody has left


@dataclass(slots=True)
class _Stay:
    label: str
    since: float
    last: float  # when it was last seen there
    is_told: bool = False  # that it stays


class Presence:
    """One camera's zones; looks come in the order of time."""

    def __init__(self, dwells: Mapping[str, float]) -> None:
        self._dwells = dwells
        self._stays: dict[tuple[str, int], _Stay] = {}

    def look(self, seen: Detections, followed: frozenset[int], at: float) -> tuple[ZoneEvent, ...]:
        """What happened, now that these are seen, with tracks and zones; `followed` are the tracks that still are."""
        inside: dict[tuple[str, int], str] = {}
        present: set[int] = set()
        for each in seen:
            assert each.track_id is not None
            present.add(each.track_id)
            inside |= {(zone, each.track_id): each.label for zone in each.zones}
        left = tuple(self._left(inside, present, followed, at))
        return (*left, *self._stayed(inside, at))

    def _stayed(self, inside: Mapping[tuple[str, int], str], at: float) -> Iterator[ZoneEvent]:
        for (zone, track_id), label in inside.items():
            stay = self._stays.get((zone, track_id))
            if stay is None:
                stay = self._stays[zone, track_id] = _Stay(label, since=at, last=at)
                yield ZoneEvent(kind=Crossing.ENTER, zone=zone, track_id=track_id, label=label, at=at)
            stay.label, stay.last = label, at
            long_enough = self._dwells.get(zone)
            if long_enough is not None and not stay.is_told and at - stay.since >= long_enough:
                stay.is_told = True
                yield _event(Crossing.DWELL, zone, track_id, stay)

    def _left(
        self, inside: Mapping[tuple[str, int], str], present: set[int], followed: frozenset[int], at: float
    ) -> Iterator[ZoneEvent]:
        for (zone, track_id), stay in list(self._stays.items()):
            if (zone, track_id) in inside:
                continue
            is_outside = track_id in present and at - stay.last > OUT_FOR
            if is_outside or track_id not in followed:
                del self._stays[zone, track_id]
                yield _event(Crossing.LEAVE, zone, track_id, stay)


def _event(kind: Crossing, zone: str, track_id: int, stay: _Stay) -> ZoneEvent:
    return ZoneEvent(
        kind=kind, zone=zone, track_id=track_id, label=stay.label, at=stay.last, stayed=stay.last - stay.since
    )
