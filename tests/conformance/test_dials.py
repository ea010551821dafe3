"""The dial port, on every driver."""

import asyncio
from dataclasses import replace

from streamward.leases.dialing import IN_FLIGHT_FOR, DialGranted, DialRefusal, DialRefused
from streamward.leases.store import Dial
from streamward.model.ids import CameraId, Generation, SiteId, TenantId
from tests.support.builders import CAMERA, SITE, TENANT, a_site, a_status, an_owner
from tests.support.fleet import named, take, with_cameras, with_runners
from tests.support.stores import World

ONE = an_owner()
ANONYMOUS = Dial(site_id=SITE)


def dial(camera_id: str = CAMERA, generation: int = 1) -> Dial:
    return Dial(site_id=SITE, camera_id=CameraId(camera_id), generation=Generation(generation))


async def consume(world: World, each: Dial = ANONYMOUS) -> DialGranted | DialRefused:
    outcome = await world.store.consume(each, scope=TENANT)
    assert outcome is not None
    return outcome


async def with_a_site(world: World, *, capacity: int = 2, per_minute: float = 60.0) -> None:
    await world.store.save_site(replace(a_site(), dials=capacity, dials_per_minute=per_minute))


async def test_a_dial_costs_a_token_and_tokens_come_back(world: World):
    await with_a_site(world)
    assert (await consume(world, dial("cam-1"))).bucket.tokens == 1.0
    await world.advance(0.5)
    assert (await consume(world, dial("cam-2"))).bucket.tokens == 0.5
    await world.advance(100)
    view = await world.store.budget(SITE, scope=TENANT)
    assert view is not None
    assert (view.bucket.tokens, view.in_flight) == (2.0, 0)


async def test_an_empty_budget_refuses(world: World):
    await with_a_site(world)
    for camera_id in ("cam-1", "cam-2"):
        await consume(world, dial(camera_id))
        await world.store.finish(dial(camera_id), scope=TENANT)
    refused = await consume(world, dial("cam-3"))
    assert isinstance(refused, DialRefused)
    assert (refused.reason, refused.retry_in) == (DialRefusal.EMPTY, 1.0)


async def test_no_more_dials_are_in_flight_than_the_capacity(world: World):
    await with_a_site(world, per_minute=6000)
    for camera_id in ("cam-1", "cam-2"):
        assert isinstance(await consume(world, dial(camera_id)), DialGranted)
    await world.advance(IN_FLIGHT_FOR - 0.1)
    refused = await consume(world, dial("cam-3"))
    assert isinstance(refused, DialRefused)
    assert refused.reason is DialRefusal.IN_FLIGHT
    await world.advance(0.1)
    assert isinstance(await consume(world, dial("cam-3")), DialGranted)


async def test_a_dial_reported_done_makes_room(world: World):
    await with_a_site(world, capacity=1, per_minute=6000)
    await consume(world, dial("cam-1"))
    await world.advance(1)
    assert isinstance(await consume(world, dial("cam-2")), DialRefused)
    assert await world.store.finish(dial("cam-1"), scope=TENANT)
    assert not await world.store.finish(dial("cam-1"), scope=TENANT)
    assert isinstance(await consume(world, dial("cam-2")), DialGranted)


async def test_a_repeated_dial_of_the_same_generation_is_free(world: World):
    await with_a_site(world)
    await consume(world, dial())
    again = await consume(world, dial())
    assert isinstance(again, DialGranted)
    assert again.bucket.tokens == 1.0
    assert (await consume(world, dial(generation=2))).bucket.tokens == 0.0


async def test_anonymous_dials_cost_each_and_the_oldest_ends_first(world: World):
    await with_a_site(world, capacity=3)
    await consume(world)
    await world.advance(0.25)
    assert (await consume(world)).bucket.tokens == 1.25
    assert await world.store.finish(ANONYMOUS, scope=TENANT)
    await world.advance(IN_FLIGHT_FOR - 0.25)
    view = await world.store.budget(SITE, scope=TENANT)
    assert view is not None
    assert view.in_flight == 1
    assert await world.store.finish(ANONYMOUS, scope=TENANT)
    assert not await world.store.finish(ANONYMOUS, scope=TENANT)


async def test_a_takeover_spends_the_reserve(world: World):
    await with_a_site(world)
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    await take(world.store, ONE)
    await world.store.record([a_status()])
    await world.store.release(ONE, [named()])
    lease = await take(world.store, ONE)
    outcome = await consume(world, dial(generation=lease.generation))
    assert isinstance(outcome, DialGranted)
    assert (outcome.bucket.tokens, outcome.bucket.reserve, outcome.bucket.reserve_size) == (2.0, 0.0, 1)


async def test_a_camera_that_last_streamed_long_ago_is_no_takeover(world: World):
    await with_a_site(world)
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    await take(world.store, ONE)
    await world.store.record([a_status()])
    await world.advance(601)
    outcome = await consume(world, dial(generation=2))
    assert (outcome.bucket.tokens, outcome.bucket.reserve) == (1.0, 1.0)


async def test_a_clock_that_goes_back_refills_nothing(world: World):
    await with_a_site(world)
    await consume(world, dial("cam-1"))
    await consume(world, dial("cam-2"))
    await world.step_database_clock(-3600)
    assert isinstance(await consume(world, dial("cam-3")), DialRefused)


async def test_a_change_of_the_budget_keeps_its_tokens(world: World):
    await with_a_site(world)
    await consume(world)
    await with_a_site(world, capacity=5, per_minute=30)
    view = await world.store.budget(SITE, scope=TENANT)
    assert view is not None
    assert (view.bucket.tokens, view.bucket.capacity, view.bucket.per_minute) == (1.0, 5, 30.0)


async def test_only_its_own_tenant_sees_or_spends_a_sites_budget(world: World):
    await with_a_site(world)
    other = TenantId("tenant-2")
    assert await world.store.consume(ANONYMOUS, scope=other) is None
    assert await world.store.budget(SITE, scope=other) is None
    await consume(world, dial())
    assert not await world.store.finish(dial(), scope=other)
    assert await world.store.budget(SITE, scope=None) is not None
    assert await world.store.consume(Dial(site_id=SiteId("site-9")), scope=None) is None


async def test_dials_at_the_same_time_never_exceed_the_budget(world: World):
    await with_a_site(world, capacity=3)
    outcomes = await asyncio.gather(*(consume(world, dial(f"cam-{number}")) for number in range(10)))
    assert sum(isinstance(outcome, DialGranted) for outcome in outcomes) == 3


async def waiting(world: World) -> int:
    view = await world.store.budget(SITE, scope=TENANT)
    assert view is not None
    return view.waiting


async def test_a_camera_waits_until_it_is_dialed_and_from_then_on_no_more(world: World):
    await with_a_site(world)
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    assert await waiting(world) == 1
    lease = await take(world.store, ONE)
    assert await waiting(world) == 1
    await consume(world, dial(generation=lease.generation))
    assert await waiting(world) == 0
    await world.store.record([a_status()])
    await world.store.finish(dial(generation=lease.generation), scope=TENANT)
    assert await waiting(world) == 0
    await world.store.release(ONE, [named()])
    assert await waiting(world) == 1
    await take(world.store, ONE)
    assert await waiting(world) == 1


async def test_many_dials_are_decided_one_after_the_other(world: World):
    await with_a_site(world)
    dials = [dial("cam-1"), dial("cam-2"), dial("cam-1"), dial("cam-3"), ANONYMOUS]
    outcomes = await world.store.consume_all(dials, scope=TENANT)
    assert [isinstance(each, DialGranted) for each in outcomes] == [True, True, True, False, False]
    assert [each and each.bucket.tokens for each in outcomes] == [1.0, 0.0, 0.0, 0.0, 0.0]
    again = await world.store.consume_all(dials[:2], scope=TENANT)
    assert [isinstance(each, DialGranted) for each in again] == [True, True]
    view = await world.store.budget(SITE, scope=TENANT)
    assert view is not None
    assert view.in_flight == 2


async def test_each_site_has_its_own_budget_and_strangers_have_none(world: World):
    await with_a_site(world, capacity=1)
    await world.store.save_site(replace(a_site("site-2"), dials=1, dials_per_minute=60.0))
    ours = [dial("cam-1"), replace(dial("cam-2"), site_id=SiteId("site-2")), replace(dial(), site_id=SiteId("site-9"))]
    assert await world.store.consume_all(ours, scope=TenantId("another")) == [None] * 3
    *granted, unknown = await world.store.consume_all(ours, scope=TENANT)
    assert [isinstance(each, DialGranted) for each in granted] == [True, True]
    assert unknown is None
    assert {site_id: view.in_flight for site_id, view in (await world.store.budgets()).items()} == {
        SITE: 1,
        SiteId("site-2"): 1,
    }


async def test_many_dials_end_at_once(world: World):
    await with_a_site(world)
    dials = [dial("cam-1"), dial("cam-2")]
    await world.store.consume_all(dials, scope=TENANT)
    assert await world.store.finish_all(dials, scope=TenantId("another")) == 0
    assert await world.store.finish_all([dial("cam-1", 2), dial("cam-9")], scope=TENANT) == 0
    assert await world.store.finish_all(dials, scope=TENANT) == 2
    assert await world.store.finish_all([*dials, dial("cam-9")], scope=TENANT) == 0
    assert await world.store.consume_all([], scope=TENANT) == []


async def test_all_budgets_tell_what_each_tells(world: World):
    await with_a_site(world)
    await with_cameras(world.store, "cam-1", "cam-2")
    await consume(world, dial("cam-1"))
    assert await world.store.budgets() == {SITE: await world.store.budget(SITE, scope=None)}
