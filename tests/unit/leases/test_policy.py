"""Timings: what is trusted, what is refused, which policy applies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.leases.policy import (
    BY_NAME,
    FAST,
    FASTER,
    LONGEST_TTL,
    SHORTEST_TTL,
    STICKY,
    TASK,
    Policy,
    Terms,
    TimingsContradict,
    applied,
    check_timings,
    renewal_interval,
    trusted_for,
)
from streamward.model.camera import LeasePolicyName

DRIFT = 0.05


def test_the_four_policies_are_those_of_the_design():
    assert (FAST.ttl, FAST.renew_every, FAST.soft_until) == (8.0, 2.0, 0.0)
    assert (FASTER.ttl, FASTER.renew_every, FASTER.soft_until) == (3.0, 0.5, 0.0)
    assert (STICKY.ttl, STICKY.renew_every, STICKY.soft_until) == (90.0, 10.0, 600.0)
    assert (TASK.ttl, TASK.renew_every, TASK.soft_until) == (15.0, 5.0, 0.0)
    assert set(BY_NAME) == set(LeasePolicyName)


def test_a_grant_carries_the_policys_terms_or_the_ttl_that_its_client_asked_for():
    assert STICKY.terms() == Terms(ttl=90.0, soft_for=510.0)
    assert STICKY.terms(30.0) == Terms(ttl=30.0, soft_for=570.0)
    assert STICKY.terms(900.0) == Terms(ttl=900.0, soft_for=0.0)


def test_a_site_with_a_policy_overrides_the_runners():
    assert applied(runner=LeasePolicyName.FAST, site=None) is FAST
    assert applied(runner=LeasePolicyName.FAST, site=LeasePolicyName.STICKY) is STICKY


def test_timings_under_which_one_lost_renewal_costs_the_lease_are_refused_with_both_named():
    check_timings(ttl=8.0, renew_every=2.85)
    with pytest.raises(TimingsContradict) as refused:
        check_timings(ttl=8.0, renew_every=2.86)
    assert str(refused.value) == (
        "lease ttl 8 s is trusted for 6.7 s, but renewing every 2.86 s needs 6.72 s: raise the ttl or renew more often"
    )


def test_no_policy_can_be_made_of_such_timings():
    with pytest.raises(TimingsContradict):
        Policy(name=LeasePolicyName.FAST, ttl=4.0, renew_every=2.0)


@given(st.floats(SHORTEST_TTL, LONGEST_TTL))
def test_the_interval_that_a_ttl_needs_fits_it(ttl):
    check_timings(ttl=ttl, renew_every=renewal_interval(trusted_for(ttl)))


def test_leases_of_the_policies_are_renewed_as_often_as_these_say_or_more_often():
    assert renewal_interval(trusted_for(FASTER.ttl)) == pytest.approx(FASTER.renew_every)
    assert renewal_interval(trusted_for(FAST.ttl)) > FAST.renew_every


@given(st.floats(SHORTEST_TTL, LONGEST_TTL))
def test_an_owner_whose_clock_runs_slow_stops_before_a_store_whose_clock_runs_fast(ttl):
    true_seconds_until_owner_stops = trusted_for(ttl) / (1 - DRIFT)
    true_seconds_until_store_expires = ttl / (1 + DRIFT)
    assert true_seconds_until_owner_stops < true_seconds_until_store_expires
