"""A Worker that nothing was begun with: how it ends says why."""

import asyncio

import pytest

from streamward.protocol import codec, worker_link
from streamward.protocol.shards import ShardConfig
from streamward.protocol.worker_link import Begin, Drain, Feed, Order, Ping, Pong, Terminate, Warmed, WorkerExit
from streamward.runner.worker_app import run_managed
from streamward.runtime.channel import Channel, pair


async def ended_by(order: Order | None) -> WorkerExit:
    ours, theirs = pair()
    manager = await Channel.over(ours)
    if order is not None:
        manager.send(codec.encode(order))
    async with asyncio.timeout(60):
        running = asyncio.ensure_future(run_managed(theirs))
        if order is None:
            await manager.close()
        code = await running
    await manager.close()
    return code


@pytest.mark.parametrize(
    ("order", "code"),
    [
        (None, WorkerExit.ORPHANED),
        (Drain(), WorkerExit.DRAINED),
        (Terminate(), WorkerExit.TERMINATED),
        (Feed(leases=[]), WorkerExit.MISCONFIGURED),
    ],
)
async def test_a_spare_that_is_told_anything_but_to_begin_ends(order: Order | None, code: WorkerExit):
    assert await ended_by(order) is code


async def test_a_spare_answers_a_ping():
    ours, theirs = pair()
    manager = await Channel.over(ours)
    manager.send(codec.encode(Ping()))
    async with asyncio.timeout(60):
        running = asyncio.ensure_future(run_managed(theirs))
        assert worker_link.read_word(await manager.receive() or b"") == Pong()
        manager.send(codec.encode(Drain()))
        assert await running is WorkerExit.DRAINED
    await manager.close()


async def test_who_is_to_begin_with_a_detector_that_cannot_be_had_says_why():
    ours, theirs = pair()
    manager = await Channel.over(ours)
    config = ShardConfig(runner_id="r1", shard_id="shard-0", sources=[], detector="nobody-has-this")
    manager.send(codec.encode(Begin(config=config)))
    async with asyncio.timeout(60):
        assert await run_managed(theirs) is WorkerExit.DETECTOR_UNUSABLE
        word = worker_link.read_word(await manager.receive() or b"")
    assert isinstance(word, Warmed)
    assert "no model or package has that name" in (word.problem or "")
    await manager.close()
