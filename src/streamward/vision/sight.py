"""From what a detector found to what is told of one camera.

    found ─sure enough→ ─not where nobody is to hear of it→ followed ─in which zones→ told
                                                                └─ entered, stayed, left

Everything outside of the zones that leave out is followed, also where it is not reported: who comes into a zone has the
number that it had before, and who goes out of it is seen to go.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from streamward.model.detection import OTHERS
from streamward.model.zone import Point, ZoneEvent
from streamward.vision.detections import Detections
from streamward.vision.detector import Size
from streamward.vision.presence import Presence
from streamward.vision.tracking import Tracker
from streamward.vision.zones import Zones


@dataclass(frozen=True, slots=True)
class Sighted:
    """What is told of one look."""

    detections: Detections
    zone_events: tuple[ZoneEvent, ...] = ()


class Sight:
    """One camera; looks come in the order of time."""

    def __init__(self, zones: Zones, thresholds: Mapping[str, float]) -> None:
        self._zones = zones
        self._thresholds = thresholds
        self._tracker = Tracker()
        self._presence = Presence(zones.dwells)

    def look(self, found: Detections, size: Size, at: float, *, least_sure: float) -> Sighted:
        """What is told of what was found in a picture of that size; boxes stay in its pixels."""
        sure = believed(found, least_sure, self._thresholds)
        if self._zones.every:
            sure = sure.where(np.array([not self._zones.leave_out(foot) for foot in _feet(sure, size)], bool))
        track_ids = self._tracker.follow(sure.scaled(1 / size.width, 1 / size.height), at)
        seen = replace(sure, track_ids=track_ids)
        if not self._zones.every:
            return Sighted(seen)
        zones = tuple(map(self._zones.names, _feet(seen, size)))
        events = self._presence.look(replace(seen, zones=zones), self._tracker.track_ids, at)
        return Sighted(self._reported(replace(seen, zones=zones)), events)

    def _reported(self, seen: Detections) -> Detections:
        """What stands where things count: everywhere, unless there are zones to stand in."""
        assert seen.zones is not None
        return seen.where(np.array([bool(each) for each in seen.zones], bool)) if self._zones.wanted else seen


def believed(found: Detections, least_sure: float, thresholds: Mapping[str, float] | None = None) -> Detections:
    """What is sure enough, as a camera says for each label, for all others, or else the detector for all."""
    asked = thresholds or {}
    least = asked.get(OTHERS, least_sure)
    return found.where(found.confidence >= [asked.get(label, least) for label in found.labels])


def _feet(seen: Detections, size: Size) -> list[Point]:
    """Where each stands, in parts of the picture."""
    x, y = (seen.xyxy[:, 0] + seen.xyxy[:, 2]) / 2 / size.width, seen.xyxy[:, 3] / size.height
    return list(zip(x.tolist(), y.tolist(), strict=True))
