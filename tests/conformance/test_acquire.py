"""Acquiring one named camera, on every driver."""

from dataclasses import replace

import pytest

from streamward.leases.lease import TICK, DenialReason, Denied, Lease, SessionState
from streamward.leases.store import Claim, Granted
from streamward.model.camera import LeasePolicyName
from streamward.model.ids import CameraId, Generation
from streamward.model.runner import DrainMode
from tests.support.builders import CAMERA, START, TENANT, a_camera, a_site, a_spec, an_owner, at
from tests.support.fleet import (
    change_runner,
    named,
    remove_camera,
    renew,
    take,
    with_a_watched_clock,
    with_cameras,
    with_runners,
)
from tests.support.stores import World

ONE, TWO = an_owner("runner-1"), an_owner("runner-2")
HELD = Denied(DenialReason.HELD)


def claim(owner=ONE, camera_id=CAMERA, ttl=None) -> Claim:
    return Claim(owner=owner, camera_id=CameraId(camera_id), ttl=ttl)


async def test_a_free_camera_is_granted_with_its_camera_and_the_time(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    granted = await world.store.acquire(claim())
    lease = Lease(
        camera_id=CAMERA,
        generation=Generation(1),
        owner=ONE,
        state=SessionState.ACTIVE,
        ttl=8.0,
        granted_at=START + TICK,
        expires_at=at(8),
    )
    assert granted == Granted(leases=((lease, replace(a_camera(), revision=1)),), at=START, changed=(CAMERA,))
    assert await world.store.find(CAMERA) == lease


async def test_a_repeated_acquire_keeps_the_generation_and_extends(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    first = await take(world.store, ONE)
    await world.advance(3)
    again = await world.store.acquire(claim(ttl=9.0))
    assert isinstance(again, Granted)
    assert (again.changed, again.leases[0][0].expires_at) == ((), at(12))
    assert again.leases[0][0].generation == first.generation
    assert len(await world.store.history(CAMERA)) == 1


async def test_a_fresh_lease_is_denied_to_others(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE, TWO)
    await with_a_watched_clock(world)
    await take(world.store, ONE)
    await world.advance(7.9)
    assert await world.store.acquire(claim(TWO)) == HELD


async def test_an_expired_lease_goes_to_the_next_in_the_next_generation(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE, TWO)
    await with_a_watched_clock(world)
    await take(world.store, ONE)
    await world.advance(8)
    taken = await take(world.store, TWO)
    assert (taken.generation, taken.owner) == (2, TWO)
    assert [grant.owner for grant in await world.store.history(CAMERA)] == [ONE, TWO]


async def test_a_control_plane_judges_nothing_for_one_ttl_after_its_start(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE, TWO)
    await take(world.store, ONE)
    await world.advance(100)
    async with world.another() as fresh:
        assert await fresh.acquire(claim(TWO)) == HELD
        await world.advance(7.9)
        assert await fresh.acquire(claim(TWO)) == HELD
        await world.advance(0.1)
        assert (await take(fresh, TWO)).generation == 2


async def test_a_control_plane_that_did_not_look_for_a_while_judges_as_if_just_started(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE, TWO)
    await with_a_watched_clock(world)
    await take(world.store, ONE)
    await world.sleep(100)
    assert await world.store.acquire(claim(TWO)) == HELD
    await world.advance(7.9)
    assert await world.store.acquire(claim(TWO)) == HELD
    await world.advance(0.1)
    assert (await take(world.store, TWO)).generation == 2


@pytest.mark.parametrize("seconds", [3600.0, 1.1, -1.1, -3600.0])
async def test_a_step_of_the_database_clock_expires_nothing_for_one_ttl(world: World, seconds):
    await with_cameras(world.store)
    await with_runners(world.store, ONE, TWO)
    await with_a_watched_clock(world)
    lease = await take(world.store, ONE)
    await world.step_database_clock(seconds)
    assert await world.store.acquire(claim(TWO)) == HELD
    await world.advance(7.9)
    assert await world.store.acquire(claim(TWO)) == HELD
    assert (await renew(world.store, ONE, lease)).lost == ()


async def test_a_step_within_the_tolerance_is_no_step(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE, TWO)
    await with_a_watched_clock(world)
    await take(world.store, ONE)
    await world.advance(7.5)
    await world.step_database_clock(0.9)
    assert (await take(world.store, TWO)).generation == 2


async def test_what_expires_further_ahead_than_a_clock_could_say_is_expired(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE, TWO)
    await with_a_watched_clock(world)
    old = await take(world.store, ONE)
    await world.step_database_clock(-3600)
    assert await world.store.acquire(claim(TWO)) == HELD
    await world.advance(8)
    new = await take(world.store, TWO)
    assert new.granted_at > old.expires_at, "dated after all that the former owner may have stamped"
    assert new.expires_at == world.clock.ago(-8)


async def test_no_release_dates_the_next_grant_ahead(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE, TWO)
    await take(world.store, ONE)
    await world.advance(1)
    await world.store.release(ONE, [named()])
    taken = await take(world.store, TWO)
    assert taken.granted_at == at(1) + TICK
    [first, second] = await world.store.history(CAMERA)
    assert (first.ended_at, first.made_until) == (at(1), at(1))
    assert (second.granted_at, second.ended_at, second.made_until) == (at(1) + TICK, None, None)


async def test_inside_its_soft_window_a_camera_is_its_owners(world: World):
    await with_cameras(world.store)
    await world.store.save_site(a_site(policy=LeasePolicyName.STICKY))
    await with_runners(world.store, ONE, TWO)
    await with_a_watched_clock(world)
    await take(world.store, ONE)
    await world.advance(599)
    assert await world.store.acquire(claim(TWO)) == Denied(DenialReason.SOFT_WINDOW)
    await world.advance(1)
    assert (await take(world.store, TWO)).generation == 2


async def test_generations_go_on_over_release_deletion_and_re_creation(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    for generation in (1, 2, 3):
        assert (await take(world.store, ONE)).generation == generation
        await world.store.release(ONE, [named()])
        await remove_camera(world.store, CAMERA, scope=None)
        assert await world.store.acquire(claim()) == Denied(DenialReason.CAMERA_UNKNOWN)
        await with_cameras(world.store)
    assert [grant.generation for grant in await world.store.history(CAMERA)] == [1, 2, 3]


async def test_a_re_created_camera_is_withdrawn_from_its_owner_and_free_once_that_released(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE, TWO)
    await with_a_watched_clock(world)
    lease = await take(world.store, ONE)
    await world.advance(1)
    await remove_camera(world.store, CAMERA, scope=None)
    removed_at = await world.store.ping()
    await with_cameras(world.store, tenant="other", site="other-site")
    assert (await renew(world.store, ONE, lease)).lost == (CAMERA,)
    for owner in (ONE, TWO):
        assert await world.store.acquire(claim(owner)) == HELD
    assert await world.store.release(ONE, [named(generation=lease.generation)]) == (CAMERA,)
    taken = await take(world.store, TWO)
    assert taken.generation == lease.generation + 1
    withdrawn, granted = (await world.store.history(CAMERA))[-2:]
    assert (withdrawn.ended_at, withdrawn.made_until) == (removed_at, removed_at)
    assert (withdrawn.tenant_id, granted.tenant_id, granted.site_id) == (TENANT, "other", "other-site")


@pytest.mark.parametrize("policy", [LeasePolicyName.FAST, LeasePolicyName.STICKY])
async def test_a_withdrawn_camera_whose_owner_is_gone_is_free_when_its_ttl_is_over(world, policy):
    await with_cameras(world.store)
    await world.store.register(a_spec(ONE, policy=policy))
    await with_runners(world.store, TWO)
    await with_a_watched_clock(world)
    lease = await take(world.store, ONE)
    await remove_camera(world.store, CAMERA, scope=None)
    await with_cameras(world.store)
    await world.advance(lease.ttl - 0.1)
    assert await world.store.acquire(claim(TWO)) == HELD
    await world.advance(0.2)
    assert (await take(world.store, TWO)).generation == lease.generation + 1


async def test_a_full_runner_does_not_get_back_what_was_withdrawn_from_it(world: World):
    await with_cameras(world.store, "cam-1", "cam-2")
    await world.store.register(a_spec(ONE, capacity=1))
    await with_a_watched_clock(world)
    lease = await take(world.store, ONE, "cam-1")
    await remove_camera(world.store, CameraId("cam-1"), scope=None)
    await with_cameras(world.store, "cam-1", "cam-2")
    await world.advance(lease.ttl + 0.1)
    await world.store.lapse()
    await take(world.store, ONE, "cam-2")
    assert await world.store.acquire(claim(camera_id="cam-1")) == Denied(DenialReason.NO_CAPACITY)


async def test_a_full_runner_gets_nothing_new(world: World):
    await with_cameras(world.store, "cam-1", "cam-2")
    await world.store.register(a_spec(ONE, capacity=1))
    await take(world.store, ONE, "cam-1")
    assert await world.store.acquire(claim(camera_id="cam-2")) == Denied(DenialReason.NO_CAPACITY)
    assert (await take(world.store, ONE, "cam-1")).generation == 1


async def test_an_orphan_takes_no_slot(world: World):
    await with_cameras(world.store, "cam-1", "cam-2")
    await world.store.register(a_spec(ONE, capacity=1))
    await with_a_watched_clock(world)
    await take(world.store, ONE, "cam-1")
    await world.advance(9)
    await world.store.lapse()
    assert (await take(world.store, ONE, "cam-2")).generation == 1


@pytest.mark.parametrize("change", [{"cordoned": True}, {"drain": DrainMode.SOFT}])
async def test_a_cordoned_or_draining_runner_keeps_what_it_has_and_gets_nothing_new(world: World, change):
    await with_cameras(world.store, "cam-1", "cam-2")
    await with_runners(world.store, ONE)
    await take(world.store, ONE, "cam-1")
    await change_runner(world.store, "runner-1", **change)
    assert await world.store.acquire(claim(camera_id="cam-2")) == Denied(DenialReason.RUNNER_CORDONED)
    assert (await take(world.store, ONE, "cam-1")).generation == 1


@pytest.mark.parametrize(
    ("camera", "reason"),
    [
        (a_camera("cam-2"), DenialReason.CAMERA_UNKNOWN),
        (a_camera(tenant="tenant-2"), DenialReason.CAMERA_UNKNOWN),
        (a_camera(site="site-2"), DenialReason.SITE_MISMATCH),
        (a_camera(enabled=False), DenialReason.CAMERA_NOT_WANTED),
        (a_camera(do_not_process=True), DenialReason.CAMERA_NOT_WANTED),
    ],
)
async def test_a_camera_that_is_not_for_the_runner_is_denied(world: World, camera, reason):
    await world.store.save_camera(camera)
    await world.store.register(a_spec(ONE, site="site-1", tenant="tenant-1"))
    assert await world.store.acquire(claim()) == Denied(reason)
    assert await world.store.history(CAMERA) == []


async def test_only_the_current_incarnation_of_a_known_runner_acquires(world: World):
    await with_cameras(world.store)
    ended = Denied(DenialReason.INCARNATION_ENDED)
    assert await world.store.acquire(claim()) == ended
    await with_runners(world.store, ONE, an_owner("runner-1", incarnation="inc-2"))
    assert await world.store.acquire(claim()) == ended
    newest = an_owner("runner-1", incarnation="inc-2")
    assert (await take(world.store, newest)).owner == newest


async def test_a_late_acquire_behind_the_end_of_its_incarnation_gets_nothing(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    assert await world.store.end(ONE) == ()
    assert await world.store.acquire(claim()) == Denied(DenialReason.INCARNATION_ENDED)
    assert await world.store.history(CAMERA) == []


async def test_a_new_grant_of_a_paused_camera_is_active(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE, TWO)
    await with_a_watched_clock(world)
    await take(world.store, ONE)
    await world.pause(CAMERA)
    assert (await take(world.store, ONE)).state is SessionState.PAUSED
    await world.advance(8)
    assert (await take(world.store, TWO)).state is SessionState.ACTIVE
