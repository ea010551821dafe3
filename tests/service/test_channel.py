"""Messages between two processes arrive whole, and the end of one is heard by the other."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from streamward.runtime.channel import LONGEST, Channel, pair


@contextlib.asynccontextmanager
async def two_ends() -> AsyncIterator[tuple[Channel, Channel]]:
    ours, theirs = [await Channel.over(end) for end in pair()]
    async with asyncio.timeout(60):
        yield ours, theirs
    await ours.close()
    await theirs.close()


async def test_messages_arrive_whole_and_in_order() -> None:
    async with two_ends() as (ours, theirs):
        for content in (b"one", b"", b"x" * 300_000):
            ours.send(content)
        assert [await theirs.receive() for _ in range(3)] == [b"one", b"", b"x" * 300_000]


async def test_what_was_sent_before_the_end_arrives() -> None:
    async with two_ends() as (ours, theirs):
        ours.send(b"last")
        await ours.close()
        assert [await theirs.receive(), await theirs.receive()] == [b"last", None]
        theirs.send(b"nobody hears it")


async def test_who_does_not_read_is_cut_off_and_nobody_waits() -> None:
    async with two_ends() as (ours, theirs):
        for _ in range(6):
            ours.send(b"x" * LONGEST)
        arrived = 0
        while await theirs.receive() is not None:
            arrived += 1
        assert arrived < 6


async def test_a_message_that_is_too_long_is_refused_where_it_is_sent() -> None:
    async with two_ends() as (ours, _):
        with pytest.raises(ValueError, match="too long"):
            ours.send(b"x" * (LONGEST + 1))
