"""The fence, at its edges."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.leases.fence import Stamp, Verdict, admit, dated
from streamward.leases.lease import TICK, Grant, Owner
from streamward.model.ids import Generation
from tests.support.builders import CAMERA, a_grant, an_owner, at

ONE, TWO = an_owner("runner-1"), an_owner("runner-2")
LATER = at(1e6)  # when records usually come to the sink


def stamp(generation: int, made_at: datetime, *, owner: Owner = ONE) -> Stamp:
    return Stamp(camera_id=CAMERA, generation=Generation(generation), owner=owner, made_at=made_at)


def history(*grants: Grant) -> dict[Generation, Grant]:
    return {grant.generation: grant for grant in grants}


def verdict(record: Stamp, grants: dict[Generation, Grant], *, now: datetime = LATER) -> Verdict:
    return admit(record, grants, now=now)


TAKEN_OVER = history(a_grant(1, granted_at=at(0), owner=ONE), a_grant(2, granted_at=at(10), owner=TWO))


def test_what_the_newest_owner_makes_is_live_whenever_it_says_it_was_made():
    for made_at in (at(-5), at(10), at(1e6)):
        assert verdict(stamp(2, made_at, owner=TWO), TAKEN_OVER) is Verdict.LIVE


@pytest.mark.parametrize(
    ("made_at", "expected"),
    [(at(10) - TICK, Verdict.LATE), (at(10), Verdict.REFUSED), (at(10) + TICK, Verdict.REFUSED)],
)
def test_the_next_grant_is_the_first_moment_that_is_refused(made_at, expected):
    assert verdict(stamp(1, made_at), TAKEN_OVER) is expected


def test_a_date_that_leads_the_sinks_clock_is_taken_back_to_it():
    early = stamp(1, at(12))
    assert dated(early, now=at(9)) == at(9)
    assert dated(early, now=at(13)) == at(12)
    assert verdict(early, TAKEN_OVER, now=at(10) - TICK) is Verdict.LATE
    assert verdict(early, TAKEN_OVER, now=at(10)) is Verdict.REFUSED


def test_what_was_never_granted_is_refused():
    assert verdict(stamp(3, at(11)), TAKEN_OVER) is Verdict.REFUSED
    assert verdict(stamp(1, at(0)), {}) is Verdict.REFUSED


@pytest.mark.parametrize("owner", [TWO, an_owner("runner-1", incarnation="inc-2")])
def test_a_record_in_somebody_elses_generation_is_refused(owner):
    assert verdict(stamp(1, at(5), owner=owner), TAKEN_OVER) is Verdict.REFUSED


def test_generations_are_numbers_not_texts():
    grants = history(*(a_grant(n, granted_at=at(n)) for n in range(1, 11)))
    assert verdict(stamp(10, at(10)), grants) is Verdict.LIVE
    assert verdict(stamp(9, at(10)), grants) is Verdict.REFUSED
    assert verdict(stamp(9, at(9.5)), grants) is Verdict.LATE


def test_only_the_next_grant_decides():
    grants = history(*(a_grant(n, granted_at=at(10 * n)) for n in (1, 2, 3)))
    assert verdict(stamp(1, at(25)), grants) is Verdict.REFUSED
    assert verdict(stamp(2, at(25)), grants) is Verdict.LATE


@given(
    st.lists(st.integers(1, 5_000_000), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(1, 7), st.integers(0, 30_000_000)), max_size=30),
)
def test_accepted_records_of_two_generations_never_share_a_moment(gaps, records):
    moments = [at(0) + timedelta(microseconds=sum(gaps[:n])) for n in range(len(gaps) + 1)]
    grants = history(*(a_grant(n + 1, granted_at=moment) for n, moment in enumerate(moments)))
    accepted = [
        (generation, made_at)
        for generation, offset in records
        if verdict(stamp(generation, made_at := at(0) + timedelta(microseconds=offset)), grants) is not Verdict.REFUSED
    ]
    for generation, made_at in accepted:
        later = [grant for number, grant in grants.items() if number > generation]
        assert all(made_at < grant.granted_at for grant in later)
