"""Wake-ups between control planes on a real PostgreSQL."""

import asyncio

import pytest

from streamward.drivers.sql import SqlStore
from streamward.runtime.bell import Bell
from streamward.runtime.clock import SystemClock
from tests.support.builders import an_owner
from tests.support.fleet import named, take, with_cameras, with_runners
from tests.support.postgres import PostgresServer
from tests.support.stores import control_planes

ONE = an_owner()
PATIENCE = 60.0  # seconds
KILL_LISTENERS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = '{}'"


@pytest.fixture
def url(postgres: PostgresServer, emptied: str) -> str:
    return postgres.url(emptied)


async def test_what_one_control_plane_frees_wakes_waiters_of_another(url):
    bell = Bell()
    listening = SqlStore(url, clock=SystemClock(), bell=bell)
    await listening.open()
    async with control_planes(url) as [store]:
        await with_cameras(store)
        await with_runners(store, ONE)
        await take(store, ONE)
        await settled(store, bell)
        waiting = asyncio.create_task(bell.wait(bell.cursor, at_most=PATIENCE))
        await store.release(ONE, [named()])
        assert await waiting
    await listening.close()


async def test_a_listener_whose_connection_is_killed_listens_again_and_wakes_everyone(
    url, postgres: PostgresServer, emptied: str
):
    bell = Bell()
    listening = SqlStore(url, clock=SystemClock(), bell=bell)
    await listening.open()
    async with control_planes(url) as [store]:
        await settled(store, bell)
        before = bell.cursor
        await postgres.run(KILL_LISTENERS.format(emptied))
        assert await bell.wait(before, at_most=PATIENCE), "the new connection rings once for all that was missed"
        before = bell.cursor
        await with_cameras(store)
        assert await bell.wait(before, at_most=PATIENCE)
    await listening.close()


async def settled(store: SqlStore, bell: Bell) -> None:
    """Rings come in order: after this one none is on its way."""
    before = bell.cursor
    await with_cameras(store, "cam-settled")
    assert await bell.wait(before, at_most=PATIENCE)
