"""What is told now or never: bounded, never waited for, and never told too late."""

import asyncio
from dataclasses import replace

from streamward.model.bus import BusAway, Published
from streamward.model.message import Message
from streamward.runtime.journal import Journal
from streamward.runtime.teller import MOST_WAITING, Teller
from streamward.runtime.virtual_time import run
from tests.support.buses import a_message
from tests.support.clocks import LoopClock


class FakeBus:
    """Takes everything, unless it is away."""

    def __init__(self, *, is_away: bool = False) -> None:
        self.taken: list[str] = []
        self.is_away = is_away

    async def publish(self, message: Message) -> Published:
        if self.is_away:
            raise BusAway("bus", "connection refused", retry_in=2.0)
        self.taken.append(message.message_id)
        return Published()

    async def close(self) -> None: ...


def brief(number: int) -> Message:
    return replace(a_message(number, exchange="status.topic"), expires_in=10.0)


def test_what_is_told_is_published_in_order():
    async def scene() -> list[str]:
        bus = FakeBus()
        async with Teller(bus, journal=Journal(), clock=LoopClock()) as teller:
            for number in range(120):
                teller.tell(brief(number))
            await asyncio.sleep(1)
        return bus.taken

    assert run(scene()) == [brief(number).message_id for number in range(120)]


def test_after_an_outage_only_what_is_still_worth_it_is_told():
    async def scene() -> tuple[list[str], int]:
        bus = FakeBus(is_away=True)
        async with Teller(bus, journal=Journal(), clock=LoopClock()) as teller:
            teller.tell(brief(1))
            await asyncio.sleep(11)
            for number in range(2, 4):
                teller.tell(brief(number))
            bus.is_away = False
            await asyncio.sleep(5)
            teller.tell(brief(4))
            await asyncio.sleep(1)
            return bus.taken, teller.dropped

    taken, _ = run(scene())
    assert brief(1).message_id not in taken
    assert taken[-1] == brief(4).message_id


def test_more_than_fits_pushes_the_oldest_out():
    async def scene() -> int:
        bus = FakeBus(is_away=True)
        teller = Teller(bus, journal=Journal(), clock=LoopClock())
        for number in range(MOST_WAITING + 7):
            teller.tell(brief(number))
        return teller.dropped

    assert run(scene()) == 7


def test_who_ends_can_wait_until_the_bus_has_taken_everything():
    async def scene() -> tuple[list[str], bool]:
        bus = FakeBus()
        async with Teller(bus, journal=Journal(), clock=LoopClock()) as teller:
            await teller.emptied()
            teller.tell(brief(1))
            await teller.emptied()
            taken = list(bus.taken)
            bus.is_away = True
            teller.tell(brief(2))
            teller.tell(brief(3))
            waiting = asyncio.ensure_future(teller.emptied())
            await asyncio.sleep(1)
            is_over = waiting.done()
            bus.is_away = False
            await waiting
            return taken, is_over

    assert run(scene()) == ([brief(1).message_id], False)
