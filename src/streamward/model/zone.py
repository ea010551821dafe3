"""A polygon in a camera's picture, in parts of its width and height, so that a size may change.

    (0, 0) ────── (1, 0)
      │   picture   │         What lies on a zone's edge is in it.
    (0, 1) ────── (1, 1)

`vision.zones` says what that means for things that are seen there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Zone:
    """One polygon; it may cross itself, and then counts what an odd number of its rounds encloses."""

    name: str
    corners: tuple[Point, ...]
    leaves_out: bool = False
    dwell_s: float | None = None  # after which somebody who stays in it is told; None: never

    def __post_init__(self) -> None:
        assert len(self.corners) >= 3
        assert all(0 <= value <= 1 for corner in self.corners for value in corner)
        assert self.dwell_s is None or self.dwell_s > 0

    def holds(self, point: Point) -> bool:
        """Whether a point lies in it or on its edge."""
        edges = list(self._edges())
        if any(_is_on(point, start, end) for start, end in edges):
            return True
        return sum(_is_crossed(point, start, end) for start, end in edges) % 2 == 1

    def described(self) -> dict[str, Any]:
        """In words, as people name it and stores keep it."""
        points = [list(corner) for corner in self.corners]
        return {"name": self.name, "points": points, "leaves_out": self.leaves_out, "dwell_s": self.dwell_s}

    def _edges(self) -> Iterator[tuple[Point, Point]]:
        return zip(self.corners, (*self.corners[1:], self.corners[0]), strict=True)


class Crossing(StrEnum):
    """What somebody does with a zone."""

    ENTER = "enter"
    DWELL = "dwell"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneEvent:
    """One of these, and when."""

    kind: Crossing
    zone: str
    track_id: int
    label: str
    at: float  # boot-time
    stayed: float = 0.0  # seconds in the zone until then


def _is_crossed(point: Point, start: Point, end: Point) -> bool:
    """Whether a ray from the point to the right meets an edge; a corner belongs to the edge above it only."""
    (x, y), (x1, y1), (x2, y2) = point, *sorted((start, end))  # so that rounding knows no direction
    return (y1 > y) != (y2 > y) and x < x1 + (y - y1) / (y2 - y1) * (x2 - x1)


def _is_on(point: Point, start: Point, end: Point) -> bool:
    (x, y), (x1, y1), (x2, y2) = point, *sorted((start, end))
    is_beside = min(x1, x2) <= x <= max(x1, x2) and min(y1, y2) <= y <= max(y1, y2)
    return is_beside and abs((x2 - x1) * (y - y1) - (y2 - y1) * (x - x1)) < 1e-12
