"""Token buckets by key, and reports that are bounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.model.rate_limit import MOST_KEYS, Digest, KeyedLimit, Rate

EACH, TOTAL = Rate(burst=2, per_second=0.5), Rate(burst=5, per_second=1.0)


def a_limit() -> KeyedLimit[str]:
    return KeyedLimit(each=EACH, total=TOTAL)


def test_a_burst_passes_and_then_what_comes_back():
    limit = a_limit()
    assert [limit.spend("a", 0.0) for _ in range(3)] == [0.0, 0.0, 2.0]
    assert limit.spend("a", 1.0) == pytest.approx(1.0)
    assert [limit.spend("a", 2.0), limit.spend("a", 2.0)] == [0.0, 2.0]


def test_one_key_takes_nothing_from_another_until_all_is_spent():
    limit = a_limit()
    assert [limit.spend(key, 0.0) for key in "aabbc"] == [0.0] * 5
    assert limit.spend("d", 0.0) == pytest.approx(1.0)
    assert limit.spend("d", 1.0) == 0.0


def test_a_clock_that_goes_back_gives_nothing():
    limit = a_limit()
    assert [limit.spend("a", 10.0) for _ in range(2)] == [0.0, 0.0]
    assert limit.spend("a", 0.0) > 0
    assert limit.spend("a", 1.0) > 0


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 2)), max_size=60))
def test_no_more_than_burst_and_rate_pass(steps):
    limit, now, passed = a_limit(), 0.0, []
    for key, rest in steps:
        now += rest
        if not limit.spend(key, now):
            passed.append(key)
    for key in "abc":
        assert passed.count(key) <= EACH.burst + EACH.per_second * now + 1e-6
    assert len(passed) <= TOTAL.burst + TOTAL.per_second * now + 1e-6


def test_the_key_that_was_used_longest_ago_is_forgotten():
    limit = KeyedLimit[int](each=Rate(1, 0.001), total=Rate(10 * MOST_KEYS, 1.0))
    for key in range(MOST_KEYS + 1):
        assert limit.spend(key, 0.0) == 0.0
    assert limit.spend(1, 0.0) > 0
    assert limit.spend(0, 0.0) == 0.0


def test_the_first_is_reported_at_once_and_the_others_in_numbers():
    digest = Digest[str](each=Rate(1, 0.1), total=Rate(100, 1.0))
    assert [digest.count("a", 0.0) for _ in range(4)] == [1, 0, 0, 0]
    assert digest.count("b", 1.0) == 1
    assert digest.count("a", 10.0) == 4


def test_what_was_not_reported_is_due_when_its_key_may_report_again():
    digest = Digest[str](each=Rate(1, 0.1), total=Rate(100, 1.0))
    assert [digest.count("a", 0.0) for _ in range(4)] == [1, 0, 0, 0]
    assert [digest.count("b", 5.0) for _ in range(2)] == [1, 0]
    assert digest.due(9.0) == []
    assert digest.due(10.0) == [("a", 3)]
    assert digest.due(10.0) == []
    assert digest.count("a", 11.0) == 0, "the report that was due counts as one"
    assert digest.due(30.0) == [("b", 1), ("a", 1)]


def test_reports_that_are_due_are_bounded_over_all_keys():
    digest = Digest[int](each=Rate(1, 1.0), total=Rate(2, 0.1))
    assert [digest.count(key, 0.0) for key in range(4)] == [1, 1, 0, 0]
    assert digest.due(10.0) == [(2, 1)]
    assert digest.due(20.0) == [(3, 1)]


def test_reports_of_all_keys_are_bounded_and_so_is_what_is_remembered():
    digest = Digest[int](each=Rate(1, 1.0), total=Rate(3, 0.001))
    told = [digest.count(key, 0.0) for key in range(2 * MOST_KEYS)]
    assert sum(told) == 3
    assert digest.count(2 * MOST_KEYS - 1, 10_000.0) == 2
    assert digest.count(4, 10_000.0) == 1, "its number was forgotten"
