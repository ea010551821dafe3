"""What counts as movement between two pictures."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from streamward.drivers.movement import PictureComparer
from streamward.model.zone import Zone
from streamward.vision.zones import EVERYWHERE, Zones


def grey(width: int, height: int, level: int = 100) -> NDArray[Any]:
    return np.full((height, width, 3), level, np.uint8)


def band(top: float, bottom: float, *, leaves_out: bool = False) -> Zones:
    """One zone, as wide as the picture."""
    corners = ((0.0, top), (1.0, top), (1.0, bottom), (0.0, bottom))
    return Zones((Zone(name="band", corners=corners, leaves_out=leaves_out),))


@pytest.mark.parametrize(("width", "height"), [(1, 1), (7, 64), (64, 7)])
def test_pictures_smaller_than_a_cell_always_differ(width, height):
    comparer = PictureComparer(EVERYWHERE)
    assert [comparer.differs(grey(width, height)) for _ in range(3)] == [True, True, True]


def test_a_picture_that_stays_the_same_does_not_differ():
    comparer = PictureComparer(EVERYWHERE)
    assert [comparer.differs(grey(64, 64, level)) for level in (100, 100, 104, 110)] == [True, False, False, True]


@pytest.mark.parametrize("top", [0.0, 0.49, 0.5, 0.54, 0.99])
def test_things_move_in_a_zone_that_is_thinner_than_a_cell(top):
    comparer = PictureComparer(band(top, top + 0.01))
    assert [comparer.differs(grey(64, 64, level)) for level in (100, 200)] == [True, True]


def test_what_moves_where_nothing_counts_does_not():
    after = grey(64, 64)
    after[40:] = 200
    for zones, is_moving in (
        (band(0.0, 0.5), False),
        (band(0.5, 1.0, leaves_out=True), False),
        (band(0.63, 0.64), True),
        (EVERYWHERE, True),
    ):
        comparer = PictureComparer(zones)
        comparer.differs(grey(64, 64))
        assert comparer.differs(after) is is_moving
