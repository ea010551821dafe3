"""Where in a camera's picture things count: polygons in parts of its width and height, so that a size may change.

    (0, 0) ────── (1, 0)      A thing is where it stands: at its foot, the middle of its box's lower edge, for a zone is
      │   picture   │         drawn on the ground and not in the air. What stands on a zone's edge is in it; feet below
    (0, 1) ────── (1, 1)      the picture count as being on its lower edge.

Zones that leave out take away what stands in any of them. If there are others, only what stands in one of these is
left. A camera without zones reports everything.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from streamward.model.detection import Detection, Detections
from streamward.vision.detector import Size

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Zone:
    """One polygon; it may cross itself, and then counts what an odd number of its rounds encloses."""

    name: str
    corners: tuple[Point, ...]
    leaves_out: bool = False

    def __post_init__(self) -> None:
        assert len(self.corners) >= 3
        assert all(0 <= value <= 1 for corner in self.corners for value in corner)

    def holds(self, point: Point) -> bool:
        """Whether a point lies in it or on its edge."""
        edges = list(self._edges())
        if any(_is_on(point, start, end) for start, end in edges):
            return True
        return sum(_is_crossed(point, start, end) for start, end in edges) % 2 == 1

    def _edges(self) -> Iterator[tuple[Point, Point]]:
        return zip(self.corners, (*self.corners[1:], self.corners[0]), strict=True)


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


def _is_crossed(point: Point, start: Point, end: Point) -> bool:
    """Whether a ray from the point to the right meets an edge; a corner belongs to the edge above it only."""
    (x, y), (x1, y1), (x2, y2) = point, *sorted((start, end))  # so that rounding knows no direction
    return (y1 > y) != (y2 > y) and x < x1 + (y - y1) / (y2 - y1) * (x2 - x1)


def _is_on(point: Point, start: Point, end: Point) -> bool:
    (x, y), (x1, y1), (x2, y2) = point, *sorted((start, end))
    is_beside = min(x1, x2) <= x <= max(x1, x2) and min(y1, y2) <= y <= max(y1, y2)
    return is_beside and abs((x2 - x1) * (y - y1) - (y2 - y1) * (x - x1)) < 1e-12
