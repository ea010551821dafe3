"""Expiry, orphans and reclaim, on every driver."""

import pytest

from streamward.leases.lease import SessionState
from streamward.leases.store import Lapse, LeaseCounts, Orphan
from streamward.model.camera import LeasePolicyName
from streamward.model.ids import CameraId, Generation
from tests.support.builders import CAMERA, SITE, a_site, an_owner
from tests.support.fleet import LONG, remove_camera, take, with_a_watched_clock, with_cameras, with_runners
from tests.support.stores import World

ONE, TWO = an_owner("runner-1"), an_owner("runner-2")
FIRST = Generation(1)


async def with_a_sticky_lease(world: World) -> None:
    await world.store.save_site(a_site(policy=LeasePolicyName.STICKY))
    await with_cameras(world.store)
    await with_runners(world.store, ONE, TWO)
    await with_a_watched_clock(world)
    await take(world.store, ONE)


async def test_what_expired_is_marked_once(world: World):
    await with_cameras(world.store, "cam-1", "cam-2")
    await with_runners(world.store, ONE)
    await with_a_watched_clock(world)
    await take(world.store, ONE, "cam-1")
    await take(world.store, ONE, "cam-2", ttl=30)
    await world.advance(8)
    expected = Lapse(orphaned=(CameraId("cam-1"),), next_expiry_in=22.0, clock_jumped=False)
    assert await world.store.lapse() == expected
    assert await world.store.lapse() == Lapse(orphaned=(), next_expiry_in=22.0, clock_jumped=False)
    assert await world.store.counts() == LeaseCounts(leased=1, free=0, orphaned=1)


async def test_a_paused_lease_expires_too(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    await with_a_watched_clock(world)
    await take(world.store, ONE)
    await world.pause(CAMERA)
    await world.advance(8)
    assert (await world.store.lapse()).orphaned == (CAMERA,)


async def test_without_leases_there_is_no_next_expiry(world: World):
    await with_cameras(world.store)
    assert await world.store.lapse() == Lapse(orphaned=(), next_expiry_in=None, clock_jumped=False)


async def test_after_its_start_a_control_plane_marks_nothing_for_one_ttl(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    await take(world.store, ONE)
    await world.advance(LONG)
    async with world.another() as fresh:
        assert (await fresh.lapse()).orphaned == ()
        await world.advance(7.9)
        assert (await fresh.lapse()).orphaned == ()
        await world.advance(0.1)
        assert (await fresh.lapse()).orphaned == (CAMERA,)


@pytest.mark.parametrize("seconds", [3600.0, -3600.0])
async def test_a_step_of_the_clock_is_noticed_and_marks_nothing_for_one_ttl(world: World, seconds):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    await with_a_watched_clock(world)
    await take(world.store, ONE)
    await world.step_database_clock(seconds)
    lapse = await world.store.lapse()
    assert (lapse.clock_jumped, lapse.orphaned) == (True, ())
    await world.advance(7.9)
    assert (await world.store.lapse()).orphaned == ()
    await world.advance(0.1)
    lapse = await world.store.lapse()
    assert (lapse.clock_jumped, lapse.orphaned) == (False, (CAMERA,))


async def test_orphans_are_the_expired_leases_with_a_soft_window(world: World):
    await with_a_sticky_lease(world)
    await with_cameras(world.store, "cam-2", site="site-2")
    await take(world.store, TWO, "cam-2")
    await world.advance(90)
    assert set((await world.store.lapse()).orphaned) == {"cam-1", "cam-2"}
    now = world.clock.wall()
    assert await world.store.orphans() == [
        Orphan(camera_id=CAMERA, generation=FIRST, site_id=SITE, expires_at=now, soft_for=510.0)
    ]


async def test_an_orphan_of_a_deleted_camera_is_nobodys_concern(world: World):
    await with_a_sticky_lease(world)
    await world.advance(90)
    await world.store.lapse()
    await remove_camera(world.store, CAMERA, scope=None)
    assert await world.store.orphans() == []


async def test_reclaim_frees_exactly_the_expired_grant_that_it_names(world: World):
    await with_a_sticky_lease(world)
    assert not await world.store.reclaim(CAMERA, FIRST), "not expired"
    await world.advance(90)
    await world.store.lapse()
    assert not await world.store.reclaim(CAMERA, Generation(2))
    assert not await world.store.reclaim(CameraId("cam-9"), FIRST)
    assert await world.store.reclaim(CAMERA, FIRST)
    assert not await world.store.reclaim(CAMERA, FIRST), "nobody's any more"
    found = await world.store.find(CAMERA)
    assert found is not None
    assert (found.owner, found.state, found.not_before) == (None, SessionState.PENDING, found.expires_at)


async def test_what_was_reclaimed_can_be_acquired_inside_the_soft_window(world: World):
    await with_a_sticky_lease(world)
    await world.advance(91)
    await world.store.reclaim(CAMERA, FIRST)
    assert (await take(world.store, TWO)).generation == 2


async def test_reclaim_does_not_trust_a_clock_that_jumped(world: World):
    await with_a_sticky_lease(world)
    await world.step_database_clock(3600)
    assert not await world.store.reclaim(CAMERA, FIRST)


async def test_what_is_not_known_has_no_lease_and_no_history(world: World):
    assert await world.store.find(CAMERA) is None
    assert await world.store.history(CAMERA) == []
    assert await world.store.counts() == LeaseCounts(leased=0, free=0, orphaned=0)
