"""Batchers and control planes at the same rows, on a real PostgreSQL: nobody waits in a ring, nothing comes twice."""

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from typing import Any

import asyncpg
import pytest

from streamward.drivers.sql import SqlInsight, SqlStore
from streamward.insight.records import Recent
from streamward.insight.store import Stored
from streamward.leases.store import Named, OpenClaim, StoreUnavailable
from streamward.model.ids import TenantId
from tests.support.broadcasts import broadcast
from tests.support.builders import CAMERA, a_site, an_owner
from tests.support.fleet import renew, take, with_cameras, with_runners
from tests.support.postgres import PostgresServer
from tests.support.sightings import a_sealed, a_seen
from tests.support.stores import batchers, control_planes

ONE, TWO = an_owner("runner-1"), an_owner("runner-2")
TENANT = TenantId("tenant-1")
AHEAD = datetime(2100, 1, 1, tzinfo=UTC)  # dated back to the moment at which it is stored
GRANT = (
    "UPDATE stream_leases SET generation = generation + 1, granted_at = clock_timestamp(), runner_id = 'runner-2',"
    " incarnation = 'inc-1' WHERE camera_uuid = 'cam-1'"
)
LOCK = "SELECT FROM stream_leases WHERE camera_uuid = 'cam-1' FOR UPDATE"  # which a control plane takes first
HOLD = "SELECT FROM grants_of(ARRAY['cam-1'], ARRAY[1::bigint], false)"
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


@pytest.fixture
def url(postgres: PostgresServer, emptied: str) -> str:
    return postgres.url(emptied)


@asynccontextmanager
async def in_the_middle(url: str, *changes: str) -> AsyncIterator[Any]:
    """Somebody who has done something and not committed it."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("BEGIN")
        for change in changes:
            await connection.execute(change)
        yield connection
    finally:
        connection.terminate()


async def until_one_waits(url: str) -> None:
    """Until a statement waits for a lock."""
    connection = await asyncpg.connect(url)
    try:
        async with asyncio.timeout(60):
            while not await connection.fetchval(WAITING):
                pass
    finally:
        await connection.close()


async def with_a_lease(store: SqlStore, *camera_ids: str) -> None:
    await with_cameras(store, *(camera_ids or (CAMERA,)))
    await with_runners(store, ONE, TWO)
    for camera_id in camera_ids or (CAMERA,):
        await take(store, ONE, camera_id)


async def stored(insight: SqlInsight, count: int) -> list[int]:
    admitted = await insight.detections.admit([a_seen(f"event-{number}") for number in range(count)])
    return [each.detection_id for each in admitted.stored if each is not None]


async def surely(call: Callable[[], Awaitable[Any]]) -> Any:
    """Asks again until the database answers, as everybody does."""
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(StoreUnavailable):
                return await call()


async def hand_over(stores: Sequence[SqlStore], *, turns: int) -> None:
    """The camera goes to and fro between two runners."""
    for turn in range(turns):
        giver, taker = (ONE, TWO) if turn % 2 == 0 else (TWO, ONE)
        store = stores[turn % 2]
        lease = await surely(partial(store.find, CAMERA))
        await surely(partial(store.release, giver, [Named(CAMERA, None, made_until=lease.granted_at)]))
        await surely(partial(take, store, taker))


async def see_always(insight: SqlInsight, name: str, *, until: "asyncio.Task[None]") -> None:
    """Says in the name of owners past, present and to come that they see something just now, over and over."""
    newest = 1
    for number in itertools.count():
        if until.done():
            return
        generations = range(max(1, newest - 2), newest + 2)
        seen = [
            a_seen(f"{name}.{number}.{each}", generation=each, owner=ONE if each % 2 else TWO, made_at=AHEAD)
            for each in generations
        ]
        found = (await surely(partial(insight.detections.admit, seen))).stored
        newest = max((each for each, one in zip(generations, found, strict=True) if one), default=newest)


@pytest.mark.parametrize("granted", [(LOCK, GRANT), (GRANT,)], ids=["by-a-control-plane", "by-somebody-else"])
async def test_what_waited_for_a_grant_is_judged_by_it(url, granted):
    async with control_planes(url) as [store], batchers(url) as [insight]:
        await with_a_lease(store, "cam-1", "cam-2")
        async with in_the_middle(url, *granted) as granting:
            seen = [a_seen("stale", made_at=AHEAD), a_seen("free", camera_id="cam-2", made_at=AHEAD)]
            asked = asyncio.create_task(surely(partial(insight.detections.admit, seen)))
            await until_one_waits(url)
            assert not asked.done()
            await granting.execute("COMMIT")
            stale, free = (await asked).stored
    assert stale is None
    assert free is not None


async def test_a_grant_that_was_given_up_costs_nothing_but_the_wait(url):
    async with control_planes(url) as [store], batchers(url) as [insight]:
        await with_a_lease(store)
        async with in_the_middle(url, LOCK, GRANT) as granting:
            asked = asyncio.create_task(surely(partial(insight.detections.admit, [a_seen(made_at=AHEAD)])))
            await until_one_waits(url)
            await granting.execute("ROLLBACK")
            [found] = (await asked).stored
    assert found is not None
    assert not found.is_late


async def test_who_stores_detections_makes_no_lease_busy_and_grants_are_dated_after_them(url):
    async with control_planes(url) as [store], batchers(url) as [insight]:
        await with_a_lease(store)
        lease = await store.find(CAMERA)
        assert lease is not None
        async with in_the_middle(url, HOLD) as storing:
            assert (await renew(store, ONE, lease)).busy == ()
            assert await store.release(ONE, [Named(CAMERA, None, made_until=lease.expires_at)]) == (CAMERA,)
            asked = asyncio.create_task(surely(partial(store.acquire_free, OpenClaim(owner=TWO, limit=1))))
            await until_one_waits(url)
            [last] = (await insight.detections.admit([a_seen(made_at=lease.expires_at)])).stored
            await storing.execute("COMMIT")
            await asked
        assert last is not None
        heir = (await store.history(CAMERA))[-1]
    assert (heir.generation, heir.owner) == (2, TWO)
    assert last.made_at < heir.granted_at


async def test_accepted_detections_of_two_owners_never_share_a_moment(url):
    async with control_planes(url, 2) as stores, batchers(url, 2) as insights:
        await with_a_lease(stores[0])
        handing_over = asyncio.create_task(hand_over(stores, turns=30))
        async with asyncio.TaskGroup() as group:
            for place, insight in enumerate(insights):
                group.create_task(see_always(insight, str(place), until=handing_over))
        await handing_over
        grants = await stores[0].history(CAMERA)
        found = await insights[0].records.detections(Recent(scope=None, limit=100_000))
    ends = {earlier.generation: later.granted_at for earlier, later in pairwise(grants)}
    assert len(ends) == 30
    assert len({each.seen.generation for each in found}) > 1
    assert [each for each in found if each.seen.made_at >= ends.get(each.seen.generation, AHEAD)] == []


async def test_two_batchers_that_store_the_same_store_it_once(url):
    seen = [a_seen(f"event-{number}", index) for number in range(15) for index in range(4)]
    async with control_planes(url) as [store], batchers(url, 3) as insights:
        await with_a_lease(store)
        offers = [seen, seen[::-1], seen[30:] + seen[:30]] * 2
        answers = await asyncio.gather(
            *(surely(partial(insights[place % 3].detections.admit, each)) for place, each in enumerate(offers))
        )
    ids: dict[tuple[str, int], set[int]] = {}
    new: Counter[tuple[str, int]] = Counter()
    for offered, admitted in zip(offers, answers, strict=True):
        for each, found in zip(offered, admitted.stored, strict=True):
            assert isinstance(found, Stored)
            ids.setdefault((each.event_id, each.index), set()).add(found.detection_id)
            new[each.event_id, each.index] += found.is_new
    assert {len(each) for each in ids.values()} == {1}
    assert max(new.values()) == 1


async def test_of_two_who_close_one_batch_one_does(url):
    async with control_planes(url) as [store], batchers(url, 2) as insights:
        await with_a_lease(store)
        batch = a_sealed(await stored(insights[0], 40))
        closed = await asyncio.gather(
            *(surely(partial(insights[place % 2].batches.close_batch, batch)) for place in range(6))
        )
        waiting = await insights[0].batches.untold(limit=9)
    assert sum(each.is_new for each in closed) == 1
    assert {each.batch for each in closed} == {batch}
    assert [each.batch for each in waiting] == [batch]


async def test_a_detection_that_two_batches_name_is_in_one_of_them(url):
    async with control_planes(url) as [store], batchers(url, 2) as insights:
        await with_a_lease(store)
        ids = await stored(insights[0], 40)
        orders = (ids, ids[::-1], ids[20:] + ids[:20], ids[:30])
        batches = [a_sealed(each, number=number) for number, each in enumerate(orders)]
        closed = await asyncio.gather(
            *(surely(partial(insights[place % 2].batches.close_batch, each)) for place, each in enumerate(batches))
        )
        loose = await insights[0].detections.loose(stored_before=AHEAD, after=0, limit=99)
    claimed = [each for one in closed for each in one.batch.detection_ids]
    assert sorted(claimed) == sorted(ids)
    assert loose == []


async def test_who_forgets_and_who_gives_back_at_once_leave_nothing_half_done(url):
    async with control_planes(url) as [store], batchers(url, 2) as (one, two):
        await with_a_lease(store)
        batches = [a_sealed([each], number=number) for number, each in enumerate(await stored(one, 20))]
        for batch in batches:
            await one.batches.close_batch(batch)
        freed, pruned = await asyncio.gather(
            asyncio.gather(*(surely(partial(one.batches.reopen, each.batch_id)) for each in batches)),
            asyncio.gather(
                *(surely(partial(each.records.prune, {}, otherwise=0.0, limit=7)) for each in (one, two, one, two))
            ),
        )
        left = await two.records.detections(Recent(scope=TENANT))
    assert sum(map(len, freed)) == len(left)
    assert {each.batch_id for each in left} <= {None}
    assert max(pruned) <= 7


async def test_numbers_of_broadcasts_come_to_light_in_their_order(url):
    first = (
        "SELECT pg_advisory_xact_lock(21336)",
        "INSERT INTO broadcasts (tenant_id, kind, body, at) VALUES ('tenant-1', 'detection.new', 'first', now())",
    )
    async with control_planes(url) as [store], batchers(url) as [insight]:
        await store.save_site(a_site())
        async with in_the_middle(url, *first) as telling:
            asked = asyncio.create_task(
                surely(partial(broadcast, insight, TENANT, "detection.new", ["second", "third"]))
            )
            await until_one_waits(url)
            assert await insight.broadcasts.after(0, scope=None, limit=9) == []
            await telling.execute("COMMIT")
            await asked
        told = await insight.broadcasts.after(0, scope=TENANT, limit=9)
    assert [each.body for each in told] == ["first", "second", "third"]


async def test_a_camera_that_stays_locked_fails_the_call_and_nothing_of_it_is_lost(url):
    seen = [a_seen("stuck"), a_seen("free", camera_id="cam-2")]
    async with control_planes(url) as [store], batchers(url) as [insight]:
        await with_a_lease(store, "cam-1", "cam-2")
        async with in_the_middle(url, LOCK, GRANT):
            with pytest.raises(StoreUnavailable):
                await insight.detections.admit(seen)
        stuck, free = (await surely(partial(insight.detections.admit, seen))).stored
    assert stuck is not None
    assert stuck.is_new
    assert free is not None
    assert free == replace(free, is_new=False)
