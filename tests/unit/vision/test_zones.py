"""Which things count, by where they stand."""

from dataclasses import replace

from streamward.model.zone import Zone
from streamward.vision.zones import EVERYWHERE, Zones

LEFT = Zone(name="left", corners=((0, 0), (0.5, 0), (0.5, 1), (0, 1)))
DOOR = Zone(name="door", corners=((0, 0.5), (0.25, 0.5), (0.25, 1), (0, 1)), leaves_out=True)
L_SHAPE = Zone(name="l", corners=((0, 0), (0.2, 0), (0.2, 0.8), (1, 0.8), (1, 1), (0, 1)))


def counted(zones: Zones, *feet: tuple[float, float]) -> list[bool]:
    return [zones.counts(foot) for foot in feet]


def test_without_zones_everything_counts():
    assert counted(EVERYWHERE, (0.1, 0.1), (2.0, 2.0)) == [True, True]


def test_with_zones_only_what_stands_in_one_of_them_counts():
    assert counted(Zones((LEFT,)), (0.25, 0.5), (0.75, 0.5)) == [True, False]
    right = Zone(name="right", corners=((0.6, 0), (1, 0), (1, 1)))
    assert counted(Zones((LEFT, right)), (0.25, 0.5), (0.95, 0.5), (0.55, 0.5)) == [True, True, False]


def test_what_stands_in_a_zone_that_leaves_out_never_counts():
    assert counted(Zones((DOOR,)), (0.1, 0.7), (0.1, 0.3), (0.9, 0.9)) == [False, True, True]
    assert counted(Zones((LEFT, DOOR)), (0.1, 0.7), (0.1, 0.3), (0.9, 0.9)) == [False, True, False]


def test_feet_on_an_edge_and_below_the_picture_are_in():
    assert counted(Zones((LEFT,)), (0.5, 0.5), (0.0, 0.0), (0.25, 1.0), (0.25, 1.3), (-0.1, 0.5)) == [True] * 5


def test_a_thing_knows_all_its_zones():
    assert Zones((LEFT, DOOR, L_SHAPE)).names((0.1, 0.7)) == ("left", "l")  # not that which leaves out
    assert Zones((LEFT, DOOR)).names((0.9, 0.7)) == ()


def test_zones_say_how_long_one_may_stay():
    benches = [replace(LEFT, dwell_s=30.0), L_SHAPE, replace(DOOR, dwell_s=5.0)]
    assert Zones(tuple(benches)).dwells == {"left": 30.0}
