"""Waits that double, with jitter."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.runtime.backoff import Backoff, BackoffSpec

STEPS = [1, 2, 4, 8, 16, 32, 60, 60, 60]


def waits(seed: int, *worked_for: float) -> list[float]:
    backoff = Backoff(BackoffSpec(), Random(seed))
    return [backoff.failed(after=seconds) for seconds in worked_for]


@given(st.integers())
def test_each_wait_is_in_the_upper_half_of_its_step_up_to_the_longest(seed):
    for wait, step in zip(waits(seed, *[0.0] * 9), STEPS, strict=True):
        assert step / 2 <= wait <= step


@given(st.integers())
def test_what_worked_steadily_begins_at_the_first_step_again(seed):
    *_, after_a_blip, after_steady_work = waits(seed, 0.0, 0.0, 0.0, 59.9, 60.0)
    assert after_a_blip >= 4
    assert after_steady_work <= 1


def test_the_seed_decides():
    assert waits(7, 0, 0, 0) == waits(7, 0, 0, 0) != waits(8, 0, 0, 0)


def test_a_first_step_above_the_longest_is_cut():
    backoff = Backoff(BackoffSpec(first=5.0, longest=2.0), Random(1))
    assert backoff.failed(after=0.0) == pytest.approx(1.5, abs=0.5)


def test_a_failure_with_a_lower_limit_waits_no_longer_and_the_steps_go_on_from_there():
    backoff = Backoff(BackoffSpec(), Random(1))
    for _ in range(9):
        backoff.failed(after=0.0)
    assert 5 <= backoff.failed(after=0.0, longest=10.0) <= 10
    assert 10 <= backoff.failed(after=0.0) <= 20
    assert backoff.failed(after=0.0, longest=600.0) <= 60
