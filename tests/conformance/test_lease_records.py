"""Who has which camera, as it is listed, on every driver."""

from streamward.leases.lease import TICK, SessionState
from streamward.leases.store import LeaseFilter
from streamward.model.ids import CameraId, Generation, RunnerId, SiteId, TenantId
from streamward.model.status import StreamState, StreamStatus
from tests.support.builders import CAMERA, an_owner, at
from tests.support.fleet import LONG, named, remove_camera, take, with_a_watched_clock, with_cameras, with_runners
from tests.support.stores import World

ONE, TWO = an_owner("runner-1"), an_owner("runner-2")
ALL = LeaseFilter(scope=None)


async def fleet(world: World) -> None:
    """Two sites of two tenants; each runner has a camera, one is free."""
    await with_cameras(world.store, "a-1", "a-2", site="site-a", tenant="north")
    await with_cameras(world.store, "b-1", site="site-b", tenant="south")
    await with_runners(world.store, ONE, TWO)
    await take(world.store, ONE, "a-1", ttl=8)
    await take(world.store, TWO, "b-1", ttl=8)


async def listed(world: World, wanted: LeaseFilter = ALL) -> list[str]:
    return [each.lease.camera_id for each in await world.store.leases(wanted)]


async def test_leases_are_listed_with_their_places_in_the_order_of_their_cameras(world: World):
    await fleet(world)
    found = await world.store.leases(ALL)
    assert [(each.lease.camera_id, each.tenant_id, each.site_id) for each in found] == [
        ("a-1", "north", "site-a"),
        ("a-2", "north", "site-a"),
        ("b-1", "south", "site-b"),
    ]
    assert [each.lease.owner for each in found] == [ONE, None, TWO]
    assert found[0].lease == await world.store.find(CameraId("a-1"))
    assert (found[0].lease.granted_at, found[0].lease.expires_at) == (at(0) + TICK, at(8))


async def test_leases_are_listed_with_what_was_last_reported_of_their_streams(world: World):
    await fleet(world)
    report = StreamStatus(
        camera_id=CameraId("a-1"),
        runner_id=RunnerId("runner-1"),
        state=StreamState.STREAMING,
        ts=at(1),
        generation=Generation(1),
        fps=6.0,
        last_frame_ts=at(1),
    )
    assert await world.store.record([report]) == 1
    found = await world.store.leases(ALL)
    assert [each.status for each in found] == [await world.store.find_status(CameraId("a-1")), None, None]


async def test_leases_are_listed_page_by_page(world: World):
    await fleet(world)
    assert await listed(world, LeaseFilter(scope=None, limit=2)) == ["a-1", "a-2"]
    assert await listed(world, LeaseFilter(scope=None, limit=2, after=CameraId("a-2"))) == ["b-1"]


async def test_leases_are_chosen_by_site_runner_and_state(world: World):
    await fleet(world)
    assert await listed(world, LeaseFilter(scope=None, site_id=SiteId("site-b"))) == ["b-1"]
    assert await listed(world, LeaseFilter(scope=None, runner_id=RunnerId("runner-1"))) == ["a-1"]
    assert await listed(world, LeaseFilter(scope=None, state=SessionState.PENDING)) == ["a-2"]
    assert await listed(world, LeaseFilter(scope=None, state=SessionState.ACTIVE, site_id=SiteId("site-a"))) == ["a-1"]


async def test_a_tenant_sees_its_own_leases(world: World):
    await fleet(world)
    south = TenantId("south")
    assert await listed(world, LeaseFilter(scope=south)) == ["b-1"]
    assert await listed(world, LeaseFilter(scope=south, site_id=SiteId("site-a"))) == []
    assert await listed(world, LeaseFilter(scope=south, runner_id=RunnerId("runner-1"))) == []


async def test_a_camera_that_is_gone_has_no_lease_to_show(world: World):
    await fleet(world)
    await remove_camera(world.store, "a-1")
    assert await listed(world) == ["a-2", "b-1"]


async def test_the_newest_grants_are_told_in_their_order(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE, TWO)
    await with_a_watched_clock(world)
    for owner in (ONE, TWO, ONE):
        await take(world.store, owner)
        await world.store.release(owner, [named()])
        await world.advance(LONG)
    newest = await world.store.history(CAMERA, newest=2)
    assert [(grant.generation, grant.owner) for grant in newest] == [(2, TWO), (3, ONE)]
    assert (await world.store.history(CAMERA))[1:] == newest
