"""A Redis that is killed, with and without what it kept: it has all, some or nothing of it, and no half calls."""

import asyncio
import contextlib
import random
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from streamward.drivers.redis import RedisOpenBatches
from streamward.insight.batch import Limits, Sealed
from streamward.insight.store import IndexAway
from streamward.model.ids import TenantId
from tests.support.builders import at
from tests.support.indexes import Batcher, sightings
from tests.support.redis_server import PrivateRedis, contents, running

SMALL = Limits(most=3)
CUTS = 12

Contents = dict[str, object]


@contextlib.asynccontextmanager
async def a_batcher(server: PrivateRedis) -> AsyncIterator[Batcher]:
    batcher = Batcher(RedisOpenBatches(server.at()), TenantId("t-01"))
    async with contextlib.aclosing(batcher):
        yield batcher


async def look(server: PrivateRedis) -> Contents:
    async with server.client() as client:
        return await contents(client)


def calls(batcher: Batcher) -> list[Callable[[], Awaitable[object]]]:
    """A while of a batcher's life, in which batches open, fill, are due and are forgotten."""

    due: list[Sealed] = []

    async def seal() -> None:
        due.extend(await batcher.seal_due(at(40)))

    return [
        lambda: batcher.add(sightings(0, 1)),
        lambda: batcher.add(sightings(0, 2, 3, 4, first=11), camera="cam-2", limits=SMALL),
        lambda: batcher.add(sightings(5, 6, first=3), limits=SMALL),
        lambda: batcher.add_urgent(sightings(7, first=30)[0]),
        seal,
        lambda: batcher.forget(*due),
        lambda: batcher.add(sightings(41, 42, first=5)),
        lambda: batcher.add(sightings(-1000, first=7), now=at(43)),
    ]


async def lived(server: PrivateRedis) -> list[Contents]:
    """What was in it after each call, and before."""
    snapshots = [await look(server)]
    async with a_batcher(server) as batcher:
        for call in calls(batcher):
            await call()
            snapshots.append(await look(server))
    return snapshots


async def test_without_anything_kept_all_begins_anew(mortal_redis: PrivateRedis) -> None:
    async with a_batcher(mortal_redis) as batcher:
        began = await batcher.index.began()
        (first, _) = (await batcher.add(sightings(0, 1))).batch_ids
        mortal_redis.kill()
        with pytest.raises(IndexAway):
            await batcher.add(sightings(2, first=3))
        mortal_redis.start()
        assert await batcher.index.began() != began
        assert await batcher.next_window_end() is None
        again = await batcher.add(sightings(0, 1, 2))
        assert len(set(again.batch_ids)) == 1
        assert first not in again.batch_ids


async def test_what_is_thrown_away_is_noticed(mortal_redis: PrivateRedis) -> None:
    async with a_batcher(mortal_redis) as batcher, mortal_redis.client() as client:
        began = await batcher.index.began()
        assert await batcher.index.began() == began
        await client.flushall()
        assert await batcher.index.began() != began


@pytest.mark.parametrize("fsync", ["always", "everysec"])
async def test_what_was_kept_is_there_after_a_kill(fsync: str) -> None:
    with running({"appendonly": "yes", "appendfsync": fsync}) as server:
        snapshots = await lived(server)
        async with a_batcher(server) as batcher:
            began = await batcher.index.began()
            server.kill()
            server.start()
            found = await look(server)
            found.pop("batches:began", None)
            assert found == snapshots[-1] if fsync == "always" else found in snapshots
            assert await batcher.index.began() != began  # it may have lost a second


async def test_a_power_cut_leaves_whole_calls_and_the_rest_can_be_told_again() -> None:
    with running({"appendonly": "yes", "appendfsync": "everysec"}) as server:
        snapshots = await lived(server)
        server.kill()
        (log,) = (server.folder / "appendonlydir").glob("*.incr.aof")
        whole = log.read_bytes()
        for size in sorted(random.sample(range(len(whole)), CUTS)):
            log.write_bytes(whole[:size])
            server.start()
            assert await look(server) in snapshots, f"{size} of {len(whole)} bytes"
            async with a_batcher(server) as batcher:
                await _told_again(batcher)
            server.kill()


async def _told_again(batcher: Batcher) -> None:
    """Whatever was lost, each detection ends in one batch."""
    await batcher.add(sightings(0, 1, 5, 6, 41, 42), now=at(50))
    await batcher.add(sightings(0, 2, 3, 4, first=11), camera="cam-2", now=at(50))
    sealed = await batcher.seal_due(at(1e6), limit=1000)
    members = Counter((batch.camera_id, detection) for batch in sealed for detection in batch.detection_ids)
    assert set(members.values()) == {1}
    assert {("cam-1", 1), ("cam-1", 6), ("cam-2", 11), ("cam-2", 14)} <= set(members)
    assert await batcher.next_window_end() is None


async def test_many_batchers_put_each_detection_into_one_batch(redis_server: PrivateRedis) -> None:
    tenant = TenantId(secrets.token_hex(4))
    batchers = [Batcher(RedisOpenBatches(redis_server.at()), tenant) for _ in range(4)]
    offered = [sightings(*(number / 10 for number in range(first, first + 5)), first=first + 1) for first in range(100)]
    mixed = [(batcher, each) for batcher in batchers for each in offered]
    random.shuffle(mixed)
    placed = await asyncio.gather(*(batcher.add(each, now=at(11), limits=Limits(most=10)) for batcher, each in mixed))
    closed = {batch.batch_id: batch for each in placed for batch in each.sealed}
    for batcher in batchers:
        closed |= {batch.batch_id: batch for batch in await batcher.seal_due(at(1000))}
        await batcher.aclose()
    members = Counter(detection for batch in closed.values() for detection in batch.detection_ids)
    assert members == dict.fromkeys(range(1, 105), 1)
