"""A Redis that refuses, is full, read only, broken or away: the reason is told, nothing is done, no secret is seen."""

import asyncio
import contextlib
import logging
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TypeVar

import pytest
from redis.asyncio import Redis

from streamward.drivers.redis import Patience, RedisOpenBatches, RedisServer
from streamward.insight.store import IndexAway
from streamward.model.ids import TenantId
from streamward.model.secret import Secret
from tests.support.builders import at
from tests.support.indexes import Batcher, sightings
from tests.support.ports import free_port
from tests.support.redis_server import PASSWORD, PrivateRedis, asked, contents, running

CANARY = "c@nary"
A = TypeVar("A")


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No log says a secret."""
    caplog.set_level(logging.DEBUG)
    yield
    assert CANARY not in caplog.text
    assert PASSWORD not in caplog.text


def reached(url: str, *, patience: float = 60.0) -> Batcher:
    server = RedisServer(url=Secret(url), patience=Patience(connect=patience, answer=patience))
    return Batcher(RedisOpenBatches(server), TenantId("t-01"))


async def why(batcher: Batcher) -> str:
    """What is said when something is to be added; no secret is in it, nor in what lies behind it."""
    with pytest.raises(IndexAway) as away:
        await batcher.add(sightings(0))
    await batcher.aclose()
    told = "".join(traceback.format_exception(away.value))
    assert CANARY not in told
    assert PASSWORD not in told
    assert "evalsha" not in told.lower().replace("await", "")
    return away.value.why


@contextlib.asynccontextmanager
async def with_a_batch(server: PrivateRedis) -> AsyncIterator[tuple[Batcher, Redis]]:
    """Somebody who has a batch open, and somebody who looks."""
    batcher = reached(server.url())
    async with contextlib.aclosing(batcher), server.client() as client:
        await batcher.add(sightings(0, 1), camera="cam-2")
        yield batcher, client


async def repeated(call: Callable[[], Awaitable[A]]) -> A:
    """The answer of somebody who has little patience, on a machine that may be slow."""
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(IndexAway):
                return await call()


async def _failed_save(client: Redis) -> None:
    await client.bgsave()
    while (await client.info("persistence"))["rdb_last_bgsave_status"] == "ok":
        pass


async def test_nobody_there_raises_and_leaves_nothing() -> None:
    port = free_port()
    batcher = reached(f"redis://:{CANARY}@127.0.0.1:{port}/")
    with pytest.raises(IndexAway) as away:
        await batcher.add(sightings(0))
    assert str(away.value) == f"the index of open batches 127.0.0.1:{port} does not answer: connection refused"
    for call in (batcher.next_window_end(), batcher.seal_due(at(0)), batcher.index.began()):
        with pytest.raises(IndexAway):
            await call
    await batcher.aclose()


@pytest.mark.parametrize("login", ["", f":{CANARY}@", f"somebody:{CANARY}@"])
async def test_a_wrong_login_is_told_without_it(redis_server: PrivateRedis, login: str) -> None:
    batcher = reached(f"redis://{login}127.0.0.1:{redis_server.port}/")
    assert await why(batcher) == "it refuses the user or the password"


async def test_a_name_that_is_not_known_is_told() -> None:
    assert await why(reached(f"redis://:{CANARY}@no-such-host.invalid/")) == "its name is not known"


async def test_tls_is_checked_and_used(redis_server: PrivateRedis) -> None:
    trusting = reached(redis_server.tls_url(authority=redis_server.authority))
    assert len((await trusting.add(sightings(0))).batch_ids) == 1
    await trusting.aclose()
    assert (await why(reached(redis_server.tls_url()))).startswith("its certificate is not trusted")


async def test_what_a_user_may_not_do_is_told(redis_server: PrivateRedis) -> None:
    async with redis_server.client() as client:
        await asked(client, ("ACL", "SETUSER", "weak", "on", f">{CANARY}", "~*", "+ping"))
    assert await why(reached(f"redis://weak:{CANARY}@127.0.0.1:{redis_server.port}/")) == "it says NOPERM"


async def test_a_user_of_its_own_needs_little(mortal_redis: PrivateRedis) -> None:
    rights = ("~{*}:batch*", "~batches:began", "+@read", "+@write", "+@scripting", "+info")
    async with mortal_redis.client() as client:
        await asked(client, ("ACL", "SETUSER", "batcher", "on", f">{CANARY}", *rights))
    batcher = reached(f"redis://batcher:{CANARY}@127.0.0.1:{mortal_redis.port}/")
    async with contextlib.aclosing(batcher):
        await batcher.add(sightings(0, 1))
        await batcher.add_urgent(sightings(2, first=3)[0])
        sealed = await batcher.seal_due(at(1000))
        assert len(sealed) == 2
        await batcher.forget(*sealed)
        assert await batcher.next_window_end() is None
        assert await batcher.index.began() == await batcher.index.began()


async def test_a_full_server_takes_nothing_but_lets_batches_be_closed(mortal_redis: PrivateRedis) -> None:
    async with with_a_batch(mortal_redis) as (batcher, client):
        await client.config_set("maxmemory", 1)
        before = await contents(client)
        assert await why(reached(mortal_redis.url())) == "it is out of memory (OOM)"
        assert await contents(client) == before
        (sealed,) = await batcher.seal_due(at(100))
        assert sealed.detection_ids == (1, 2)
        assert await batcher.seal_due(at(1000)) == [sealed]
        await batcher.forget(sealed)
        assert await contents(client) == {}


async def test_a_replica_takes_nothing(mortal_redis: PrivateRedis) -> None:
    async with with_a_batch(mortal_redis) as (_, client):
        before = await contents(client)
        await asked(client, ("REPLICAOF", "127.0.0.1", free_port()))
        assert await why(reached(mortal_redis.url())) == "it is a replica, and read only (READONLY)"
        await asked(client, ("REPLICAOF", "NO", "ONE"))
        assert await contents(client) == before


async def test_a_server_that_cannot_write_to_its_disk_takes_nothing() -> None:
    with running({"save": "3600 1", "dbfilename": "blocked"}) as server:
        async with with_a_batch(server) as (_, client):
            (server.folder / "blocked" / "by").mkdir(parents=True)
            await asyncio.wait_for(_failed_save(client), timeout=60)
            before = await contents(client)
            assert await why(reached(server.url())) == "it says MISCONF"
            assert await contents(client) == before


async def test_what_is_no_redis_is_told() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        assert await why(reached(f"redis://127.0.0.1:{port}/")) == "it is no Redis"


async def test_a_frozen_server_is_given_up_and_its_late_answers_are_nobodys(mortal_redis: PrivateRedis) -> None:
    async with with_a_batch(mortal_redis), contextlib.aclosing(reached(mortal_redis.url(), patience=1.0)) as hasty:
        (first,) = (await repeated(lambda: hasty.add(sightings(0), camera="cam-3"))).batch_ids
        mortal_redis.freeze()
        with pytest.raises(IndexAway) as away:
            await hasty.add(sightings(1), camera="cam-4")
        mortal_redis.thaw()
        assert away.value.why == "no answer in time"
        assert (await repeated(lambda: hasty.add(sightings(0), camera="cam-3"))).batch_ids == (first,)
        assert await repeated(hasty.next_window_end) == at(90)


async def test_scripts_that_a_server_has_lost_are_given_to_it_again(mortal_redis: PrivateRedis) -> None:
    async with with_a_batch(mortal_redis) as (batcher, client):
        await client.script_flush()
        assert [batch.detection_ids for batch in await batcher.seal_due(at(100))] == [(1, 2)]
