"""What is foreseen is what the budget does."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.leases.dial_forecast import dialed_in
from streamward.leases.dialing import Bucket, DialRefusal, DialRefused, consume
from tests.support.builders import a_bucket, at


def acted_out(bucket: Bucket, *, dials: int, in_flight: int, takes: float) -> float:
    """When the last dial has ended, if each goes as soon as the budget lets it."""
    ends, now = [takes] * in_flight, 0.0
    for _ in range(dials):
        while isinstance(
            answer := consume(bucket, in_flight=sum(e > now for e in ends), takeover=False, now=at(now)), DialRefused
        ):
            is_crowded = answer.reason is DialRefusal.IN_FLIGHT
            now = min(end for end in ends if end > now) if is_crowded else now + answer.retry_in + 0.001
        bucket = answer.bucket
        ends.append(now + takes)
    return max(ends[in_flight:])


def test_nothing_to_dial_takes_no_time():
    assert dialed_in(a_bucket(tokens=0.0), dials=0) == 0.0


def test_dials_that_have_tokens_go_at_once():
    assert dialed_in(a_bucket(tokens=10.0), dials=10, takes=0.5) == 0.5


def test_a_hundred_cameras_at_120_a_minute_take_three_quarters_of_a_minute():
    assert dialed_in(a_bucket(tokens=10.0, per_minute=120.0), dials=100) == 46.0


def test_slow_dials_wait_for_a_place():
    assert dialed_in(a_bucket(tokens=10.0, per_minute=6000.0), dials=30, takes=4.0) == 12.0
    assert dialed_in(a_bucket(tokens=10.0, per_minute=6000.0), dials=10, in_flight=10, takes=4.0) == 8.0


def test_without_a_rate_what_has_no_token_never_goes():
    assert dialed_in(a_bucket(tokens=2.0, per_minute=0.0), dials=3) is None
    assert dialed_in(a_bucket(tokens=2.0, per_minute=0.0), dials=2) == 1.0


@given(
    capacity=st.integers(1, 12),
    per_minute=st.floats(6.0, 6000.0),
    fullness=st.floats(0.0, 1.0),
    dials=st.integers(1, 60),
    takes=st.floats(0.05, 12.0),
    data=st.data(),
)
def test_it_foresees_what_the_budget_does(
    capacity: int, per_minute: float, fullness: float, dials: int, takes: float, data: st.DataObject
):
    in_flight = data.draw(st.integers(0, capacity))
    bucket = replace(a_bucket(tokens=capacity * fullness, per_minute=per_minute), capacity=capacity)
    foreseen = dialed_in(bucket, dials=dials, in_flight=in_flight, takes=takes)
    done = acted_out(bucket, dials=dials, in_flight=in_flight, takes=takes)
    assert foreseen == pytest.approx(done, abs=0.1 + 60.0 / per_minute + (takes if in_flight else 0.0))
