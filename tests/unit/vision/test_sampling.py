"""Which frames are looked at."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.vision.sampling import READ_EVERY, Sampler, can_wait


def admitted(sampler: Sampler, arrivals: list[float]) -> list[float]:
    seen = []
    for arrived_at in arrivals:
        sampler, is_wanted = sampler.admit(arrived_at)
        if is_wanted:
            seen.append(arrived_at)
    return seen


def test_without_a_limit_every_frame_is_looked_at():
    assert admitted(Sampler(), [0.0, 0.01, 0.02]) == [0.0, 0.01, 0.02]


def test_each_nth_frame_is_looked_at():
    assert admitted(Sampler(every_n=3), [float(n) for n in range(9)]) == [2.0, 5.0, 8.0]


@pytest.mark.parametrize(("fps", "wanted"), [(25, 6), (30, 5), (15, 10), (25, 25), (12, 7)])
def test_a_steady_camera_is_looked_at_as_often_as_wanted(fps, wanted):
    arrivals = [n / fps for n in range(fps * 60)]
    assert len(admitted(Sampler(max_fps=wanted), arrivals)) == pytest.approx(wanted * 60, abs=2)


def test_a_pause_is_not_made_up_for():
    arrivals = [n / 25 for n in range(50)] + [100 + n / 25 for n in range(50)]
    seen = admitted(Sampler(max_fps=5), arrivals)
    assert len([each for each in seen if each >= 100]) <= 11


@given(st.lists(st.floats(0.0, 0.5), min_size=1, max_size=200), st.floats(0.5, 30.0))
def test_no_more_are_looked_at_than_the_limit_allows(rests, max_fps):
    arrivals = [sum(rests[: n + 1]) for n in range(len(rests))]
    seen = admitted(Sampler(max_fps=max_fps), arrivals)
    assert len(seen) <= (arrivals[-1] - arrivals[0]) * max_fps + 2


def test_both_limits_hold():
    assert len(admitted(Sampler(max_fps=1000, every_n=2), [n / 10 for n in range(10)])) == 5


@pytest.mark.parametrize(("every_n", "looks"), [(1, 360), (2, 180), (3, 120), (6, 60)])
def test_each_nth_is_of_those_that_the_limit_lets_pass(every_n, looks):
    arrivals = [n / 25 for n in range(25 * 60)]
    assert len(admitted(Sampler(max_fps=6, every_n=every_n), arrivals)) == pytest.approx(looks, abs=2)


@pytest.mark.parametrize(("fps", "wanted"), [(25, 6), (30, 6), (15, 10), (25, 10), (12, 7)])
def test_a_camera_that_is_read_in_rounds_is_looked_at_as_often(fps, wanted):
    arrivals = [math.ceil((n + 0.5) / fps / READ_EVERY) * READ_EVERY for n in range(fps * 60)]
    assert can_wait(wanted)
    assert len(admitted(Sampler(max_fps=wanted), arrivals)) == pytest.approx(wanted * 60, abs=2)


def test_a_camera_that_is_looked_at_often_is_read_whenever_something_comes():
    assert not can_wait(25.0)
