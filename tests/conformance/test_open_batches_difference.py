"""Random stories get the same answers from Redis as from memory, which is the pure rules themselves."""

import asyncio
import secrets
from typing import Any

from hypothesis import given, settings

from streamward.drivers.memory.open_batches import MemoryOpenBatches
from streamward.drivers.redis import RedisOpenBatches
from tests.support.batch_stories import Step, Teller, stories
from tests.support.indexes import numbered
from tests.support.redis_server import PrivateRedis


@settings(max_examples=100)
@given(steps=stories)
def test_redis_answers_as_memory_does_and_keeps_nothing_in_the_end(redis_server: PrivateRedis, steps: list[Step]):
    differences, left = asyncio.run(_compared(redis_server, steps))
    assert differences == []
    assert left == []


async def _compared(server: PrivateRedis, steps: list[Step]) -> tuple[list[Any], list[Any]]:
    """What was answered differently, and what is left in Redis."""
    prefix = secrets.token_hex(4)
    index = RedisOpenBatches(server.at(), numbered())
    reference, tried = Teller(MemoryOpenBatches(numbered()), prefix), Teller(index, prefix)
    try:
        answers: list[tuple[Any, Any, Any]] = [
            (step, await tried.tell(step), await reference.tell(step)) for step in steps
        ]
        answers.append(("end", await tried.end(), await reference.end()))
        async with server.client() as client:
            left = [key async for key in client.scan_iter(f"{{{prefix}*", count=10_000)]
    finally:
        await index.close()
    return [each for each in answers if each[1] != each[2]], left
