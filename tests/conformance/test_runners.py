"""The runner port, on every driver."""

from dataclasses import replace

import pytest

from streamward.leases.lease import DenialReason, Denied
from streamward.leases.store import SiteLoad
from streamward.model.camera import LeasePolicyName
from streamward.model.ids import Incarnation, RunnerId, SiteId, TenantId
from streamward.model.runner import DEFAULT_CAPACITY, DrainMode, Making, Runner
from tests.support.builders import SITE, START, a_camera, a_runner, a_site, a_spec, an_owner, at
from tests.support.fleet import change_runner, take, with_a_watched_clock, with_cameras, with_runners
from tests.support.stores import World

ONE, TWO = an_owner("runner-1"), an_owner("runner-2")
NEWER = an_owner("runner-1", incarnation="inc-2")
ENDED = Denied(DenialReason.INCARNATION_ENDED)


async def test_a_new_runner_is_known_by_what_it_says(world: World):
    spec = a_spec(ONE, site="site-7", tenant="tenant-7", policy=LeasePolicyName.STICKY, capacity=5)
    expected = Runner(
        runner_id=RunnerId("runner-1"),
        incarnation=Incarnation("inc-1"),
        tenant_id=TenantId("tenant-7"),
        site_id=SiteId("site-7"),
        policy=LeasePolicyName.STICKY,
        capacity=5,
        cordoned=False,
        drain=DrainMode.NONE,
        last_seen_at=START,
        revision=1,
    )
    assert await world.store.register(spec) == expected
    assert await world.store.find_runner(RunnerId("runner-1")) == expected


async def test_without_saying_so_a_runner_has_the_default_capacity(world: World):
    assert await world.store.register(a_spec(ONE)) == replace(a_runner(), capacity=DEFAULT_CAPACITY)


async def test_what_an_operator_set_outlives_a_new_incarnation(world: World):
    await with_runners(world.store, ONE)
    await change_runner(world.store, ONE.runner_id, cordoned=True, drain=DrainMode.HARD, capacity=3)
    runner = await world.store.register(a_spec(NEWER))
    assert isinstance(runner, Runner)
    assert (runner.cordoned, runner.drain, runner.capacity) == (True, DrainMode.HARD, 3)


async def test_the_same_incarnation_may_register_again_and_say_something_else(world: World):
    await with_runners(world.store, ONE)
    runner = await world.store.register(a_spec(ONE, site="site-2"))
    assert isinstance(runner, Runner)
    assert runner.site_id == "site-2"


async def test_a_superseded_incarnation_never_comes_back(world: World):
    await with_runners(world.store, ONE, NEWER)
    assert await world.store.register(a_spec(ONE)) == ENDED
    assert await world.store.heartbeat(ONE) == ENDED
    assert (await world.store.runners())[0].incarnation == NEWER.incarnation


async def test_an_ended_incarnation_never_comes_back(world: World):
    await with_runners(world.store, ONE)
    await world.store.end(ONE)
    assert await world.store.register(a_spec(ONE)) == ENDED
    found = await world.store.find_runner(ONE.runner_id)
    assert found is not None
    assert found.incarnation is None
    await with_runners(world.store, NEWER)


async def test_an_incarnation_that_ended_before_it_registered_never_registers(world: World):
    assert await world.store.end(ONE) == ()
    assert await world.store.register(a_spec(ONE)) == ENDED
    assert await world.store.find_runner(ONE.runner_id) is None


async def test_the_end_of_an_older_incarnation_leaves_the_newer_alone(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE, NEWER)
    await take(world.store, NEWER)
    assert await world.store.end(ONE) == ()
    assert isinstance(await world.store.heartbeat(NEWER), Runner)
    assert (await world.store.counts()).leased == 1


async def test_a_heartbeat_says_when_a_runner_was_last_heard(world: World):
    await with_runners(world.store, ONE)
    await world.advance(3)
    assert await world.store.heartbeat(ONE) == replace(a_runner(), last_seen_at=at(3))
    assert await world.store.heartbeat(TWO) == ENDED


async def test_a_heartbeat_says_how_far_a_rollout_has_come_and_a_new_start_forgets_nothing(world: World):
    await with_runners(world.store, ONE)
    await change_runner(world.store, ONE.runner_id, make=2, detector="m:people", earlier_detector="colour")
    making = Making(proven=1, tried=2, problem="it is broken")
    told = await world.store.heartbeat(ONE, making)
    wanted = replace(a_runner(), make=2, detector="m:people", earlier_detector="colour", revision=2)
    assert told == replace(wanted, making=making)
    assert await world.store.register(a_spec(NEWER)) == replace(wanted, making=making, incarnation=NEWER.incarnation)


async def test_a_change_sets_only_what_it_names(world: World):
    await with_runners(world.store, ONE)
    await change_runner(world.store, ONE.runner_id, cordoned=True)
    changed = await change_runner(world.store, ONE.runner_id, capacity=7)
    assert changed == replace(a_runner(), cordoned=True, capacity=7, revision=3)
    assert await change_runner(world.store, TWO.runner_id, capacity=7) is None


async def test_runners_are_listed_by_id(world: World):
    await with_runners(world.store, TWO, an_owner("Runner-3"), ONE)
    assert [runner.runner_id for runner in await world.store.runners()] == ["Runner-3", "runner-1", "runner-2"]


async def test_a_sites_load_counts_what_is_unowned_and_the_slots_that_are_free(world: World):
    await with_cameras(world.store, "cam-1", "cam-2", "cam-3")
    await world.store.save_camera(a_camera("cam-4", enabled=False))
    await with_cameras(world.store, "cam-5", site="site-2")
    await world.store.register(a_spec(ONE, capacity=4))
    await take(world.store, ONE, "cam-1")
    load = SiteLoad(unowned=2, free_slots=3, runners=1, at=START)
    assert await world.store.site_load(SITE) == load


async def test_an_expired_lease_counts_as_unowned_and_its_slot_as_free_once_it_is_marked(world: World):
    await with_cameras(world.store)
    await world.store.register(a_spec(ONE, capacity=4))
    await with_a_watched_clock(world)
    await take(world.store, ONE)
    await world.advance(8)
    await world.store.heartbeat(ONE)
    assert (await world.store.site_load(SITE)).free_slots == 3
    await world.store.lapse()
    load = await world.store.site_load(SITE)
    assert (load.unowned, load.free_slots) == (1, 4)


@pytest.mark.parametrize(
    ("spec", "change"),
    [
        (a_spec(ONE, site="site-2"), {}),
        (a_spec(ONE, tenant="tenant-2"), {}),
        (a_spec(ONE), {"cordoned": True}),
        (a_spec(ONE), {"drain": DrainMode.SOFT}),
    ],
)
async def test_runners_that_could_not_help_do_not_count(world: World, spec, change):
    await world.store.save_site(a_site())
    await world.store.register(spec)
    await change_runner(world.store, ONE.runner_id, **change)
    assert (await world.store.site_load(SITE)).runners == 0


async def test_silent_and_ended_runners_do_not_count(world: World):
    await with_runners(world.store, ONE)
    await world.advance(5.1)
    await with_runners(world.store, TWO)
    assert (await world.store.site_load(SITE)).runners == 1
    await world.store.end(TWO)
    assert (await world.store.site_load(SITE)).runners == 0


async def test_a_runner_with_more_leases_than_slots_has_no_free_slot(world: World):
    await with_cameras(world.store, "cam-1", "cam-2")
    await with_runners(world.store, ONE, TWO)
    await take(world.store, ONE, "cam-1")
    await take(world.store, ONE, "cam-2")
    await change_runner(world.store, ONE.runner_id, capacity=1)
    await change_runner(world.store, TWO.runner_id, capacity=3)
    assert (await world.store.site_load(SITE)).free_slots == 3
