"""The dial budget: consume, refill, reserve, and clocks that run backwards."""

import math
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.leases.dialing import LONGEST_RETRY, Bucket, DialGranted, DialRefusal, DialRefused, consume
from tests.support.builders import START, a_bucket, at


def dial(
    bucket: Bucket, *, now: datetime = START, in_flight: int = 0, takeover: bool = False
) -> DialGranted | DialRefused:
    return consume(bucket, in_flight=in_flight, takeover=takeover, now=now)


def test_a_dial_takes_one_token():
    assert dial(a_bucket(tokens=10.0)) == DialGranted(bucket=a_bucket(tokens=9.0))


def test_an_empty_bucket_says_when_the_next_token_is_there():
    refused = dial(a_bucket(tokens=0.5))
    assert refused == DialRefused(reason=DialRefusal.EMPTY, bucket=a_bucket(tokens=0.5), retry_in=0.25)
    assert isinstance(dial(refused.bucket, now=at(0.25)), DialGranted)


def test_a_bucket_without_a_rate_asks_to_come_back_in_a_minute():
    refused = dial(a_bucket(tokens=0.0, per_minute=0.0))
    assert isinstance(refused, DialRefused)
    assert refused.retry_in == 60.0


def test_a_rate_next_to_nothing_asks_to_come_back_in_an_hour():
    refused = dial(a_bucket(tokens=0.0, per_minute=1e-320))
    assert isinstance(refused, DialRefused)
    assert refused.retry_in == LONGEST_RETRY


@pytest.mark.parametrize(("seconds", "tokens"), [(0, 2.0), (1, 4.0), (4, 10.0), (3600, 10.0), (-3600, 2.0)])
def test_tokens_come_back_at_the_rate_up_to_the_capacity_and_never_by_a_clock_set_back(seconds, tokens):
    refilled = a_bucket(tokens=2.0).refilled(at(seconds))
    assert (refilled.tokens, refilled.updated_at) == (tokens, at(seconds))


@pytest.mark.parametrize(("seconds", "reserve"), [(0, 0.0), (6, 3.0), (60, 30.0), (600, 30.0)])
def test_an_empty_reserve_is_full_after_a_minute(seconds, reserve):
    assert a_bucket(reserve_size=30).refilled(at(seconds)).reserve == reserve


def test_no_dial_beyond_the_limit_in_flight_not_even_a_takeover():
    full = a_bucket(tokens=10.0, reserve=30.0, reserve_size=30)
    for takeover in (False, True):
        refused = dial(full, in_flight=10, takeover=takeover)
        assert refused == DialRefused(reason=DialRefusal.IN_FLIGHT, bucket=full, retry_in=1.0)


def test_a_takeover_spends_the_reserve_first_and_tokens_when_it_is_empty():
    bucket = a_bucket(tokens=1.0, reserve=1.0, reserve_size=5, per_minute=0.0)
    first = dial(bucket, takeover=True)
    second = dial(first.bucket, takeover=True)
    third = dial(second.bucket, takeover=True)
    assert first == DialGranted(bucket=replace(bucket, reserve=0.0))
    assert second == DialGranted(bucket=replace(bucket, reserve=0.0, tokens=0.0))
    assert isinstance(third, DialRefused)


def test_a_new_camera_never_spends_the_reserve():
    assert isinstance(dial(a_bucket(tokens=0.0, reserve=9.0, reserve_size=9)), DialRefused)


def test_managers_that_race_get_as_many_tokens_as_there_are():
    bucket, granted = a_bucket(tokens=10.0), 0
    for _ in range(100):
        outcome = dial(bucket)
        bucket = outcome.bucket
        granted += isinstance(outcome, DialGranted)
    assert (granted, bucket.tokens) == (10, 0.0)


waits = st.one_of(st.floats(0, 5), st.sampled_from([0.0, 0.0, 60.0, -1.0, -3600.0]))


@given(st.lists(st.tuples(waits, st.booleans()), max_size=200), st.integers(0, 20), st.floats(0, 600))
def test_dials_over_any_time_never_exceed_capacity_rate_and_reserve(asks, reserve_size, per_minute):
    bucket = a_bucket(tokens=10.0, reserve=float(reserve_size), reserve_size=reserve_size, per_minute=per_minute)
    now, forwards, plain, takeovers = START, 0.0, 0, 0
    for wait, takeover in asks:
        now += timedelta(seconds=wait)
        forwards += max(0.0, wait)  # a clock that was set back and goes on again refills for the time that it ran
        outcome = dial(bucket, now=now, takeover=takeover)
        bucket = outcome.bucket
        plain += isinstance(outcome, DialGranted) and not takeover
        takeovers += isinstance(outcome, DialGranted) and takeover
        tokens = bucket.capacity + per_minute / 60 * forwards
        assert plain <= math.floor(tokens + 1e-6)
        assert plain + takeovers <= math.floor(tokens + reserve_size * (1 + forwards / 60) + 1e-6)
        assert 0 <= bucket.tokens <= bucket.capacity
        assert 0 <= bucket.reserve <= reserve_size
