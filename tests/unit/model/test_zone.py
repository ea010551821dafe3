"""What lies in a polygon."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.model.zone import Zone

SQUARE = ((0, 0), (0.5, 0), (0.5, 1), (0, 1))
L_SHAPE = Zone(name="l", corners=((0, 0), (0.2, 0), (0.2, 0.8), (1, 0.8), (1, 1), (0, 1)))
STAR = Zone(name="star", corners=((0.5, 0), (0.8, 1), (0, 0.4), (1, 0.4), (0.2, 1)))


@pytest.mark.parametrize(
    ("zone", "inside", "outside"),
    [
        (Zone(name="left", corners=SQUARE), [(0.25, 0.5), (0.5, 0.5), (0, 0), (0.25, 1)], [(0.51, 0.5), (1, 1)]),
        (L_SHAPE, [(0.1, 0.5), (0.9, 0.9), (0.2, 0.8)], [(0.5, 0.5), (0.3, 0.79)]),
        (STAR, [(0.5, 0.2), (0.2, 0.42)], [(0.5, 0.55), (0.1, 0.1), (0.5, 0.95)]),
    ],
)
def test_polygons_of_any_shape(zone, inside, outside):
    assert all(map(zone.holds, inside))
    assert not any(map(zone.holds, outside))


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=3, max_size=8),
    st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_where_a_polygon_begins_and_which_way_it_goes_changes_nothing(corners, point):
    zone = Zone(name="z", corners=tuple(corners))
    turned = Zone(name="z", corners=(*corners[1:], corners[0]))
    back = Zone(name="z", corners=tuple(reversed(corners)))
    assert zone.holds(point) == turned.holds(point) == back.holds(point)


@pytest.mark.parametrize("corners", [((0, 0), (1, 1)), ((0, 0), (1, 1), (0, 1.1)), ((0, 0), (1, 1), (-0.1, 1))])
def test_what_is_no_polygon_in_the_picture_is_no_zone(corners):
    with pytest.raises(AssertionError):
        Zone(name="z", corners=corners)


def test_a_zone_is_described_as_people_name_it():
    zone = Zone(name="door", corners=((0, 0), (0.5, 0), (0.5, 1)), leaves_out=True, dwell_s=30.0)
    points = [[0, 0], [0.5, 0], [0.5, 1]]
    assert zone.described() == {"name": "door", "points": points, "leaves_out": True, "dwell_s": 30.0}


@pytest.mark.parametrize("dwell_s", [0.0, -1.0])
def test_nobody_stays_for_no_time(dwell_s):
    with pytest.raises(AssertionError):
        Zone(name="z", corners=SQUARE, dwell_s=dwell_s)
