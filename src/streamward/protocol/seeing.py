"""Where in a camera's picture things count, and how sure a detector must be of them."""

from collections.abc import Iterable, Mapping
from typing import Annotated

import msgspec
from msgspec import UnsetType

from streamward.model.zone import Zone
from streamward.protocol.fields import Id, Message

MOST_ZONES = 32
FEWEST_POINTS, MOST_POINTS = 3, 64
MOST_THRESHOLDS = 256
LARGEST_ZONES = 16 << 10  # bytes of one camera's; a runner is told of a thousand cameras in one answer
LARGEST_THRESHOLDS = 8 << 10

Part = Annotated[float, msgspec.Meta(ge=0, le=1)]
EveryN = Annotated[int, msgspec.Meta(ge=1, le=1000)]
DwellSeconds = Annotated[float, msgspec.Meta(gt=0, le=86_400)]
# What points are is judged by ZoneShape, which can say whose they are.
Place = Annotated[float, msgspec.Meta(extra_json_schema={"minimum": 0, "maximum": 1})]
Points = Annotated[
    list[tuple[Place, Place]],
    msgspec.Meta(
        description="3 to 64 pairs from 0 to 1: parts of the width and of the height",
        extra_json_schema={"minItems": FEWEST_POINTS, "maxItems": MOST_POINTS},
    ),
]
ThingLabel = Annotated[
    str,
    msgspec.Meta(
        min_length=1,
        max_length=64,
        pattern=r"^[^\x00-\x1f\x7f-\x9f]*$(?!\n)",
        description="what a detector calls a thing, `*` for all others",
    ),
]
Thresholds = Annotated[dict[ThingLabel, Part], msgspec.Meta(max_length=MOST_THRESHOLDS)]


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
    """Refuses two zones of one name, for nobody could tell which is meant, and more than a camera may have to say."""
    if not isinstance(zones, UnsetType):
        check_names(zones)
        if len(msgspec.json.encode(zones)) > LARGEST_ZONES:
            raise ValueError(f"a camera's zones have at most {LARGEST_ZONES >> 10} KiB: leave out points, or digits")
    if not isinstance(thresholds, UnsetType) and len(msgspec.json.encode(thresholds)) > LARGEST_THRESHOLDS:
        raise ValueError(f"a camera's thresholds have at most {LARGEST_THRESHOLDS >> 10} KiB: leave out labels")


def check_names(zones: Iterable[ZoneShape]) -> None:
    """Refuses two zones of one name."""
    named: set[str] = set()
    for zone in zones:
        if zone.name in named:
            raise ValueError(f"two zones have the name {zone.name}: each needs its own")
        named.add(zone.name)


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
