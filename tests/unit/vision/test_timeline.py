"""When the pictures of a clip are sent and shown."""

from itertools import pairwise
from random import Random

import pytest

from streamward.vision.lane import ArrivedUnit
from streamward.vision.timeline import timeline

TOLD_IN_ORDER = [0.0, 0.04, 0.08, 0.12, 0.16]
REORDERED = [0.0, 0.12, 0.04, 0.08, 0.24, 0.16, 0.2]  # I P B B P B B


def units(marks: list[float | None], arrived: list[float] | None = None) -> list[ArrivedUnit]:
    """The first is a keyframe; they arrive 25 times a second if nothing else is said."""
    moments = arrived or [100 + number / 25 for number in range(len(marks))]
    return [
        ArrivedUnit(content=b"", is_keyframe=not number, arrived_at=moment, shown_at=mark)
        for number, (mark, moment) in enumerate(zip(marks, moments, strict=True))
    ]


def shown(marks: list[float | None], arrived: list[float] | None = None) -> list[float]:
    return [round(each.shown, 3) for each in timeline(units(marks, arrived))]


def sent(marks: list[float | None], arrived: list[float] | None = None) -> list[float]:
    return [round(each.sent, 3) for each in timeline(units(marks, arrived))]


def test_pictures_that_came_in_bursts_are_shown_at_the_cameras_pace():
    arrived = [10.0, 10.0, 10.05, 10.05, 10.1]
    assert shown([7 + each for each in TOLD_IN_ORDER], arrived) == sent([*TOLD_IN_ORDER], arrived) == TOLD_IN_ORDER


def test_pictures_that_are_not_sent_in_order_are_shown_in_order():
    assert sent([*REORDERED]) == [-0.04, 0.0, 0.04, 0.08, 0.12, 0.16, 0.2]
    assert shown([*REORDERED]) == REORDERED


def test_what_no_clock_tells_is_shown_as_it_came():
    assert shown([None] * 3, [5.0, 5.04, 5.5]) == [0.0, 0.04, 0.5]
    assert shown([None] * 3, [5.0, 5.0, 5.5]) == [0.0, 0.001, 0.5]
    assert shown([None]) == [0.0]


@pytest.mark.parametrize("base", [-3600.0, 0.02, 7.0, 40_000.0])
def test_after_a_jump_of_the_camera_clock_arrival_tells_how_long_it_was(base):
    marks = [50.0, 50.04, 50.08, base, base + 0.04]
    assert shown([*marks], [1.0, 1.04, 1.08, 4.08, 4.12]) == [0.0, 0.04, 0.08, 3.08, 3.12]


@pytest.mark.parametrize("marks", [[3.0] * 5, [each * 90 for each in TOLD_IN_ORDER], [0.0, 1e-6, 0.08, 0.12, 0.16]])
def test_a_clock_that_stands_still_or_runs_wild_does_not_count(marks):
    assert shown(marks) == TOLD_IN_ORDER


def test_the_order_of_a_clock_that_runs_wild_counts():
    assert shown([each * 12 for each in REORDERED]) == REORDERED


def test_a_new_client_that_gets_the_pictures_since_the_last_keyframe_at_once_sees_them_at_their_pace():
    marks = [number / 25 for number in range(50)]
    arrived = [1 + max(0.0, number / 25 - 1.5) for number in range(50)]
    assert shown([*marks], arrived) == [round(each, 3) for each in marks]


@pytest.mark.parametrize("seed", range(50))
def test_whatever_comes_is_sent_in_order_and_shown_after_it_is_sent(seed):
    random = Random(seed)
    marks = [random.choice([None, 0.0, random.uniform(0, 5), random.uniform(-9e4, 9e4)]) for _ in range(60)]
    arrived = sorted(random.choice([1.0, random.uniform(0, 30)]) for _ in marks)
    moments = timeline(units(marks, arrived))
    assert all(after.sent - before.sent > 4e-4 for before, after in pairwise(moments))
    assert all(each.shown >= each.sent - 1e-9 for each in moments)
    ordered = sorted(each.shown for each in moments)
    assert all(after - before > 4e-4 for before, after in pairwise(ordered))
