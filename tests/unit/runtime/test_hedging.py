"""Slow and lost answers, on virtual time."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from streamward.runtime import virtual_time
from streamward.runtime.hedging import MOST, SLOW, WITHIN, Overlapping, hedged

LOST = 1e9  # seconds


class Desk:
    """Answers each sending after its own delay with the sending's number; a negative delay is a failure after it."""

    def __init__(self, delays: Sequence[float]) -> None:
        self._delays = [*delays]
        self.sent_at: list[float] = []
        self.cancelled: list[int] = []

    async def send(self) -> int | None:
        number, delay = len(self.sent_at), self._delays[min(len(self.sent_at), len(self._delays) - 1)]
        self.sent_at.append(round(asyncio.get_running_loop().time(), 3))
        try:
            await asyncio.sleep(abs(delay))
        except asyncio.CancelledError:
            self.cancelled.append(number)
            raise
        return None if delay < 0 else number


def run(body: Callable[[], Coroutine[Any, Any, Any]]) -> tuple[Any, float]:
    """What a coroutine returns, and when."""

    async def timed() -> tuple[Any, float]:
        return await body(), round(asyncio.get_running_loop().time(), 3)

    return virtual_time.run(timed())


@pytest.mark.parametrize(
    ("delays", "answer", "at", "sendings"),
    [
        ([0.2], 0, 0.2, 1),
        ([3.9], 0, 3.9, 2),  # the first one is waited for
        ([8.5], 0, 8.5, 4),
        ([LOST, 0.3], 1, SLOW + 0.3, 2),  # a lost request costs an interval
        ([4.0, 0.5], 1, 1.5, 2),
        ([-0.1], None, 0.1, 1),  # a failure is reported at once
        ([4.2, -0.1, LOST], 0, 4.2, 3),  # but not while an answer can come
        ([LOST], None, WITHIN, 8),
    ],
)
def test_the_first_answer_to_any_sending_counts(
    delays: list[float], answer: int | None, at: float, sendings: int
) -> None:
    desk = Desk(delays)
    assert run(lambda: hedged(desk.send)) == (answer, at)
    assert len(desk.sent_at) == sendings


def test_no_more_than_four_sendings_are_outstanding_and_none_is_left() -> None:
    desk = Desk([LOST])
    assert run(lambda: hedged(desk.send, within=12.0)) == (None, 12.0)
    assert desk.sent_at == [0, 1, 4, 7, 10]
    assert desk.cancelled == [0, 1, 2, 3, 4]
    assert MOST == 4


def test_an_error_of_a_sending_is_raised() -> None:
    async def broken() -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(lambda: hedged(broken))


def test_the_next_call_does_not_wait_for_a_slow_answer_which_counts_when_it_comes() -> None:
    taken: list[tuple[int, float]] = []

    async def body() -> None:
        calls, loop = Overlapping(most=2), asyncio.get_running_loop()

        def now() -> float:
            return round(loop.time(), 3)

        async def ask(number: int, delay: float) -> None:
            await asyncio.sleep(delay)
            taken.append((number, now()))

        await calls.call(ask(1, 0.4))
        assert now() == 0.4
        await calls.call(ask(2, 3.0))
        assert now() == 1.4
        await calls.call(ask(3, 0.6))
        assert now() == 2.0
        await calls.call(ask(4, 5.0))
        await calls.call(ask(5, 0.6))  # the third beside 2 and 4, so 2 is cancelled
        assert now() == 3.6
        await asyncio.sleep(2.0)
        await calls.call(ask(6, LOST))
        await calls.close()

    run(body)
    assert taken == [(1, 0.4), (3, 2.0), (5, 3.6)]


def test_an_error_of_a_fast_answer_is_raised() -> None:
    async def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(lambda: Overlapping().call(broken()))
