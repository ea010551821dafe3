"""Which things count, by where they stand."""

from streamward.model.detection import Box, Detection
from streamward.model.zone import Zone
from streamward.vision.detector import Size
from streamward.vision.zones import EVERYWHERE, Zones

SIZE = Size(200, 100)
LEFT = Zone(name="left", corners=((0, 0), (0.5, 0), (0.5, 1), (0, 1)))
DOOR = Zone(name="door", corners=((0, 0.5), (0.25, 0.5), (0.25, 1), (0, 1)), leaves_out=True)
L_SHAPE = Zone(name="l", corners=((0, 0), (0.2, 0), (0.2, 0.8), (1, 0.8), (1, 1), (0, 1)))


def standing(x: float, y: float) -> Detection:
    """A thing whose feet are there, in parts of the picture."""
    return Detection("person", 0.9, Box(x * 200 - 5, y * 100 - 30, x * 200 + 5, y * 100))


def counted(zones: Zones, *feet: tuple[float, float]) -> list[bool]:
    return [bool(zones.admit((standing(*foot),), SIZE)) for foot in feet]


def test_without_zones_everything_counts():
    seen = (standing(0.1, 0.1), standing(2.0, 2.0))
    assert EVERYWHERE.admit(seen, SIZE) == seen


def test_with_zones_only_what_stands_in_one_of_them_counts():
    assert counted(Zones((LEFT,)), (0.25, 0.5), (0.75, 0.5)) == [True, False]
    right = Zone(name="right", corners=((0.6, 0), (1, 0), (1, 1)))
    assert counted(Zones((LEFT, right)), (0.25, 0.5), (0.95, 0.5), (0.55, 0.5)) == [True, True, False]


def test_what_stands_in_a_zone_that_leaves_out_never_counts():
    assert counted(Zones((DOOR,)), (0.1, 0.7), (0.1, 0.3), (0.9, 0.9)) == [False, True, True]
    assert counted(Zones((LEFT, DOOR)), (0.1, 0.7), (0.1, 0.3), (0.9, 0.9)) == [False, True, False]


def test_a_thing_is_where_its_feet_are_and_not_where_its_head_is():
    tall = Detection("person", 0.9, Box(20, 5, 40, 70))  # its middle is above the door, its feet are in it
    assert Zones((DOOR,)).admit((tall,), SIZE) == ()


def test_feet_on_an_edge_and_below_the_picture_are_in():
    assert counted(Zones((LEFT,)), (0.5, 0.5), (0.0, 0.0), (0.25, 1.0), (0.25, 1.3), (-0.1, 0.5)) == [True] * 5


def test_a_thing_knows_all_its_zones():
    assert Zones((LEFT, DOOR, L_SHAPE)).names(standing(0.1, 0.7), SIZE) == ("left", "door", "l")
    assert Zones((LEFT, DOOR)).names(standing(0.9, 0.7), SIZE) == ()
