"""Boxes."""

import pytest

from streamward.model.detection import Box


@pytest.mark.parametrize(
    ("other", "overlap"),
    [
        (Box(0, 0, 10, 10), 1.0),
        (Box(10, 0, 20, 10), 0.0),
        (Box(5, 0, 15, 10), pytest.approx(1 / 3)),
        (Box(30, 30, 40, 40), 0.0),
    ],
)
def test_overlap_is_what_two_boxes_share_of_what_they_cover(other, overlap):
    assert Box(0, 0, 10, 10).overlap(other) == overlap


def test_boxes_without_area_overlap_nothing():
    assert Box(0, 0, 0, 0).overlap(Box(0, 0, 0, 0)) == 0.0
    assert Box(5, 5, 1, 1).area == 0.0


def test_a_box_stands_on_the_middle_of_its_lower_edge():
    assert Box(10, 20, 30, 60).foot == (20, 60)


def test_a_box_keeps_its_place_in_a_picture_of_another_size():
    assert Box(1, 2, 3, 4).scaled(4, 2) == Box(4, 4, 12, 8)
