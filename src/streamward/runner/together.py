"""What is asked in the same moment goes as one call: a rush of cameras is no rush of calls."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


class Together(Generic[Q, A]):
    """The first who asks sends for all who do so in the same turn of the event loop; it has no task of its own."""

    def __init__(self, send: Callable[[Sequence[Q]], Awaitable[Sequence[A] | None]], *, most: int) -> None:
        self._send = send
        self._most = most  # in one call
        self._waiting: dict[asyncio.Future[A | None], Q] = {}

    async def ask(self, question: Q) -> A | None:
        """The answer; None: nobody answered."""
        answer: asyncio.Future[A | None] = asyncio.get_running_loop().create_future()
        self._waiting[answer] = question
        if len(self._waiting) == 1:
            await self._send_all()
        return await answer

    async def _send_all(self) -> None:
        """Whatever comes of it, nobody is left waiting."""
        asked = self._waiting
        try:
            await asyncio.sleep(0)
            self._waiting = {}
            for place in range(0, len(asked), self._most):
                some = list(asked.items())[place : place + self._most]
                answers = await self._send([question for _, question in some])
                for (answer, _), told in zip(some, answers or (), strict=answers is not None):
                    _settle(answer, told)
        finally:
            self._waiting = {} if self._waiting is asked else self._waiting
            for answer in asked:
                _settle(answer, None)


def _settle(answer: "asyncio.Future[A | None]", told: A | None) -> None:
    """Unless whoever asked is gone, or knows already."""
    if not answer.done():
        answer.set_result(told)
