"""Claims at once, and control planes that die or freeze, on a real PostgreSQL."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from streamward.drivers.sql import SqlStore, downgrade, migrate
from streamward.drivers.sql.engine import POOL_SIZE, connect_postgres
from streamward.leases.lease import DenialReason, Denied
from streamward.leases.store import Claim, Granted, Named, OpenClaim, StoreUnavailable
from streamward.model.ids import CameraId
from streamward.runtime.bell import Bell
from streamward.runtime.clock import SystemClock
from tests.support.builders import CAMERA, a_spec, an_owner
from tests.support.fleet import kept, renew, take, with_cameras, with_runners
from tests.support.postgres import PostgresServer
from tests.support.stores import control_planes

ONE = an_owner("runner-1")
CAMERAS = tuple(f"cam-{number}" for number in range(10))


@pytest.fixture
def url(postgres: PostgresServer, emptied: str) -> str:
    return postgres.url(emptied)


@asynccontextmanager
async def locked(url: str, sql: str) -> AsyncIterator[Any]:
    """A control plane frozen in the middle of a transaction that locked a row."""
    connection = await connect_postgres(url)
    try:
        await connection.execute("BEGIN")
        await connection.execute(f"SELECT FROM {sql} FOR UPDATE")
        yield connection
    finally:
        connection.terminate()


async def test_of_a_hundred_claimants_of_one_camera_one_wins(url):
    owners = [an_owner(f"runner-{number}") for number in range(100)]
    async with control_planes(url, 3) as stores:
        await with_cameras(stores[0])
        await with_runners(stores[0], *owners)
        outcomes = await asyncio.gather(
            *(stores[n % 3].acquire(Claim(owner=owner, camera_id=CAMERA)) for n, owner in enumerate(owners))
        )
        assert Counter(type(outcome) for outcome in outcomes) == {Granted: 1, Denied: 99}
        assert {outcome for outcome in outcomes if isinstance(outcome, Denied)} == {Denied(DenialReason.HELD)}
        assert len(await stores[0].history(CAMERA)) == 1


async def test_claims_of_one_runner_at_once_never_exceed_its_capacity(url):
    async with control_planes(url, 2) as stores:
        await with_cameras(stores[0], *CAMERAS)
        await stores[0].register(a_spec(ONE, capacity=3))
        claims = [Claim(owner=ONE, camera_id=CameraId(camera_id)) for camera_id in CAMERAS]
        await asyncio.gather(
            *(stores[number % 2].acquire(claim) for number, claim in enumerate(claims)),
            *(store.acquire_free(OpenClaim(owner=ONE, limit=5)) for store in stores),
        )
        assert (await stores[0].counts()).leased == 3


async def test_runners_that_ask_at_once_share_the_free_cameras_without_overlap(url):
    owners = [an_owner(f"runner-{number}") for number in range(5)]
    async with control_planes(url, 2) as stores:
        await with_cameras(stores[0], *CAMERAS)
        await with_runners(stores[0], *owners)
        claims = [OpenClaim(owner=owner, limit=40) for owner in owners]
        while (await stores[0].counts()).free:  # what somebody else was just taking is left for the next time
            await asyncio.gather(*(stores[n % 2].acquire_free(claim) for n, claim in enumerate(claims)))
        histories = [await stores[0].history(CameraId(camera_id)) for camera_id in CAMERAS]
    assert [len(history) for history in histories] == [1] * len(CAMERAS)


async def test_no_acquire_slips_in_behind_the_end_of_its_incarnation(url):
    async with control_planes(url, 2) as (one, other):
        await with_cameras(one, *CAMERAS)
        await with_runners(one, ONE)
        claims = [Claim(owner=ONE, camera_id=CameraId(camera_id)) for camera_id in CAMERAS]
        early, late = claims[:5], claims[5:]
        await asyncio.gather(
            *(one.acquire(claim) for claim in early), other.end(ONE), *(one.acquire(claim) for claim in late)
        )
        assert (await one.counts()).leased == 0


async def test_a_row_locked_by_a_frozen_control_plane_costs_a_runner_none_of_its_other_cameras(url):
    async with control_planes(url) as [store]:
        await with_cameras(store, *CAMERAS)
        await with_runners(store, ONE)
        leases = [await take(store, ONE, camera_id) for camera_id in CAMERAS]
        async with locked(url, "stream_leases WHERE camera_uuid = 'cam-3'") as frozen:
            gone = asyncio.Event()
            frozen.add_termination_listener(lambda _: gone.set())
            outcome = await renew(store, ONE, *leases)
            assert outcome.busy == ("cam-3",)
            assert outcome.kept == tuple(kept(lease) for lease in leases if lease.camera_id != "cam-3")
            await asyncio.wait_for(gone.wait(), 60)  # the server ends a transaction that lies idle
        assert (await renew(store, ONE, *leases)).busy == ()


async def test_a_release_that_waits_for_a_locked_row_holds_up_no_other(url):
    two = an_owner("runner-2")
    async with control_planes(url) as [store]:
        await with_cameras(store, "cam-1", "cam-2")
        await with_runners(store, ONE, two)
        await take(store, ONE, "cam-1")
        await take(store, two, "cam-2")
        async with locked(url, "stream_leases WHERE camera_uuid = 'cam-1'"):
            waits = asyncio.create_task(store.release(ONE, [Named(CameraId("cam-1"), None)]))
            async with asyncio.timeout(60):
                assert await store.release(two, [Named(CameraId("cam-2"), None)]) == ("cam-2",)
            assert not waits.done()
        assert await waits == ("cam-1",)


async def test_a_free_camera_locked_by_somebody_is_left_out(url):
    async with control_planes(url) as [store]:
        await with_cameras(store, "cam-1", "cam-2")
        await with_runners(store, ONE)
        async with locked(url, "stream_leases WHERE camera_uuid = 'cam-1'"):
            granted = await store.acquire_free(OpenClaim(owner=ONE, limit=5))
        assert isinstance(granted, Granted)
        assert [lease.camera_id for lease, _ in granted.leases] == ["cam-2"]
        assert granted.more


async def test_no_call_hangs_on_a_lock(url):
    async with control_planes(url) as [store]:
        await with_runners(store, ONE)
        async with locked(url, "runners"), asyncio.timeout(60):
            with pytest.raises(StoreUnavailable):
                await store.heartbeat(ONE)


@pytest.mark.parametrize("row", ["runners", "stream_leases WHERE camera_uuid = 'cam-1'"])
async def test_acquires_given_up_in_the_middle_leave_nothing_locked_and_no_connection_taken(url, row):
    claims = [Claim(owner=ONE, camera_id=CameraId(camera_id)) for camera_id in CAMERAS]
    async with control_planes(url) as [store]:
        await with_cameras(store, *CAMERAS)
        await with_runners(store, ONE)
        async with locked(url, row):
            asked = [asyncio.create_task(store.acquire(claims[1])) for _ in range(2 * POOL_SIZE)]
            await asyncio.wait(asked, timeout=0.2)  # they wait for the row, for each other, and for a connection
            for task in asked:
                task.cancel()
            await asyncio.wait(asked)
        outcomes = [await store.acquire(claim) for claim in claims]
    assert {type(outcome) for outcome in outcomes} == {Granted}


async def test_connections_that_died_while_idle_cost_one_call_at_most(url, postgres: PostgresServer, emptied: str):
    async with control_planes(url) as [store]:
        await with_cameras(store)
        await postgres.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            f" WHERE datname = '{emptied}' AND application_name = 'streamward'"
        )
        with contextlib.suppress(StoreUnavailable):  # if the news of their death is still on the way
            await store.find(CAMERA)
        assert await store.find(CAMERA) is not None


async def test_without_a_server_every_call_says_so(postgres: PostgresServer):
    store = SqlStore(postgres.url("no_such_database"), clock=SystemClock(), bell=Bell())
    with pytest.raises(StoreUnavailable):
        await store.open()
    with pytest.raises(StoreUnavailable):
        await store.ping()
    await store.close()


async def test_control_planes_that_start_at_once_migrate_once(postgres: PostgresServer, database: str):
    url = postgres.url(database)
    await downgrade(url)
    await asyncio.gather(*(migrate(url) for _ in range(4)))
    async with control_planes(url) as [store]:
        await with_cameras(store)
        assert await store.find(CAMERA) is not None
