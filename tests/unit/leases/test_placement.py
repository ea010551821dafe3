"""Which free cameras a runner gets."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.leases.placement import ASKS_WITHIN, FreeCamera, Slots, choose, is_rival, is_under_pressure, share
from streamward.model.ids import CameraId, RunnerId, SiteId, TenantId
from tests.support.builders import a_runner, at


def free(camera_id: str, *, site: str = "site-1", since: float = 0) -> FreeCamera:
    return FreeCamera(camera_id=CameraId(camera_id), site_id=SiteId(site), free_since=at(since))


def chosen(*cameras: FreeCamera, served: frozenset[SiteId] = frozenset(), limit: int = 100) -> list[str]:
    return [camera.camera_id for camera in choose(cameras, served=served, limit=limit)]


def test_the_longest_free_goes_first_so_that_nobody_starves():
    assert chosen(free("a", since=2), free("b", since=1), free("c", since=3)) == ["b", "a", "c"]


def test_among_equals_the_sites_that_the_runner_serves_go_first():
    cameras = free("a", site="far"), free("b", site="near"), free("c", site="near")
    assert chosen(*cameras, served=frozenset({SiteId("near")})) == ["b", "c", "a"]


def test_then_site_by_site_and_by_id():
    assert chosen(free("c"), free("b", site="site-2"), free("a")) == ["a", "c", "b"]


@pytest.mark.parametrize(("limit", "count"), [(-1, 0), (0, 0), (1, 1), (9, 3)])
def test_no_more_than_the_limit(limit, count):
    assert len(chosen(free("a"), free("b"), free("c"), limit=limit)) == count


@given(st.sets(st.integers(0, 99)), st.integers(), st.integers(0, 100))
def test_the_order_in_which_cameras_are_told_does_not_matter(numbers, seed, limit):
    cameras = [free(f"cam-{n}", site=f"site-{n % 3}", since=n % 5) for n in sorted(numbers)]
    shuffled = Random(seed).sample(cameras, len(cameras))
    assert chosen(*shuffled, limit=limit) == chosen(*cameras, limit=limit)


def slots(*held: int, capacity: int = 40) -> list[Slots]:
    return [Slots(each, capacity) for each in held]


@pytest.mark.parametrize(("cameras", "others", "each"), [(0, 2, 0), (9, 2, 3), (10, 2, 4), (5, 0, 5), (1, 8, 1)])
def test_free_cameras_spread_over_those_who_ask(cameras, others, each):
    assert share(Slots(0, 40), slots(*[0] * others), free=cameras) == each


@pytest.mark.parametrize(("mine", "others", "free", "share_of_it"), [(6, [0], 4, 0), (0, [6], 4, 4), (2, [4, 0], 6, 2)])
def test_those_who_have_fewest_come_first(mine, others, free, share_of_it):
    assert share(Slots(mine, 40), slots(*others), free=free) == share_of_it


def test_what_the_others_have_no_room_for_is_in_the_share():
    assert share(Slots(0, 40), [Slots(0, 2), Slots(3, 1)], free=12) == 10
    assert share(Slots(5, 8), slots(0, capacity=1), free=12) == 3, "all that there is room for"


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1), st.integers(0, 100))
def test_all_shares_together_are_everything_that_there_is_room_for(known, free):
    runners = [Slots(held, capacity) for held, capacity in known]
    shares = [share(mine, runners[:place] + runners[place + 1 :], free=free) for place, mine in enumerate(runners)]
    assert sum(shares) >= min(free, sum(max(0, each.capacity - each.held) for each in runners))


@given(st.lists(st.integers(0, 20), min_size=1), st.integers(0, 100))
def test_all_who_take_their_share_end_up_level_and_nobody_is_below_them(held, free):
    runners = slots(*held, capacity=200)
    shares = [share(mine, runners[:place] + runners[place + 1 :], free=free) for place, mine in enumerate(runners)]
    level = max((mine + taken for mine, taken in zip(held, shares, strict=True) if taken), default=0)
    assert all(mine + taken == level or mine > level for mine, taken in zip(held, shares, strict=True) if level)


OTHER = replace(a_runner(), runner_id=RunnerId("runner-2"))


@pytest.mark.parametrize(
    ("change", "is_one"),
    [
        ({}, True),
        ({"runner_id": "runner-1"}, False),
        ({"incarnation": None}, False),
        ({"cordoned": True}, False),
        ({"last_seen_at": at(-ASKS_WITHIN - 0.1)}, False),
        ({"site_id": "site-1"}, True),
        ({"site_id": "site-2"}, False),
        ({"tenant_id": "tenant-1"}, True),
        ({"tenant_id": "tenant-2"}, False),
    ],
)
def test_a_rival_asks_now_for_what_the_runner_asks_for(change, is_one):
    runner = replace(a_runner(), site_id=SiteId("site-1"), tenant_id=TenantId("tenant-1"))
    assert is_rival(replace(OTHER, **change), runner, lapsed=0, now=at(0)) is is_one
    assert not is_rival(replace(OTHER, **change), runner, lapsed=1, now=at(0))


def test_who_serves_every_site_and_tenant_is_everybodys_rival():
    other = replace(OTHER, site_id=SiteId("site-2"), tenant_id=TenantId("tenant-2"))
    assert is_rival(other, a_runner(), lapsed=0, now=at(0))


def test_a_site_is_under_pressure_when_it_needs_more_than_its_runners_can_take():
    assert is_under_pressure(unowned=3, free_slots=2)
    assert not is_under_pressure(unowned=2, free_slots=2)
