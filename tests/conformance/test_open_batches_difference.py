"""Random stories get the same answers from Redis as from memory, which is the pure rules themselves."""

import asyncio
import secrets

from hypothesis import given, settings

from streamward.drivers.memory.open_batches import MemoryOpenBatches
from streamward.drivers.redis import RedisOpenBatches
from tests.support.batch_stories import Step, Teller, stories
from tests.support.indexes import numbered
from tests.support.redis_server import PrivateRedis


@settings(max_examples=100)
@given(steps=stories)
def test_redis_answers_as_memory_does_and_keeps_nothing_in_the_end(redis_server: PrivateRedis, steps: list[Step]):
    asyncio.run(_compare(redis_server, steps))


async def _compare(server: PrivateRedis, steps: list[Step]) -> None:
    prefix = secrets.token_hex(4)
    index = RedisOpenBatches(server.at(), numbered())
    reference, tried = Teller(MemoryOpenBatches(numbered()), prefix), Teller(index, prefix)
    try:
        for step in steps:
            assert await tried.tell(step) == await reference.tell(step)
        assert await tried.end() == await reference.end()
        async with server.client() as client:
            assert [key async for key in client.scan_iter(f"{{{prefix}*", count=10_000)] == []
    finally:
        await index.close()
