"""What is asked in the same moment goes as one call, and nobody is left waiting."""

import asyncio
from collections.abc import Sequence

import pytest

from streamward.runner.together import Together


class Desk:
    """Doubles what it is asked, or says nothing."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []
        self.begun: asyncio.Queue[int] = asyncio.Queue()
        self.is_away = False
        self.answers = asyncio.Event()
        self.answers.set()

    async def send(self, questions: Sequence[int]) -> list[int] | None:
        self.calls.append([*questions])
        self.begun.put_nowait(len(self.calls))
        await self.answers.wait()
        return None if self.is_away else [2 * each for each in questions]


async def test_all_of_one_moment_are_one_call_and_each_gets_its_own_answer():
    desk = Desk()
    together = Together(desk.send, most=10)
    assert await asyncio.gather(*map(together.ask, range(5))) == [0, 2, 4, 6, 8]
    assert await together.ask(7) == 14
    assert desk.calls == [[0, 1, 2, 3, 4], [7]]


async def test_no_call_is_larger_than_it_may_be():
    desk = Desk()
    await asyncio.gather(*map(Together(desk.send, most=2).ask, range(5)))
    assert desk.calls == [[0, 1], [2, 3], [4]]


async def test_who_comes_while_a_call_is_under_way_waits_for_none():
    desk = Desk()
    together = Together(desk.send, most=10)
    desk.answers.clear()
    asking = []
    for each in (1, 2):
        asking.append(asyncio.ensure_future(together.ask(each)))
        assert await desk.begun.get() == each
    desk.answers.set()
    assert await asyncio.gather(*asking) == [2, 4]


async def test_nobody_answers_to_all():
    desk = Desk()
    desk.is_away = True
    assert await asyncio.gather(*map(Together(desk.send, most=2).ask, range(3))) == [None] * 3


@pytest.mark.parametrize("turns", [1, 3])
async def test_if_the_one_who_sends_is_given_up_the_others_know_nothing(turns: int):
    desk = Desk()
    together = Together(desk.send, most=10)
    desk.answers.clear()
    first, second = (asyncio.ensure_future(together.ask(each)) for each in (1, 2))
    for _ in range(turns):
        await asyncio.sleep(0)
    first.cancel()
    assert await second is None
    desk.answers.set()
    assert await together.ask(3) == 6
