"""Moves that balance a fleet, on every driver."""

import asyncio

from streamward.leases.handover import MOVED_WITHIN, REFUSED_FOR, SETTLES_FOR, WATCHED_FOR, Handing, HandoverAsk
from streamward.leases.lease import Owner
from streamward.leases.rebalance import RebalanceAsk
from streamward.leases.store import Granted, OpenClaim
from streamward.model.ids import CameraId, Generation, TenantId
from streamward.model.runner import DrainMode
from tests.support.builders import a_spec, an_owner
from tests.support.fleet import change_runner, named, renew, take, with_cameras, with_runners
from tests.support.stores import World

OLD, NEW, OTHER = an_owner("r1"), an_owner("r2"), an_owner("r3")
ONE, TWO, THREE, FOUR = CAMERAS = tuple(CameraId(f"cam-{number}") for number in range(1, 5))
LONG = 3600.0


async def with_a_late_runner(world: World, *owners: Owner) -> None:
    """One runner that holds four cameras; others came later."""
    await with_cameras(world.store, *CAMERAS)
    await with_runners(world.store, OLD)
    for camera_id in CAMERAS:
        await take(world.store, OLD, camera_id, ttl=LONG)
    await with_runners(world.store, *owners or (NEW,))


async def heard(world: World, *owners: Owner) -> None:
    """So that they take part, however long ago they registered."""
    for owner in owners or (OLD, NEW):
        await world.store.register(a_spec(owner))


async def moves(world: World, **ask: object) -> dict[CameraId, Owner]:
    planned = await world.store.rebalance(RebalanceAsk(**ask))  # type: ignore[arg-type] # a test's own names
    return {move.camera_id: move.successor for move in planned.moves}


async def watched(world: World, owner: Owner = NEW, **said: frozenset[CameraId]) -> set[CameraId]:
    told = await world.store.hand_over(HandoverAsk(owner=owner, room=9, **said))
    return {camera.camera_id for camera, _ in told.watch}


async def handing(world: World) -> Handing:
    return (await world.store.hand_over(HandoverAsk(owner=OLD))).handing


async def taken(world: World, owner: Owner) -> dict[CameraId, Generation]:
    granted = await world.store.acquire_free(OpenClaim(owner=owner, limit=9, beyond_share=True))
    assert isinstance(granted, Granted)
    return {lease.camera_id: lease.generation for lease, _ in granted.leases}


def at_generation(*camera_ids: CameraId) -> frozenset[tuple[CameraId, Generation]]:
    return frozenset((camera_id, Generation(1)) for camera_id in camera_ids)


async def test_a_round_names_successors_and_they_watch(world: World):
    await with_a_late_runner(world)
    assert await moves(world) == {ONE: NEW, TWO: NEW}
    assert await handing(world) == Handing(awaited=frozenset({ONE, TWO}), moving=at_generation(ONE, TWO))
    assert await watched(world) == {ONE, TWO}
    assert await watched(world, shown=frozenset({ONE})) == {ONE, TWO}
    assert await handing(world) == Handing(
        awaited=frozenset({TWO}), shown=frozenset({ONE}), moving=at_generation(ONE, TWO)
    )


async def test_a_dry_run_starts_nothing(world: World):
    await with_a_late_runner(world)
    assert await moves(world, dry_run=True) == {ONE: NEW, TWO: NEW}
    assert await watched(world) == set()
    assert await handing(world) == Handing()


async def test_a_camera_that_moves_is_for_its_successor_and_of_the_next_generation(world: World):
    await with_a_late_runner(world, NEW, OTHER)
    assert await moves(world, most=1) == {ONE: NEW}
    assert await watched(world, OTHER) == set()
    await watched(world, shown=frozenset({ONE}))
    await world.store.release(OLD, [named(ONE, 1)])
    assert await taken(world, OTHER) == {}
    assert await taken(world, NEW) == {ONE: 2}


async def test_the_owner_renews_what_moves(world: World):
    await with_a_late_runner(world)
    lease = await take(world.store, OLD, ONE, ttl=LONG)
    await moves(world)
    assert [each.camera_id for each in (await renew(world.store, OLD, lease)).kept] == [ONE]


async def test_a_second_round_moves_nothing_more_while_the_first_is_under_way(world: World):
    await with_a_late_runner(world)
    assert await moves(world, most=1) == {ONE: NEW}
    assert await moves(world, most=1) == {}
    assert await moves(world, most=2) == {TWO: NEW}
    assert await moves(world) == {}


async def test_two_rounds_at_once_give_a_camera_one_successor(world: World):
    await with_a_late_runner(world, NEW, OTHER)
    first, second = await asyncio.gather(moves(world), moves(world))
    assert len(first | second) <= 3
    assert all(first[each] == second[each] for each in first.keys() & second.keys())
    assert not await watched(world, NEW) & await watched(world, OTHER)


async def test_a_successor_that_says_nothing_leaves_the_camera_to_its_owner(world: World):
    await with_a_late_runner(world)
    await moves(world, most=1)
    await world.advance(WATCHED_FOR)
    assert await watched(world) == set()
    assert await handing(world) == Handing()


async def test_a_move_ends_at_its_deadline_though_its_successor_still_tries(world: World):
    await with_a_late_runner(world)
    await moves(world, most=1)
    for _ in range(int(MOVED_WITHIN) - 1):
        await world.advance(1.0)
        assert await watched(world) == {ONE}
    await world.advance(1.0)
    assert await watched(world) == set()
    assert await handing(world) == Handing()


async def test_a_camera_that_its_successor_refused_stays_for_a_minute_and_others_go(world: World):
    await with_a_late_runner(world)
    await moves(world, most=1)
    assert await watched(world, refused=frozenset({ONE})) == set()
    assert await handing(world) == Handing()
    assert await moves(world) == {TWO: NEW, THREE: NEW}
    await world.advance(REFUSED_FOR)
    await heard(world)
    assert ONE in await moves(world)


async def test_what_has_moved_is_not_moved_again_within_its_settle_time(world: World):
    await with_a_late_runner(world)
    assert set(await moves(world)) == {ONE, TWO}
    await watched(world, shown=frozenset({ONE, TWO}))
    await world.store.release(OLD, [named(ONE), named(TWO)])
    assert set(await taken(world, NEW)) == {ONE, TWO}
    for each in (ONE, TWO):
        await take(world.store, NEW, each, ttl=LONG)
    await world.store.release(OLD, [named(THREE), named(FOUR)])
    await world.advance(SETTLES_FOR - 1)
    await heard(world)
    await watched(world)
    assert await moves(world) == {}
    await world.advance(1.0)
    await heard(world)
    assert await moves(world) == {ONE: OLD}


async def test_a_tenants_round_moves_its_own_cameras_only(world: World):
    await with_a_late_runner(world)
    await with_cameras(world.store, "cam-0", site="site-2", tenant="tenant-2")
    await take(world.store, OLD, "cam-0", ttl=LONG)
    assert set(await moves(world, scope=TenantId("tenant-2"), dry_run=True)) == {"cam-0"}
    assert set(await moves(world, scope=TenantId("tenant-1"))) == {ONE, TWO}
    assert await moves(world, scope=TenantId("tenant-3")) == {}


async def test_a_runner_that_is_drained_gives_cameras_away_as_before(world: World):
    await with_a_late_runner(world)
    await change_runner(world.store, OLD.runner_id, drain=DrainMode.SOFT)
    assert await moves(world) == {}
    assert await watched(world) == set(CAMERAS)


async def test_moves_from_before_the_clock_went_back_hold_up_nobody(world: World):
    await with_a_late_runner(world)
    await moves(world)
    await world.step_database_clock(-120.0)
    assert await handing(world) == Handing()
    await heard(world)
    assert set(await moves(world)) == {ONE, TWO}
