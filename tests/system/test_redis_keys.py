"""The keys in Redis: as S2 names them, each for a while, and all of a tenant in one slot."""

import asyncio
import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis

from streamward.drivers.redis import RedisOpenBatches
from streamward.insight.batch import Limits, Sighting
from streamward.model.ids import TenantId
from tests.support.builders import START, at
from tests.support.indexes import Batcher, numbered, sightings
from tests.support.ports import free_port
from tests.support.redis_server import PrivateRedis, asked, contents, running

EPOCH, TICK = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
FIRST = f"batch-{1:032x}"
HOUR, FLAG = range(3600 - 300, 3601), range(1, 301)  # seconds that a key has left, on a slow machine


@pytest.fixture(scope="module")
def cluster() -> Iterator[PrivateRedis]:
    """A Redis Cluster of one node, which refuses calls with keys of several slots."""
    with running({"cluster-enabled": "yes", "cluster-port": str(free_port())}) as server:
        yield server


async def test_an_open_batch_has_the_keys_of_the_specification(mortal_redis: PrivateRedis) -> None:
    batcher = Batcher(RedisOpenBatches(mortal_redis.at(), numbered()), TenantId("t-01"))
    await batcher.add(sightings(0, 12.5, 5), now=at(14))
    async with mortal_redis.client() as client:
        found = await contents(client)
        lives = {key: await client.ttl(key) for key in found}
    started = START.timestamp()
    assert found == {
        "{t-01}:batch:cam-1:current": FIRST,
        f"{{t-01}}:batch:{FIRST}:camera_id": "cam-1",
        f"{{t-01}}:batch:{FIRST}:detections": ["1", "2", "3"],
        f"{{t-01}}:batch:{FIRST}:started_at": f"{started + 14:.6f}",
        f"{{t-01}}:batch:{FIRST}:last_activity": f"{started + 12.5:.6f}",
        f"{{t-01}}:batch:{FIRST}:pipeline_start_time": "2026-01-01T00:00:00Z",
        f"{{t-01}}:batch:{FIRST}:first_made_at": f"{started:.6f}",
        "{t-01}:batch:cam-1:places": {"1": FIRST, "2": FIRST, "3": FIRST},
        "{t-01}:batches:window": [[FIRST, (started + 91.5) * 1e6]],
        "{t-01}:batches:idle": [[FIRST, (started + 44) * 1e6]],
    }
    assert all(left in HOUR for left in lives.values()), lives
    await batcher.aclose()


async def test_a_sealed_batch_has_a_flag_for_five_minutes_and_leaves_nothing(mortal_redis: PrivateRedis) -> None:
    batcher = Batcher(RedisOpenBatches(mortal_redis.at(), numbered()), TenantId("t-01"))
    await batcher.add(sightings(0))
    sealed = await batcher.seal_due(at(31))
    async with mortal_redis.client() as client:
        found = await contents(client)
        assert found[f"{{t-01}}:batch:{FIRST}:closed_at"] == f"{at(31).timestamp():.6f}"
        assert found[f"{{t-01}}:batch:{FIRST}:close_reason"] == "idle_timeout"
        assert "{t-01}:batch:cam-1:current" not in found
        lives = {key: await client.ttl(key) for key in found}
        assert lives.pop(f"{{t-01}}:batch:{FIRST}:closing") in FLAG
        assert all(left in HOUR for left in lives.values()), lives
        await batcher.forget(*sealed)
        assert await contents(client) == {}
    await batcher.aclose()


async def test_keys_live_on_with_each_detection_and_until_their_batch_is_due(mortal_redis: PrivateRedis) -> None:
    batcher = Batcher(RedisOpenBatches(mortal_redis.at(), numbered()), TenantId("t-01"))
    await batcher.add(sightings(0))
    async with mortal_redis.client() as client:
        for key in await contents(client):
            await client.expire(key, 60)
        await batcher.add(sightings(1, first=2))
        assert all([await client.ttl(key) in HOUR for key in await contents(client)])
        long = Limits(window=20_000, idle=10_000)
        await batcher.add(sightings(2, first=3), limits=long)
        assert all([await client.ttl(key) > 10_000 for key in await contents(client)])
    await batcher.aclose()


async def test_what_expired_is_no_batch_any_more(mortal_redis: PrivateRedis) -> None:
    batcher = Batcher(RedisOpenBatches(mortal_redis.at(), numbered()), TenantId("t-01"))
    await batcher.add(sightings(0, 1))
    async with mortal_redis.client() as client:
        for part in ("camera_id", "detections", "started_at", "last_activity"):
            await client.delete(f"{{t-01}}:batch:{FIRST}:{part}")
        (second,) = (await batcher.add(sightings(1, first=2))).batch_ids
        assert second != FIRST
        assert [batch.detection_ids for batch in await batcher.seal_due(at(100))] == [(2,)]
        await client.delete(f"{{t-01}}:batch:{second}:detections")
        assert await batcher.seal_due(at(1000)) == []
        assert await client.zcard("{t-01}:batches:window") == await client.zcard("{t-01}:batches:sealed") == 0
        assert await client.zcard("{t-01}:batches:idle") == 0
    await batcher.aclose()


@settings(max_examples=60)
@given(made_at=st.integers(0, 4 * 10**15).map(lambda moment: EPOCH + moment * TICK))
def test_the_first_picture_is_dated_as_everywhere_else(redis_server: PrivateRedis, made_at: datetime) -> None:
    async def told() -> str:
        batcher = Batcher(RedisOpenBatches(redis_server.at()), TenantId("dates"))
        async with redis_server.client() as client:
            await client.flushdb()
            (batch_id,) = (await batcher.add([Sighting(1, made_at)])).batch_ids
            await batcher.aclose()
            return str(await client.get(f"{{dates}}:batch:{batch_id}:pipeline_start_time"))

    assert asyncio.run(told()) == made_at.isoformat().replace("+00:00", "Z")


@settings(max_examples=40)
@given(tenant=st.text(st.characters(codec="utf-8"), min_size=1), camera=st.text(st.characters(codec="utf-8")))
def test_all_keys_of_a_tenant_are_in_one_slot(cluster: PrivateRedis, tenant: str, camera: str) -> None:
    async def look() -> None:
        batcher = Batcher(RedisOpenBatches(cluster.at()), TenantId(tenant))
        async with cluster.client() as client, contextlib.aclosing(batcher):
            await _whole(client)
            await batcher.add(sightings(0, 1, 2), camera=camera, limits=Limits(most=2))
            await batcher.add(sightings(-1000, first=4), camera=camera, now=at(2))
            slots = await asked(client, *(("CLUSTER KEYSLOT", key) for key in await contents(client)))
            assert len(set(slots)) == 1
            closed = await batcher.seal_due(at(2000))
            assert {batch.camera_id for batch in closed} == {camera}
            await batcher.forget(*closed)
            assert await contents(client) == {}

    asyncio.run(look())


async def _whole(client: Redis) -> None:
    """One node has every slot."""

    async def is_whole() -> bool:
        (told,) = await asked(client, ("CLUSTER INFO",))
        return str(told["cluster_state"]) == "ok"

    if not await is_whole():
        await asked(client, ("CLUSTER ADDSLOTSRANGE", 0, 16383))
    async with asyncio.timeout(60):
        while not await is_whole():
            pass
