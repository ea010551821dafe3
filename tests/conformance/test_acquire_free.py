"""Acquiring whatever is free, on every driver."""

from streamward.leases.lease import DenialReason, Denied
from streamward.leases.store import Granted, OpenClaim
from streamward.model.camera import LeasePolicyName
from tests.support.builders import a_camera, a_site, a_spec, an_owner
from tests.support.fleet import change_runner, named, take, with_a_watched_clock, with_cameras, with_runners
from tests.support.stores import World

ONE, TWO = an_owner("runner-1"), an_owner("runner-2")


async def free_for(world: World, owner=ONE, limit=40) -> list[str]:
    granted = await world.store.acquire_free(OpenClaim(owner=owner, limit=limit))
    assert isinstance(granted, Granted), granted
    return [lease.camera_id for lease, _ in granted.leases]


async def test_the_longest_free_come_first(world: World):
    for camera_id in ("cam-3", "cam-1", "cam-2"):
        await with_cameras(world.store, camera_id)
        await world.advance(1)
    await with_runners(world.store, ONE)
    assert await free_for(world, limit=1) == ["cam-3"]
    assert await free_for(world) == ["cam-1", "cam-2"]


async def test_what_was_released_is_free_since_then(world: World):
    await with_cameras(world.store, "cam-1", "cam-2")
    await with_runners(world.store, ONE)
    await take(world.store, ONE, "cam-1")
    await world.advance(1)
    await world.store.release(ONE, [named("cam-1")])
    assert await free_for(world) == ["cam-2", "cam-1"]


async def test_among_equals_the_sites_that_the_runner_serves_come_first(world: World):
    await with_cameras(world.store, "cam-1", "cam-2", site="site-1")
    await with_cameras(world.store, "cam-3", "cam-4", site="site-2")
    await with_runners(world.store, ONE)
    await take(world.store, ONE, "cam-4")
    assert await free_for(world, limit=1) == ["cam-3"]
    assert await free_for(world) == ["cam-1", "cam-2"]


async def test_the_answer_says_whether_more_are_free(world: World):
    await with_cameras(world.store, "cam-1", "cam-2", "cam-3")
    await world.store.register(a_spec(ONE, capacity=2))
    await world.store.register(a_spec(TWO))
    outcome = await world.store.acquire_free(OpenClaim(owner=TWO, limit=3))
    assert isinstance(outcome, Granted)
    assert (len(outcome.leases), outcome.more) == (2, True), "its share of three cameras among two runners"
    assert await free_for(world, TWO) == [], "the last is the other runner's"
    assert await free_for(world) == ["cam-3"]


async def test_who_has_fewest_cameras_comes_first(world: World):
    await with_cameras(world.store, *(f"cam-{number}" for number in range(1, 7)))
    await with_runners(world.store, ONE)
    assert len(await free_for(world, limit=4)) == 4
    await with_runners(world.store, TWO)
    assert await free_for(world) == []
    assert await free_for(world, TWO) == ["cam-5", "cam-6"]


async def test_what_others_have_no_room_for_or_do_not_serve_is_not_kept_for_them(world: World):
    await with_cameras(world.store, *(f"cam-{number}" for number in range(1, 7)))
    await world.store.register(a_spec(ONE, site="site-1", tenant="tenant-1"))
    await world.store.register(a_spec(an_owner("full"), capacity=1))
    await world.store.register(a_spec(an_owner("far"), site="site-2"))
    await world.store.register(a_spec(an_owner("foreign"), tenant="tenant-2"))
    assert len(await free_for(world)) == 5


async def test_who_asks_beyond_its_share_gets_what_others_leave(world: World):
    await with_cameras(world.store, "cam-1", "cam-2", "cam-3")
    await world.store.register(a_spec(ONE, capacity=2))
    await with_runners(world.store, TWO)
    assert await free_for(world, limit=1) == ["cam-1"]
    granted = await world.store.acquire_free(OpenClaim(owner=ONE, limit=40, beyond_share=True))
    assert isinstance(granted, Granted)
    assert [lease.camera_id for lease, _ in granted.leases] == ["cam-2"], "one more than its share, and all its room"


async def test_nothing_is_kept_for_who_lets_its_own_leases_lapse(world: World):
    await with_cameras(world.store, "cam-1", "cam-2", "cam-3")
    await with_runners(world.store, ONE)
    await with_a_watched_clock(world)
    assert len(await free_for(world)) == 3
    await world.advance(9)
    await world.store.lapse()
    await with_runners(world.store, TWO)
    await world.store.heartbeat(ONE)
    assert len(await free_for(world, TWO)) == 3


async def test_silent_and_cordoned_runners_have_no_share(world: World):
    await with_cameras(world.store, "cam-1", "cam-2", "cam-3")
    await with_runners(world.store, ONE)
    await world.advance(6)
    await with_runners(world.store, TWO, an_owner("runner-3"))
    await change_runner(world.store, an_owner("runner-3").runner_id, cordoned=True)
    assert len(await free_for(world, TWO)) == 3


async def test_a_runner_that_has_ended_has_no_share_of_what_it_left(world: World):
    await with_cameras(world.store, "cam-1", "cam-2", "cam-3")
    await with_runners(world.store, ONE, TWO)
    await take(world.store, ONE, "cam-1")
    await world.store.end(ONE)
    assert len(await free_for(world, TWO)) == 3


async def test_nobody_gets_more_than_asked_for_or_than_there_is_room(world: World):
    await with_cameras(world.store, "cam-1", "cam-2", "cam-3")
    await world.store.register(a_spec(ONE, capacity=2))
    assert await free_for(world, limit=1) == ["cam-1"]
    assert await free_for(world) == ["cam-2"]
    assert await free_for(world) == []


async def test_only_what_is_wanted_and_fits_site_and_tenant_is_given(world: World):
    await with_cameras(world.store, "cam-1")
    await with_cameras(world.store, "cam-2", site="site-2")
    await with_cameras(world.store, "cam-3", tenant="tenant-2")
    await world.store.save_camera(a_camera("cam-4", enabled=False))
    await world.store.save_camera(a_camera("cam-5", do_not_process=True))
    await world.store.register(a_spec(ONE, site="site-1", tenant="tenant-1"))
    assert await free_for(world) == ["cam-1"]


async def test_an_orphan_is_free_at_once_unless_it_has_a_soft_window(world: World):
    await world.store.save_site(a_site("site-2", policy=LeasePolicyName.STICKY))
    await with_cameras(world.store, "cam-1")
    await with_cameras(world.store, "cam-2", site="site-2")
    await with_runners(world.store, ONE)
    await with_a_watched_clock(world)
    assert await free_for(world) == ["cam-1", "cam-2"]
    await world.advance(95)
    assert set((await world.store.lapse()).orphaned) == {"cam-1", "cam-2"}
    await with_runners(world.store, TWO)
    assert await free_for(world, TWO) == ["cam-1"]


async def test_its_own_orphan_comes_back_in_its_generation(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    await with_a_watched_clock(world)
    await take(world.store, ONE)
    await world.advance(9)
    await world.store.lapse()
    outcome = await world.store.acquire_free(OpenClaim(owner=ONE, limit=5))
    assert isinstance(outcome, Granted)
    assert (outcome.leases[0][0].generation, outcome.changed) == (1, ())


async def test_an_ended_or_cordoned_runner_is_denied(world: World):
    await with_cameras(world.store)
    claim = OpenClaim(owner=ONE, limit=5)
    assert await world.store.acquire_free(claim) == Denied(DenialReason.INCARNATION_ENDED)
    await with_runners(world.store, ONE)
    await change_runner(world.store, ONE.runner_id, cordoned=True)
    assert await world.store.acquire_free(claim) == Denied(DenialReason.RUNNER_CORDONED)
    await world.store.end(ONE)
    assert await world.store.acquire_free(claim) == Denied(DenialReason.INCARNATION_ENDED)
