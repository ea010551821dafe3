"""Who waits is woken by what frees a camera or changes the fleet, and by nothing else, on every driver."""

from collections.abc import Awaitable, Callable

import pytest

from streamward.runtime.bell import Bell
from tests.support.builders import CAMERA, a_camera, an_owner
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

ONE = an_owner()


async def reclaim(world: World) -> None:
    assert (await world.store.lapse()).orphaned
    await world.store.reclaim(CAMERA, (await world.store.history(CAMERA))[-1].generation)


WAKING: dict[str, Callable[[World], Awaitable[object]]] = {
    "a camera is made": lambda world: world.store.save_camera(a_camera("cam-2")),
    "a camera is changed": lambda world: world.store.save_camera(a_camera(enabled=False)),
    "a camera is deleted": lambda world: remove_camera(world.store, CAMERA, scope=None),
    "a lease is released": lambda world: world.store.release(ONE, [named()]),
    "an incarnation ends": lambda world: world.store.end(ONE),
    "a lease lapses": lambda world: world.store.lapse(),
    "a lease is reclaimed": reclaim,
    "a runner is cordoned": lambda world: change_runner(world.store, ONE.runner_id, cordoned=True),
}


async def rung(bell: Bell, before: str) -> bool:
    return await bell.wait(before, at_most=5)


@pytest.mark.parametrize("event", WAKING)
async def test_whoever_waits_wakes_when(world: World, event):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    await with_a_watched_clock(world)
    await take(world.store, ONE)
    await world.advance(9)
    await quiet(world)
    before = world.bell.cursor
    await WAKING[event](world)
    assert await rung(world.bell, before)


async def test_a_renewal_an_acquire_and_a_heartbeat_wake_nobody(world: World):
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    await quiet(world)
    before = rings(world)
    lease = await take(world.store, ONE)
    await renew(world.store, ONE, lease)
    await take(world.store, ONE)
    await world.store.heartbeat(ONE)
    await quiet(world)
    assert rings(world) == before + 1, "only the ring that proves that all before it has been heard"


def rings(world: World) -> int:
    return int(world.bell.cursor.rpartition("-")[2])


async def quiet(world: World) -> None:
    """Rings arrive in order: once this one has come, none is on its way."""
    before = world.bell.cursor
    await world.store.save_camera(a_camera("cam-quiet"))
    assert await rung(world.bell, before)
