"""Numbers that stay with a thing."""

from collections.abc import Iterable

import numpy as np
import pytest

from streamward.model.detection import Box, Detection
from streamward.vision.detections import NOTHING, Detections
from streamward.vision.tracking import KEPT_FOR, LONGEST_KEPT, MOST, Tracker

LOOK = 1 / 6  # seconds between two


def things(*places: tuple[float, float], label: str = "person", size: float = 0.1) -> Detections:
    """Things whose middles are there."""
    half = size / 2
    return Detections.of(Detection(label, 0.9, Box(x - half, y - half, x + half, y + half)) for x, y in places)


def followed(looks: Iterable[Detections], every: float = LOOK, tracker: Tracker | None = None) -> list[tuple[int, ...]]:
    tracker = tracker or Tracker()
    return [tracker.follow(seen, number * every) for number, seen in enumerate(looks)]


def test_a_thing_that_moves_keeps_its_number_and_another_gets_one_of_its_own():
    walks = [things((0.1 + 0.02 * step, 0.5), (0.9 - 0.02 * step, 0.2)) for step in range(10)]
    assert set(followed(walks)) == {(1, 2)}


def test_the_order_in_which_things_are_found_does_not_matter():
    walks = [things(*[(0.1 + 0.02 * step, 0.5), (0.9, 0.2)][:: 1 if step % 2 else -1]) for step in range(6)]
    assert set(followed(walks)) == {(1, 2), (2, 1)}


def test_a_thing_that_is_missed_for_some_looks_goes_on():
    walks = [things((0.1 + 0.03 * step, 0.5)) if step not in {4, 5, 6, 7} else NOTHING for step in range(12)]
    assert [each for each in followed(walks) if each] == [(1,)] * 8


def test_a_small_thing_that_moves_by_more_than_its_width_is_the_same():
    walks = [things((0.5 - abs(0.4 - 0.1 * step), 0.5), size=0.04) for step in range(10)]  # it turns round
    assert set(followed(walks)) == {(1,)}


@pytest.mark.parametrize("other", [things((0.5, 0.5), size=0.3), things((0.9, 0.5)), things((0.5, 0.9))])
def test_what_is_far_away_or_of_another_size_is_another_thing(other):
    assert followed([things((0.5, 0.5), size=0.05), other]) == [(1,), (2,)]


def test_of_two_that_could_be_it_the_one_that_overlaps_more_is():
    assert followed([things((0.5, 0.5)), things((0.53, 0.5), (0.51, 0.5))]) == [(1,), (2, 1)]


def test_things_of_two_kinds_in_one_place_are_two():
    both = Detections.of([*things((0.5, 0.5)), *things((0.52, 0.5), label="bicycle")])
    assert followed([both, both.where(np.array([False, True])), both]) == [(1, 2), (2,), (1, 2)]


def test_what_the_detector_calls_otherwise_all_of_a_sudden_is_the_same_thing():
    assert followed([things((0.5, 0.5)), things((0.5, 0.5), label="dog"), things((0.5, 0.5))]) == [(1,)] * 3
    assert followed([things((0.5, 0.5)), things((0.55, 0.55), label="dog")]) == [(1,), (2,)]


def test_who_comes_back_after_too_long_is_somebody_else():
    gone = [NOTHING] * (int(KEPT_FOR / LOOK) + 2)
    tracker = Tracker()
    followed([things((0.5, 0.5)), *gone], tracker=tracker)
    assert tracker.track_ids == frozenset()
    assert followed([things((0.5, 0.5)), *gone, things((0.5, 0.5))])[-1] == (2,)


def test_where_looks_are_seconds_apart_a_thing_is_missed_by_looks():
    still = things((0.5, 0.5))
    assert followed([still, NOTHING, still], every=5.0)[-1] == (1,)
    assert followed([still, still], every=LONGEST_KEPT + 1)[-1] == (2,)


def test_two_looks_at_one_moment_make_nobody_run():
    tracker = Tracker()
    assert tracker.follow(things((0.5, 0.5)), 1.0) == (1,)
    assert tracker.follow(things((0.52, 0.5)), 1.0) == (1,)
    assert tracker.follow(things((0.52, 0.5)), 2.0) == (1,)


def crowd(count: int) -> Detections:
    return things(*[(x / 40, y / 30) for y in range(30) for x in range(40)][:count], size=0.02)


def test_numbers_are_never_given_twice_and_tracks_are_bounded():
    tracker = Tracker()
    first = tracker.follow(crowd(MOST), 0.0)
    second = tracker.follow(things(*[(0.5, y / 10) for y in range(10)], label="car"), 0.2)
    assert len({*first, *second}) == MOST + 10
    assert len(tracker.track_ids) == MOST
    assert tracker.track_ids >= set(second)


def test_a_crowd_keeps_its_numbers():
    assert followed([crowd(300)] * 3) == [tuple(range(1, 301))] * 3
