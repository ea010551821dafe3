"""Calls whose answers are slow: sent again while the earlier sendings are still waited for.

A lost request and a slow answer cannot be told apart by waiting. So what was sent is waited for and sent again as well:
an answer that takes seconds counts, and a lost request costs one interval and no more.

`hedged` asks one question until it is answered, for calls that may be carried out twice. `Overlapping` is for questions
that are asked again and again with newer content: the next one does not wait for a slow answer.
"""

import asyncio
from collections.abc import Callable, Coroutine
from itertools import chain, repeat
from typing import Any, TypeVar

T = TypeVar("T")

WITHIN = 20.0  # seconds for an answer, if the caller has no shorter limit
SLOW = 1.0  # seconds until the second sending
EVERY = 3.0  # seconds between two later sendings
MOST = 4  # sendings outstanding; one more cancels the oldest


async def hedged(send: Callable[[], Coroutine[Any, Any, T | None]], *, within: float = WITHIN) -> T | None:
    """The first answer to any sending; None: each of them failed, or none was answered within so many seconds."""
    loop = asyncio.get_running_loop()
    ends, again = loop.time() + within, loop.time()
    outstanding: list[asyncio.Task[T | None]] = []
    try:
        for rest in chain([SLOW], repeat(EVERY)):
            if len(outstanding) == MOST:
                outstanding.pop(0).cancel()
            outstanding.append(loop.create_task(send()))
            again = min(again + rest, ends)
            answer = await _first(outstanding, until=again)
            if answer is not None or not outstanding or again == ends:
                return answer
    finally:
        await _cancel(outstanding)
    raise AssertionError


async def _first(outstanding: list[asyncio.Task[T | None]], *, until: float) -> T | None:
    """The first answer of any until then; what has failed is taken out."""
    while outstanding and (left := until - asyncio.get_running_loop().time()) > 0:
        done, _ = await asyncio.wait(outstanding, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        for call in done:
            outstanding.remove(call)
            if (answer := call.result()) is not None:
                return answer
    return None


class Overlapping:
    """Calls of one kind; an answer is taken in whenever it comes, also after that of a later call."""

    def __init__(self, *, slow: float = SLOW, most: int = MOST) -> None:
        self._slow = slow
        self._most = most
        self._outstanding: list[asyncio.Task[None]] = []

    async def call(self, ask_and_take: Coroutine[Any, Any, None]) -> None:
        """Runs it to its end, which takes in the answer; waits for that as long as a fast answer takes."""
        if len(self._outstanding) >= self._most:
            self._outstanding[0].cancel()
        task = asyncio.get_running_loop().create_task(ask_and_take)
        self._outstanding.append(task)
        task.add_done_callback(self._outstanding.remove)
        done, _ = await asyncio.wait([task], timeout=self._slow)
        for each in done:
            each.result()

    async def close(self) -> None:
        """Cancels what is outstanding."""
        await _cancel(self._outstanding)


async def _cancel(tasks: list[asyncio.Task[T]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
