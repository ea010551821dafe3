"""The handover port, on every driver."""

import asyncio

import pytest

from streamward.leases.handover import WATCHED_FOR, Handing, HandoverAsk
from streamward.leases.lease import Owner
from streamward.leases.login_talk import CameraLogin, LoginTalk
from streamward.leases.logins import LoginId
from streamward.leases.store import Granted, OpenClaim
from streamward.model.ids import CameraId
from streamward.model.runner import DrainMode
from tests.support.builders import TENANT, a_spec, an_owner
from tests.support.fleet import change_runner, named, take, with_cameras, with_runners
from tests.support.stores import World

OLD, HEIR, OTHER = an_owner("r1"), an_owner("r2"), an_owner("r3")
ONE, TWO = CameraId("cam-1"), CameraId("cam-2")


async def with_a_drain(world: World, *cameras: CameraId, mode: DrainMode = DrainMode.SOFT) -> None:
    """A runner that holds cameras and is to give them away; two others have none."""
    await with_cameras(world.store, *cameras)
    await with_runners(world.store, OLD, HEIR, OTHER)
    for camera_id in cameras:
        await take(world.store, OLD, camera_id)
    await change_runner(world.store, OLD.runner_id, drain=mode)


async def watched(world: World, owner: Owner = HEIR, *, room: int = 9, **said: frozenset[CameraId]) -> set[CameraId]:
    """What a runner may watch after it said that."""
    told = await world.store.hand_over(HandoverAsk(owner=owner, room=room, **said))
    assert {generation for _, generation in told.watch} <= {1}
    return {camera.camera_id for camera, _ in told.watch}


async def handing(world: World) -> Handing:
    return (await world.store.hand_over(HandoverAsk(owner=OLD))).handing


async def taken(world: World, owner: Owner) -> list[CameraId]:
    granted = await world.store.acquire_free(OpenClaim(owner=owner, limit=9, beyond_share=True))
    assert isinstance(granted, Granted)
    return [lease.camera_id for lease, _ in granted.leases]


@pytest.mark.parametrize("mode", [DrainMode.NONE, DrainMode.HARD])
async def test_only_what_is_drained_softly_is_on_offer(world: World, mode: DrainMode):
    await with_a_drain(world, ONE, mode=mode)
    assert await watched(world) == set()
    await change_runner(world.store, OLD.runner_id, drain=DrainMode.SOFT)
    assert await watched(world) == {ONE}


async def test_cameras_are_shared_out_and_each_has_one_heir(world: World):
    await with_a_drain(world, ONE, TWO)
    first = await watched(world, HEIR)
    second = await watched(world, OTHER)
    assert (len(first), first | second, first & second) == (1, {ONE, TWO}, set())


async def test_of_two_that_ask_at_once_one_becomes_the_heir(world: World):
    await with_a_drain(world, ONE)
    found = await asyncio.gather(watched(world, HEIR), watched(world, OTHER))
    assert sorted(map(len, found)) == [0, 1]


async def test_who_may_not_have_a_camera_may_not_watch_it(world: World):
    await with_a_drain(world, ONE)
    for owner, spec in (
        (an_owner("r4"), a_spec(an_owner("r4"), site="site-9")),
        (an_owner("r5"), a_spec(an_owner("r5"), tenant="tenant-9")),
    ):
        await world.store.register(spec)
        assert await watched(world, owner) == set()
    await change_runner(world.store, HEIR.runner_id, cordoned=True)
    assert await watched(world) == set()
    assert await watched(world, an_owner("r3", incarnation="ended")) == set()
    assert await watched(world, an_owner("nobody")) == set()


async def test_the_owner_hears_how_its_heirs_do(world: World):
    await with_a_drain(world, ONE)
    assert await handing(world) == Handing()
    await watched(world)
    assert await handing(world) == Handing(awaited=frozenset({ONE}))
    assert await watched(world, shown=frozenset({ONE})) == {ONE}
    assert await handing(world) == Handing(shown=frozenset({ONE}))


async def test_what_an_heir_cannot_see_is_neither_awaited_nor_offered_again(world: World):
    await with_a_drain(world, ONE)
    await watched(world)
    assert await watched(world, refused=frozenset({ONE})) == set()
    assert await handing(world) == Handing()
    await world.advance(WATCHED_FOR)
    assert await watched(world, OTHER) == set()
    await world.store.release(OLD, [named(ONE)])
    assert await taken(world, OTHER) == [ONE]


async def test_what_is_let_go_is_for_its_heir_and_for_anybody_if_that_says_nothing(world: World):
    await with_a_drain(world, ONE)
    await watched(world, shown=frozenset({ONE}))
    await world.advance(WATCHED_FOR - 1)
    await watched(world, shown=frozenset({ONE}))
    await world.store.release(OLD, [named(ONE)])
    assert await taken(world, OTHER) == []
    assert await taken(world, HEIR) == [ONE]
    await world.store.release(HEIR, [named(ONE)])
    assert await taken(world, OTHER) == [ONE]


async def test_a_dead_heir_holds_up_nobody_for_long(world: World):
    await with_a_drain(world, ONE)
    await watched(world)
    await world.store.release(OLD, [named(ONE)])
    assert await taken(world, OTHER) == []
    await world.advance(WATCHED_FOR)
    assert await taken(world, OTHER) == [ONE]


async def test_an_heir_may_log_in_while_it_is_one(world: World):
    await with_a_drain(world, ONE)
    talk = LoginTalk(owner=HEIR, asks=(CameraLogin(camera_id=ONE, login=LoginId("a" * 64)),))
    assert not (await world.store.judge_logins(talk, scope=TENANT)).answers
    await watched(world)
    assert len((await world.store.judge_logins(talk, scope=TENANT)).answers) == 1
    await world.advance(WATCHED_FOR)
    assert not (await world.store.judge_logins(talk, scope=TENANT)).answers


async def test_what_was_written_before_the_clock_went_back_holds_up_nobody(world: World):
    await with_a_drain(world, ONE)
    await watched(world)
    await world.step_database_clock(-60.0)
    assert await handing(world) == Handing()
    assert await watched(world, OTHER) == {ONE}
    await world.store.release(OLD, [named(ONE)])
    assert await taken(world, HEIR) == []
    assert await taken(world, OTHER) == [ONE]
