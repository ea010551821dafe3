"""The outbox on virtual time: what it does while the bus is away, choosy or back again."""

import asyncio
import errno
import os
import random
import resource
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from streamward.model.bus import BusAway, Published, Refused
from streamward.model.message import Message
from streamward.runtime.journal import Journal
from streamward.runtime.outbox import (
    IN_FLIGHT,
    MessagesPublished,
    MessageUnfit,
    Outbox,
    PublishingFailed,
    RecordsDropped,
    RecordsGaveWay,
    SpoolRelay,
)
from streamward.runtime.spool import Gap, Spool, abandoned
from streamward.runtime.virtual_time import run
from tests.support.buses import a_message
from tests.support.clocks import START, LoopClock
from tests.support.spools import die


class FakeBus:
    """Takes everything after a moment, unless told otherwise."""

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.is_away = False
        self.unwanted: set[str] = set()
        self.tries = 0
        self.in_flight = self.most_in_flight = 0

    async def publish(self, message: Message) -> Published | Refused:
        self.tries += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        await asyncio.sleep(0.01)
        self.in_flight -= 1
        if self.is_away:
            raise BusAway("bus", "connection refused", retry_in=2.0)
        if message.message_id in self.unwanted:
            return Refused("no queue wants it")
        self.taken.append(message.message_id)
        return Published()

    async def close(self) -> None: ...


def a_record(number: int, size: int = 10) -> Message:
    return a_message(number, exchange="detections.topic", body=b"x" * size)


def tell_gap(spool: Spool, gap: Gap) -> Message:
    return Message(
        exchange="detections.topic",
        routing_key="detections.gap",
        message_id=f"{spool.folder.name}-gap-{gap.first}-{gap.count}",
        kind="gap",
        at=START,
        body=b"",
    )


class Played:
    """An outbox at work on a fake bus."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.bus, self.journal = FakeBus(), Journal()
        self.told: list[object] = []
        self.journal.subscribe(self.told.append)
        spool = Spool(folder, most_bytes=most_bytes)
        relay = SpoolRelay(spool, self.bus, tell_gap=tell_gap, journal=self.journal, clock=LoopClock())
        self.outbox = Outbox(relay, journal=self.journal)

    async def until_published(self, count: int) -> None:
        while len(set(self.bus.taken)) < count:
            await self.journal.first(MessagesPublished, within=1000)


def play(scene: Callable[[Played], Awaitable[None]], folder: Path, *, most_bytes: int = 10 * 2**20) -> None:
    async def main() -> None:
        played = Played(folder, most_bytes)
        async with played.outbox:
            await scene(played)

    run(main())


def ids(*numbers: int) -> list[str]:
    return [f"event-{number}" for number in numbers]


def test_what_is_appended_is_published_and_nothing_is_left(tmp_path: Path) -> None:
    async def scene(played: Played) -> None:
        for number in range(200):
            played.outbox.append(a_record(number))
        await played.until_published(200)
        assert sorted(played.bus.taken) == sorted(ids(*range(200)))
        assert played.bus.most_in_flight == IN_FLIGHT
        await asyncio.sleep(1)

    play(scene, tmp_path / "spool")
    assert not (tmp_path / "spool").exists()


def test_after_an_outage_what_is_made_now_goes_first(tmp_path: Path) -> None:
    async def scene(played: Played) -> None:
        played.bus.is_away = True
        for number in range(1000):
            played.outbox.append(a_record(number))
        await asyncio.sleep(60)
        played.bus.is_away = False
        await played.until_published(1)
        played.outbox.append(a_record(5000))
        await played.until_published(1001)
        assert played.bus.taken.index("event-5000") <= 2 * IN_FLIGHT
        assert sorted(played.bus.taken) == sorted(ids(*range(1000), 5000))

    play(scene, tmp_path / "spool")


def test_while_the_bus_is_away_little_is_tried_and_it_is_told_once(tmp_path: Path) -> None:
    async def scene(played: Played) -> None:
        played.bus.is_away = True
        for number in range(1000):
            played.outbox.append(a_record(number))
        await asyncio.sleep(50)
        assert played.bus.tries <= 30 * IN_FLIGHT
        assert len([fact for fact in played.told if isinstance(fact, PublishingFailed)]) == 1

    play(scene, tmp_path / "spool")


def test_in_a_long_outage_what_gives_way_is_counted_exactly(tmp_path: Path) -> None:
    async def scene(played: Played) -> None:
        played.bus.is_away = True
        for number in range(3000):
            played.outbox.append(a_record(number, size=1000))
            if random.random() < 0.01:
                await asyncio.sleep(1)
        played.bus.is_away = False
        await asyncio.sleep(100)
        full = [fact for fact in played.told if isinstance(fact, RecordsGaveWay)]
        lost = sum(fact.count for fact in full)
        assert sum(fact.count for fact in played.told if isinstance(fact, RecordsDropped)) == lost
        assert (len(full) < 20, {fact.detail for fact in full}) == (True, {"the spool has its limit of bytes"})
        gaps = [name for name in played.bus.taken if "-gap-" in name]
        assert sum(int(name.rpartition("-")[2]) for name in set(gaps)) == lost > 1000
        assert len(set(played.bus.taken)) - len(set(gaps)) == 3000 - lost

    play(scene, tmp_path / "spool", most_bytes=1_000_000)


def test_a_full_disk_is_told_as_such_and_seldom(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    async def scene(played: Played) -> None:
        played.bus.is_away = True
        played.outbox.append(a_record(0))
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, limits[1]))  # no file grows
        try:
            for number in range(1, 200):
                played.outbox.append(a_record(number, size=1000))
                await asyncio.sleep(0.1)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, handler)
        full = [fact for fact in played.told if isinstance(fact, RecordsGaveWay)]
        assert {fact.detail for fact in full} == {f"its disk: {os.strerror(errno.EFBIG)}"}
        assert 2 <= len(full) <= 6
        assert RecordsGaveWay.is_warning

    play(scene, tmp_path / "spool")


def test_a_refused_message_is_tried_again_and_holds_up_nobody(tmp_path: Path) -> None:
    async def scene(played: Played) -> None:
        played.bus.unwanted = set(ids(3, 5))
        for number in range(100):
            played.outbox.append(a_record(number))
        await played.until_published(98)
        await asyncio.sleep(600)
        assert played.bus.tries < 98 + 2 * 40
        played.bus.unwanted = set()
        await played.until_published(100)

    play(scene, tmp_path / "spool")


def test_what_a_dead_process_left_follows(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "dead", most_bytes=10 * 2**20)
    relay = SpoolRelay(spool, FakeBus(), tell_gap=tell_gap, journal=Journal(), clock=LoopClock())
    for number in range(100):
        relay.append(a_record(number))
    die(spool)

    async def scene(played: Played) -> None:
        for heir in abandoned(tmp_path, most_bytes=10 * 2**20):
            played.outbox.adopt(heir)
        played.outbox.append(a_record(500))
        await played.until_published(101)
        assert "event-500" in played.bus.taken[:IN_FLIGHT]

    play(scene, tmp_path / "spool")
    assert list(tmp_path.iterdir()) == []


def test_a_dead_process_that_left_nothing_is_done_with_at_once(tmp_path: Path) -> None:
    die(Spool(tmp_path / "dead", most_bytes=10 * 2**20))

    async def scene(played: Played) -> None:
        for heir in abandoned(tmp_path, most_bytes=10 * 2**20):
            played.outbox.adopt(heir)
        async with asyncio.timeout(10):
            await played.outbox.emptied()
        assert not (tmp_path / "dead").exists()

    play(scene, tmp_path / "spool")


def test_what_no_bus_takes_is_refused_at_once(tmp_path: Path) -> None:
    async def scene(played: Played) -> None:
        with pytest.raises(MessageUnfit, match="longer than 262144 bytes"):
            played.outbox.append(a_record(1, size=300_000))

    play(scene, tmp_path / "spool")
