"""The clock guard on a real PostgreSQL whose clock somebody sets."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from streamward.leases.lease import DenialReason, Denied
from streamward.leases.store import Claim, Granted, Lapse
from tests.support.builders import CAMERA, an_owner
from tests.support.fleet import take, with_cameras, with_runners
from tests.support.postgres import PostgresServer
from tests.support.stores import control_planes

ONE, TWO = an_owner("runner-1"), an_owner("runner-2")
TTL = 2.0  # seconds; a few calls have to fit in
SHIFTED = """
    CREATE TABLE test_shift AS SELECT interval '0' AS shift;
    CREATE OR REPLACE FUNCTION lease_now() RETURNS timestamptz LANGUAGE sql
        AS 'SELECT clock_timestamp() + shift FROM test_shift'
"""
Shift = Callable[[str], Awaitable[None]]


@pytest.fixture
async def shift(postgres: PostgresServer, database: str) -> Shift:
    await postgres.run(SHIFTED, database=database)

    async def by(interval: str) -> None:
        await postgres.run(f"UPDATE test_shift SET shift = shift + interval '{interval}'", database=database)

    return by


@pytest.mark.parametrize("interval", ["1 hour", "-1 hour", "3 seconds"])
async def test_a_step_of_the_servers_clock_expires_nothing_for_one_ttl(
    postgres: PostgresServer, database: str, shift: Shift, interval: str
):
    async with control_planes(postgres.url(database)) as [store]:
        await with_cameras(store)
        await with_runners(store, ONE, TWO)
        await wait_until_steady(store.lapse)
        await take(store, ONE, ttl=TTL)
        claim = Claim(owner=TWO, camera_id=CAMERA)
        await shift(interval)
        assert await store.acquire(claim) == Denied(DenialReason.HELD)
        assert (await store.lapse()).orphaned == ()
        async with asyncio.timeout(60):
            while not isinstance(granted := await store.acquire(claim), Granted):
                pass
        assert granted.leases[0][0].generation == 2


async def wait_until_steady(lapse: Callable[[], Awaitable[Lapse]]) -> None:
    """Until this control plane has watched the clock for longer than the ttl."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    while loop.time() < begun + TTL:
        await lapse()


async def test_time_goes_on_inside_a_transaction(postgres: PostgresServer, database: str):
    async with control_planes(postgres.url(database)) as [store], store._db.session() as session:
        assert await store._db.now(session) < await store._db.now(session)
