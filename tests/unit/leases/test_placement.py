"""Which free cameras a runner gets."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.leases.placement import FreeCamera, choose, is_under_pressure, share
from streamward.model.ids import CameraId, SiteId
from tests.support.builders import at


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


@pytest.mark.parametrize(("cameras", "runners", "each"), [(0, 3, 0), (9, 3, 3), (10, 3, 4), (5, 0, 5), (1, 9, 1)])
def test_free_cameras_spread_over_those_who_ask(cameras, runners, each):
    assert share(free=cameras, runners=runners) == each


def test_a_site_is_under_pressure_when_it_needs_more_than_its_runners_can_take():
    assert is_under_pressure(unowned=3, free_slots=2)
    assert not is_under_pressure(unowned=2, free_slots=2)
