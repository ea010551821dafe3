"""Where in a camera's picture things count.

A thing is where it stands: at its foot, the middle of its box's lower edge, for a zone is drawn on the ground and not
in the air. Feet below the picture count as being on its lower edge.

Zones that leave out take away what stands in any of them. If there are others, only what stands in one of these is
left. A camera without zones reports everything.
"""

from dataclasses import dataclass

from streamward.model.detection import Detection, Detections
from streamward.model.zone import Point, Zone
from streamward.vision.detector import Size


@dataclass(frozen=True, slots=True)
class Zones:
    """All zones of one camera."""

    every: tuple[Zone, ...] = ()

    def admit(self, seen: Detections, size: Size) -> Detections:
        """What of it counts; boxes are in pixels of a picture of that size."""
        if not self.every:
            return seen
        return tuple(each for each in seen if self.counts(_foot(each, size)))

    def names(self, seen: Detection, size: Size) -> tuple[str, ...]:
        """The zones in which a thing stands, in the order in which they were given."""
        foot = _foot(seen, size)
        return tuple(zone.name for zone in self.every if zone.holds(foot))

    def counts(self, foot: Point) -> bool:
        """Whether what stands there is reported."""
        if any(zone.leaves_out and zone.holds(foot) for zone in self.every):
            return False
        wanted = [zone for zone in self.every if not zone.leaves_out]
        return not wanted or any(zone.holds(foot) for zone in wanted)


EVERYWHERE = Zones()


def _foot(seen: Detection, size: Size) -> Point:
    x, y = seen.box.foot
    return min(1.0, max(0.0, x / size.width)), min(1.0, max(0.0, y / size.height))
