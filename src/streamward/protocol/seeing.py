"""Where in a camera's picture things count, and how sure a detector must be of them."""

from collections.abc import Iterable
from typing import Annotated

import msgspec

from streamward.model.zone import Zone
from streamward.protocol.fields import Id, Message

MOST_ZONES = 32
MOST_CORNERS = 64
MOST_THRESHOLDS = 256
ALL_OTHERS = "*"  # among the labels of thresholds

Part = Annotated[float, msgspec.Meta(ge=0, le=1)]
EveryN = Annotated[int, msgspec.Meta(ge=1, le=1000)]
DwellSeconds = Annotated[float, msgspec.Meta(gt=0, le=86_400)]
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
    points: Annotated[list[tuple[Part, Part]], msgspec.Meta(min_length=3, max_length=MOST_CORNERS)]
    leaves_out: bool = False
    dwell_s: DwellSeconds | None = None


ZoneShapes = Annotated[list[ZoneShape], msgspec.Meta(max_length=MOST_ZONES)]


def check_names(zones: Iterable[ZoneShape]) -> None:
    """Refuses two zones of one name: nobody could tell which of them is meant."""
    named: set[str] = set()
    for zone in zones:
        if zone.name in named:
            raise ValueError(f"two zones have the name {zone.name}")
        named.add(zone.name)


def read(zones: Iterable[ZoneShape]) -> tuple[Zone, ...]:
    """What such polygons are here."""
    return tuple(
        Zone(name=each.name, corners=tuple(each.points), leaves_out=each.leaves_out, dwell_s=each.dwell_s)
        for each in zones
    )
