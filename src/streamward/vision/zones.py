"""Where in a camera's picture things count.

A thing is where it stands: at its foot, the middle of its box's lower edge, for a zone is drawn on the ground and not
in the air. Feet are in parts of the picture; those below it count as being on its lower edge.

Zones that leave out take away what stands in any of them. If there are others, only what stands in one of these is
reported. A camera without zones reports everything.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from streamward.model.zone import Point, Zone


@dataclass(frozen=True, slots=True)
class Zones:
    """All zones of one camera."""

    every: tuple[Zone, ...] = ()

    def leave_out(self, foot: Point) -> bool:
        """Whether nobody is to hear of what stands there."""
        return any(zone.leaves_out and zone.holds(_within(foot)) for zone in self.every)

    def names(self, foot: Point) -> tuple[str, ...]:
        """The zones in which it stands, in the order in which they were given; those that leave out have no say."""
        return tuple(zone.name for zone in self.wanted if zone.holds(_within(foot)))

    def counts(self, foot: Point) -> bool:
        """Whether what stands there is reported."""
        return not self.leave_out(foot) and (not self.wanted or bool(self.names(foot)))

    @property
    def dwells(self) -> Mapping[str, float]:
        """After how many seconds somebody who stays is told, by the zone's name."""
        return {zone.name: zone.dwell_s for zone in self.wanted if zone.dwell_s is not None}

    @property
    def wanted(self) -> tuple[Zone, ...]:
        """Those in which things count."""
        return tuple(zone for zone in self.every if not zone.leaves_out)


EVERYWHERE = Zones()


def _within(foot: Point) -> Point:
    x, y = foot
    return min(1.0, max(0.0, x)), min(1.0, max(0.0, y))
