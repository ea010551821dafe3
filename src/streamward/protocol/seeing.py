"""Where in a camera's picture things count, and how sure a detector must be of them."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import UnsetType

from streamward.model.detection import LONGEST_LABEL
from streamward.model.zone import Point, Zone
from streamward.protocol.fields import Id, Message

MOST_ZONES = 32
FEWEST_POINTS, MOST_POINTS = 3, 64
MOST_THRESHOLDS = 256
LARGEST_ZONES = 16 << 10  # bytes of one camera's; a runner is told of a thousand cameras in one answer
LARGEST_THRESHOLDS = 8 << 10

EveryN = Annotated[int, msgspec.Meta(ge=1, le=1000)]
DwellSeconds = Annotated[float, msgspec.Meta(gt=0, le=86_400)]
# What points are is judged by ZoneShape, and what thresholds are by `check_thresholds`: these can say whose they are.
Part = Annotated[float, msgspec.Meta(extra_json_schema={"minimum": 0, "maximum": 1})]
Points = Annotated[
    list[tuple[Part, Part]],
    msgspec.Meta(
        description="3 to 64 pairs from 0 to 1: parts of the width and of the height",
        extra_json_schema={"minItems": FEWEST_POINTS, "maxItems": MOST_POINTS},
    ),
]
ThingLabel = Annotated[
    str,
    msgspec.Meta(
        description="what a detector calls a thing, `*` for all others",
        extra_json_schema={
            "minLength": 1,
            "maxLength": LONGEST_LABEL,
            "pattern": r"^[^\x00-\x1f\x7f-\x9f]*$(?!\n)",
        },
    ),
]
Thresholds = Annotated[dict[ThingLabel, Part], msgspec.Meta(extra_json_schema={"maxProperties": MOST_THRESHOLDS})]

_LABEL = re.compile(rf"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{{1,{LONGEST_LABEL}}}")
_ON_A_LINE = 1e-12  # twice the area of a triangle that is none


class ZoneShape(Message, frozen=True):
    """A polygon in a camera's picture, in parts of its width and height from the upper left corner.

    What stands in a zone that leaves out is not reported; if there are others, only what stands in one of these is. Who
    stays in it for `dwell_s` seconds is told; without that nobody is.
    """

    name: Id
    points: Points
    leaves_out: bool = False
    dwell_s: DwellSeconds | None = None

    def __post_init__(self) -> None:
        if not FEWEST_POINTS <= len(self.points) <= MOST_POINTS:
            raise ValueError(
                f"a polygon has {FEWEST_POINTS} to {MOST_POINTS} points, and the zone {self.name} {len(self.points)}"
            )
        for x, y in self.points:
            if not (0 <= x <= 1 and 0 <= y <= 1):
                raise ValueError(
                    f"the zone {self.name} has a point at {x:g}, {y:g}, outside of the picture: "
                    "points are parts of its width and height, from 0 to 1"
                )


ZoneShapes = Annotated[list[ZoneShape], msgspec.Meta(max_length=MOST_ZONES)]


def check(zones: list[ZoneShape] | UnsetType, thresholds: Mapping[str, float] | UnsetType = msgspec.UNSET) -> None:
    """Refuses what people cannot have meant, and more than a camera may have to say.

    What was stored before is told all the same: messages to runners are not judged by it.
    """
    if not isinstance(zones, UnsetType):
        _check_zones(zones)
        if len(msgspec.json.encode(zones)) > LARGEST_ZONES:
            raise ValueError(f"a camera's zones have at most {LARGEST_ZONES >> 10} KiB: leave out points, or digits")
    if not isinstance(thresholds, UnsetType):
        check_thresholds(thresholds)
        if len(msgspec.json.encode(thresholds)) > LARGEST_THRESHOLDS:
            raise ValueError(f"a camera's thresholds have at most {LARGEST_THRESHOLDS >> 10} KiB: leave out labels")


def check_names(zones: Iterable[ZoneShape]) -> None:
    """Refuses two zones of one name, for nobody could tell which is meant."""
    named: set[str] = set()
    for zone in zones:
        if zone.name in named:
            raise ValueError(f"two zones have the name {zone.name}: each needs its own")
        named.add(zone.name)


def check_thresholds(thresholds: Mapping[str, float]) -> None:
    """Refuses labels and numbers that are none, and too many of them."""
    if len(thresholds) > MOST_THRESHOLDS:
        raise ValueError(f"a camera has at most {MOST_THRESHOLDS} thresholds, and not {len(thresholds)}")
    for label, number in thresholds.items():
        if not _LABEL.fullmatch(label):
            told = repr(label[:LONGEST_LABEL])
            raise ValueError(f"a label has 1 to {LONGEST_LABEL} characters that can be read, unlike {told}")
        if not 0 <= number <= 1:
            raise ValueError(f"the threshold of {label} is {number:g}, and must be from 0 to 1")


def read(zones: Iterable[ZoneShape]) -> tuple[Zone, ...]:
    """What such polygons are here."""
    return tuple(
        Zone(name=each.name, corners=tuple(each.points), leaves_out=each.leaves_out, dwell_s=each.dwell_s)
        for each in zones
    )


def shapes(zones: Iterable[Zone]) -> list[ZoneShape]:
    """Zones as they are told."""
    return [
        ZoneShape(name=each.name, points=list(each.corners), leaves_out=each.leaves_out, dwell_s=each.dwell_s)
        for each in zones
    ]


def _check_zones(zones: Sequence[ZoneShape]) -> None:
    check_names(zones)
    for zone in zones:
        if zone.leaves_out and zone.dwell_s is not None:
            raise ValueError(f"the zone {zone.name} leaves out: nobody is told of who stays in it")
        if _is_on_a_line(zone.points):
            raise ValueError(f"the points of the zone {zone.name} lie on one line: it has no inside")


def _is_on_a_line(points: Sequence[Point]) -> bool:
    """Whether a polygon has nothing in it; one that crosses itself may have an area of 0, and has."""
    (x1, y1), (x2, y2) = points[0], max(points, key=lambda point: math.dist(points[0], point))
    return all(abs((x2 - x1) * (y - y1) - (y2 - y1) * (x - x1)) < _ON_A_LINE for x, y in points)
