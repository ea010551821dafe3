"""Keeping leases and giving them back, on every driver."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from streamward.leases.lease import DenialReason, Denied, SessionState
from streamward.leases.store import Claim, Granted, Kept, Named, OpenClaim, Renewal, Renewed
from streamward.model.camera import LeasePolicyName
from streamward.model.ids import CameraId, Generation
from tests.support.builders import CAMERA, START, a_camera, a_spec, an_owner, at
from tests.support.fleet import (
    kept,
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


async def test_a_renewal_extends_each_lease_by_its_own_ttl(world: World):
    await with_cameras(world.store, "cam-1", "cam-2")
    await with_runners(world.store, ONE)
    first, second = await take(world.store, ONE, "cam-1"), await take(world.store, ONE, "cam-2", ttl=30)
    await world.advance(5)
    outcome = await renew(world.store, ONE, first, second)
    assert outcome == Renewed(at=at(5), kept=(kept(first), kept(second, ttl=30.0)), lost=(), busy=(), unlisted=())
    renewed = await world.store.find(second.camera_id)
    assert renewed is not None
    assert (renewed.generation, renewed.expires_at) == (1, at(35))


async def test_a_renewal_may_ask_for_another_ttl(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    lease = await take(world.store, ONE)
    assert (await renew(world.store, ONE, lease, ttl=20)).kept == (kept(lease, ttl=20.0),)


async def test_no_renewal_shortens_a_ttl(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    lease = await take(world.store, ONE, ttl=20)
    assert (await renew(world.store, ONE, lease, ttl=5)).kept == (kept(lease, ttl=20.0),)


async def test_a_late_renewal_of_an_untaken_lease_is_kept_in_its_generation(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    await with_a_watched_clock(world)
    lease = await take(world.store, ONE)
    await world.advance(100)
    assert (await world.store.lapse()).orphaned == (CAMERA,)
    assert (await renew(world.store, ONE, lease)).kept == (kept(lease),)
    found = await world.store.find(CAMERA)
    assert found is not None
    assert (found.state, found.generation) == (SessionState.ACTIVE, 1)


async def test_a_late_renewal_cannot_revive_a_superseded_lease(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE, TWO)
    await with_a_watched_clock(world)
    old = await take(world.store, ONE)
    await world.advance(9)
    await take(world.store, TWO)
    assert (await renew(world.store, ONE, old)).lost == (CAMERA,)
    await world.store.release(TWO, [named()])
    newer = await take(world.store, ONE)
    assert (await renew(world.store, ONE, old)).lost == (CAMERA,), "its own camera, but an older grant"
    assert (await renew(world.store, ONE, newer)).kept == (kept(newer),)


async def test_a_renewal_without_a_generation_means_whatever_the_owner_holds(world: World):
    await with_cameras(world.store, "cam-1", "cam-2")
    await with_runners(world.store, ONE)
    await take(world.store, ONE, "cam-1")
    outcome = await world.store.renew(Renewal(owner=ONE, leases=(named("cam-1"), named("cam-2"), named("cam-9"))))
    assert isinstance(outcome, Renewed)
    assert outcome.kept == (Kept(CameraId("cam-1"), Generation(1), 8.0),)
    assert outcome.lost == ("cam-2", "cam-9")


async def test_a_renewal_lists_what_the_owner_holds_but_did_not_name(world: World):
    await with_cameras(world.store, "cam-1", "cam-2")
    await with_runners(world.store, ONE)
    first, _ = await take(world.store, ONE, "cam-1"), await take(world.store, ONE, "cam-2")
    assert (await renew(world.store, ONE, first)).unlisted == (Named(CameraId("cam-2"), Generation(1)),)
    assert len((await renew(world.store, ONE)).unlisted) == 2


async def test_a_lease_named_twice_is_answered_twice(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    lease = await take(world.store, ONE)
    outcome = await world.store.renew(Renewal(owner=ONE, leases=(named(generation=1), named(generation=7), named())))
    assert isinstance(outcome, Renewed)
    assert (outcome.kept, outcome.lost) == ((kept(lease), kept(lease)), (CAMERA,))


@pytest.mark.parametrize("change", [{"enabled": False}, {"do_not_process": True}])
async def test_the_lease_of_a_camera_that_is_no_longer_wanted_is_lost(world: World, change):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    lease = await take(world.store, ONE)
    await world.store.save_camera(a_camera(**change))
    assert (await renew(world.store, ONE, lease)).lost == (CAMERA,)
    await with_cameras(world.store)
    assert (await renew(world.store, ONE, lease)).lost == (CAMERA,), "whatever becomes of the camera"
    [grant] = await world.store.history(CAMERA)
    assert (grant.ended_at, grant.made_until) == (grant.granted_at, START)


@pytest.mark.parametrize("change", [{"site": "site-2"}, {"tenant": "tenant-2"}])
async def test_the_lease_of_a_camera_that_moves_to_another_tenant_or_site_is_lost(world: World, change):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    lease = await take(world.store, ONE)
    await with_cameras(world.store, **change)
    assert (await renew(world.store, ONE, lease)).lost == (CAMERA,)


async def test_a_change_that_leaves_a_camera_to_its_owner_ends_nothing(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    lease = await take(world.store, ONE)
    await world.store.save_camera(replace(a_camera(), rtsp_url="rtsp://192.0.2.2/other", max_fps=3.0))
    assert (await renew(world.store, ONE, lease)).kept == (kept(lease),)


@pytest.mark.parametrize(("echo", "fits"), [(None, True), (0, True), (-0.001, False), (9, True), (9.001, False)])
async def test_a_lease_is_extended_only_for_an_owner_that_receives_answers(world: World, echo, fits):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    lease = await take(world.store, ONE)
    await world.sleep(8)
    told = None if echo is None else at(echo)
    outcome = await world.store.renew(Renewal(owner=ONE, leases=(named(),), echo=told))
    assert isinstance(outcome, Renewed)
    assert (outcome.kept, outcome.busy) == (((kept(lease),), ()) if fits else ((), (CAMERA,)))
    again = await world.store.acquire(Claim(owner=ONE, camera_id=CAMERA, echo=told))
    assert isinstance(again, Granted) if fits else again == Denied(DenialReason.BUSY)


@pytest.mark.parametrize(("echo", "fits"), [(None, True), (0, True), (-0.001, False), (9, True), (9.001, False)])
async def test_a_claim_that_was_long_on_its_way_is_given_nothing(world: World, echo, fits):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    await world.sleep(8)
    told = None if echo is None else at(echo)
    claims = [
        await world.store.acquire(Claim(owner=ONE, camera_id=CAMERA, echo=told)),
        await world.store.acquire_free(OpenClaim(owner=ONE, limit=1, echo=told)),
    ]
    assert [each == Denied(DenialReason.BUSY) for each in claims] == [not fits, not fits]


async def test_the_lease_of_a_deleted_camera_is_lost(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    lease = await take(world.store, ONE)
    await remove_camera(world.store, CAMERA, scope=None)
    assert (await renew(world.store, ONE, lease)).lost == (CAMERA,)
    found = await world.store.find(CAMERA)
    assert found is not None
    assert found.state is SessionState.TERMINATED


async def test_an_ended_incarnation_renews_nothing_but_may_release(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    await take(world.store, ONE)
    await with_runners(world.store, an_owner("runner-1", incarnation="inc-2"))
    ended = Denied(DenialReason.INCARNATION_ENDED)
    assert await world.store.renew(Renewal(owner=ONE, leases=(named(),))) == ended
    assert await world.store.release(ONE, [named()]) == (CAMERA,)


async def test_a_paused_lease_stays_paused_when_it_is_renewed(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    lease = await take(world.store, ONE)
    await world.pause(CAMERA)
    await renew(world.store, ONE, lease)
    found = await world.store.find(CAMERA)
    assert found is not None
    assert found.state is SessionState.PAUSED


async def test_a_renewal_after_the_clock_went_back_raises_the_floor_of_the_next_grant(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE, TWO)
    lease = await take(world.store, ONE)
    await world.step_database_clock(-3600)
    await renew(world.store, ONE, lease)
    await world.store.release(ONE, [named()])
    assert (await take(world.store, TWO)).granted_at == at(8) + timedelta(microseconds=1)


async def test_renewals_of_several_runners_at_once_are_answered_each(world: World):

    owners = [an_owner(f"runner-{number}") for number in range(5)]
    await with_cameras(world.store, *(f"cam-{number}" for number in range(5)))
    await with_runners(world.store, *owners[:4])
    leases = [await take(world.store, owner, f"cam-{number}") for number, owner in enumerate(owners[:4])]
    asked = [Renewal(owner=owner, leases=(named(f"cam-{number}"),)) for number, owner in enumerate(owners)]
    outcomes = await asyncio.gather(*(world.store.renew(each) for each in asked))
    assert outcomes == [
        *(Renewed(at=START, kept=(kept(lease),), lost=(), busy=(), unlisted=()) for lease in leases),
        Denied(DenialReason.INCARNATION_ENDED),
    ]


async def test_a_release_frees_exactly_the_grant_that_it_names(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE, TWO)
    await take(world.store, ONE)
    assert await world.store.release(TWO, [named(generation=1)]) == ()
    assert await world.store.release(ONE, [named(generation=2)]) == ()
    assert await world.store.release(ONE, [named(generation=2), named(generation=1), named()]) == (CAMERA,)
    assert await world.store.release(ONE, [named(generation=1)]) == ()
    found = await world.store.find(CAMERA)
    assert found is not None
    assert (found.owner, found.state, found.generation) == (None, SessionState.PENDING, 1)


async def test_releases_at_once_free_each_its_own(world: World):
    cameras = tuple(CameraId(f"cam-{number}") for number in range(6))
    owners = [an_owner(f"runner-{number}") for number in range(6)]
    await with_cameras(world.store, *cameras)
    await with_runners(world.store, *owners)
    for owner, camera_id in zip(owners, cameras, strict=True):
        await take(world.store, owner, camera_id)
    wanted = [Named(camera_id, None) for camera_id in cameras]
    released = await asyncio.gather(*(world.store.release(owner, wanted) for owner in owners[:5]))
    assert released == [(camera_id,) for camera_id in cameras[:5]]
    assert (await world.store.counts()).leased == 1


async def test_an_owner_that_says_what_it_stamped_last_lets_the_next_begin_right_after(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE, TWO)
    await take(world.store, ONE)
    await world.advance(1)
    assert await world.store.release(ONE, [Named(CAMERA, Generation(1), made_until=at(1.2))]) == (CAMERA,)
    assert (await take(world.store, TWO)).granted_at == at(1) + timedelta(microseconds=1)
    [released, _] = await world.store.history(CAMERA)
    assert (released.ended_at, released.made_until) == (at(1), at(1.2))


async def test_no_owner_may_put_the_next_grant_off_beyond_its_own_lease(world: World):
    await with_cameras(world.store)
    await world.store.register(a_spec(ONE, policy=LeasePolicyName.FAST))
    lease = await take(world.store, ONE)
    await world.store.release(ONE, [Named(CAMERA, lease.generation, made_until=at(10_000))])
    found = await world.store.find(CAMERA)
    assert found is not None
    assert found.made_until == lease.expires_at


async def test_the_end_of_an_incarnation_frees_all_that_it_holds(world: World):
    await with_cameras(world.store, "cam-1", "cam-2", "cam-3")
    await with_runners(world.store, ONE, TWO)
    for camera_id, owner in (("cam-1", ONE), ("cam-2", TWO), ("cam-3", ONE)):
        await take(world.store, owner, camera_id)
    assert sorted(await world.store.end(ONE)) == ["cam-1", "cam-3"]
    freed = await world.store.find(CameraId("cam-1"))
    assert freed is not None
    assert (freed.owner, freed.ended_at, freed.made_until) == (None, freed.granted_at, at(8))
    assert (await world.store.counts()).leased == 1


@pytest.mark.parametrize("how", ["release", "release of all"])
async def test_the_next_grant_of_a_control_plane_that_saw_no_step_back_is_dated_after_it(world: World, how: str):
    """A record may have been accepted right before the step: whoever frees the lease writes down what it saw."""
    await with_cameras(world.store)
    await with_runners(world.store, ONE, TWO)
    await take(world.store, ONE)
    await world.advance(1)
    await world.step_database_clock(-0.5)
    await (world.store.end(ONE) if how == "release of all" else world.store.release(ONE, [named()]))
    async with world.another() as started_later:
        assert (await take(started_later, TWO)).granted_at > at(1)
