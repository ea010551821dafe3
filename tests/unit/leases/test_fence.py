"""The fence, at its edges."""

from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.leases.fence import StampedRecord, Verdict, admit, dated
from streamward.leases.lease import TICK, Grant, Owner
from streamward.model.ids import Generation, SiteId, TenantId
from tests.support.builders import CAMERA, SITE, TENANT, a_grant, an_owner, at

ONE, TWO = an_owner("runner-1"), an_owner("runner-2")
LATER = at(1e6)  # when records usually come to the sink


def stamp(
    generation: int, made_at: datetime, *, owner: Owner = ONE, tenant_id: str = TENANT, site_id: str = SITE
) -> StampedRecord:
    return StampedRecord(
        camera_id=CAMERA,
        generation=Generation(generation),
        owner=owner,
        tenant_id=TenantId(tenant_id),
        site_id=SiteId(site_id),
        made_at=made_at,
    )


def history(*grants: Grant) -> dict[Generation, Grant]:
    return {grant.generation: grant for grant in grants}


def verdict(record: StampedRecord, grants: dict[Generation, Grant], *, now: datetime = LATER) -> Verdict:
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
    early, grant = stamp(1, at(12)), TAKEN_OVER[Generation(1)]
    assert dated(early.made_at, grant, now=at(9)) == at(9)
    assert dated(early.made_at, grant, now=at(13)) == at(12)
    assert verdict(early, TAKEN_OVER, now=at(10) - TICK) is Verdict.LATE
    assert verdict(early, TAKEN_OVER, now=at(10)) is Verdict.REFUSED


def test_what_was_never_granted_is_refused():
    assert verdict(stamp(3, at(11)), TAKEN_OVER) is Verdict.REFUSED
    assert verdict(stamp(1, at(0)), {}) is Verdict.REFUSED


def test_a_record_of_another_tenants_or_sites_camera_is_refused():
    assert verdict(stamp(2, at(11), owner=TWO, tenant_id="other"), TAKEN_OVER) is Verdict.REFUSED
    assert verdict(stamp(2, at(11), owner=TWO, site_id="other"), TAKEN_OVER) is Verdict.REFUSED


RELEASED = history(
    a_grant(1, granted_at=at(0), owner=ONE, ended_at=at(5), made_until=at(6)), a_grant(2, granted_at=at(5) + TICK)
)


@pytest.mark.parametrize(
    ("made_at", "date"), [(at(-3), at(0)), (at(4), at(4)), (at(5), at(5)), (at(5.5), at(5)), (at(6), at(5))]
)
def test_what_an_owner_made_by_its_last_moment_is_dated_inside_its_grant(made_at, date):
    assert verdict(stamp(1, made_at), RELEASED) is Verdict.LATE
    assert dated(made_at, RELEASED[Generation(1)], now=LATER) == date


def test_what_is_stamped_after_the_last_moment_of_a_grant_is_refused_also_while_it_is_the_newest():
    assert verdict(stamp(1, at(6) + TICK), RELEASED) is Verdict.REFUSED
    assert verdict(stamp(1, at(6) + TICK), history(RELEASED[Generation(1)])) is Verdict.REFUSED
    assert verdict(stamp(1, at(6)), history(RELEASED[Generation(1)])) is Verdict.LIVE


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
    st.lists(
        st.tuples(st.integers(1, 5_000_000), st.integers(0, 5_000_000), st.integers(-3_000_000, 3_000_000)),
        min_size=1,
        max_size=6,
    ),
    st.lists(st.tuples(st.integers(1, 7), st.integers(0, 30_000_000), st.integers(0, 40_000_000)), max_size=30),
)
def test_accepted_records_of_two_generations_never_share_a_moment(story, records):
    """Each grant but the last is released some time before the next one, and says until when it made something."""
    grants: dict[Generation, Grant] = {}
    granted_at = at(0)
    for number, (held, idle, lead) in enumerate(story, start=1):
        ended_at = granted_at + timedelta(microseconds=held)
        made_until = ended_at + timedelta(microseconds=lead)
        grants[Generation(number)] = a_grant(number, granted_at=granted_at, ended_at=ended_at, made_until=made_until)
        granted_at = ended_at + timedelta(microseconds=idle) + TICK
    grants[Generation(len(story) + 1)] = a_grant(len(story) + 1, granted_at=granted_at)
    accepted: dict[int, list[datetime]] = {}
    for generation, made, came in records:
        record, now = stamp(generation, at(0) + timedelta(microseconds=made)), at(0) + timedelta(microseconds=came)
        if verdict(record, grants, now=now) is not Verdict.REFUSED:
            date = dated(record.made_at, grants[record.generation], now=now)
            accepted.setdefault(generation, []).append(date)
    ordered = [(min(accepted[number]), max(accepted[number])) for number in sorted(accepted)]
    assert all(earlier[1] < later[0] for earlier, later in pairwise(ordered))
