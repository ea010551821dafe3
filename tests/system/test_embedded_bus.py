"""What the embedded bus promises of its file."""

import asyncio
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamward.drivers.bus import EmbeddedBus
from streamward.model.bus import BusAway, Published
from streamward.runtime.clock import SystemClock
from tests.support.buses import BusWorld, bus_folder, numbers, taken


@pytest.fixture
def place() -> Iterator[Path]:
    with bus_folder() as folder:
        yield folder / "below" / "bus.sqlite"


def lay(place: Path, content: bytes, *, mode: int = 0o600) -> None:
    place.parent.mkdir()
    place.touch(mode=mode)
    place.write_bytes(content)


def content_of(place: Path) -> bytes:
    return place.read_bytes()


def world_at(place: Path, **limits: int) -> BusWorld:
    return BusWorld(lambda: EmbeddedBus(place, clock=SystemClock(), **limits))


async def test_only_its_owner_can_read_the_file_and_what_lies_beside_it(place: Path) -> None:
    async with world_at(place) as buses:
        bus = buses.bus()
        await bus.declare(buses.queue())
        await bus.publish(buses.message(1))
        beside = {path.name: path.stat().st_mode & 0o777 for path in place.parent.iterdir()}
    assert set(beside) == {"bus.sqlite", "bus.sqlite-wal", "bus.sqlite-shm", "bus.sqlite.lock"}
    assert set(beside.values()) == {0o600}
    assert place.parent.stat().st_mode & 0o777 == 0o700


async def test_a_file_that_others_can_read_is_not_used(place: Path) -> None:
    lay(place, b"", mode=0o644)
    async with world_at(place) as buses:
        with pytest.raises(BusAway, match="can be read by others"):
            await buses.bus().publish(buses.message(1))


async def test_what_is_no_bus_is_one_sentence_and_stays_as_it_was(place: Path) -> None:
    letter = b"a letter to my mother, and more than a header's worth of it" * 100
    lay(place, letter)
    async with world_at(place) as buses:
        with pytest.raises(BusAway, match="file is not a database"):
            await buses.bus().publish(buses.message(1))
    assert content_of(place) == letter


async def test_a_file_of_another_version_is_not_used(place: Path) -> None:
    lay(place, b"")
    with sqlite3.connect(place) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    async with world_at(place) as buses:
        with pytest.raises(BusAway, match="version 99"):
            await buses.bus().publish(buses.message(1))


async def test_a_full_file_stops_publishers_and_not_those_who_empty_it(place: Path) -> None:
    async with world_at(place, most_bytes=2_000_000) as buses:
        bus = buses.bus()
        await bus.declare(buses.queue())
        confirmed: list[int] = []

        async def fill() -> None:
            while await bus.publish(buses.message(len(confirmed), body=b"x" * 50_000)) == Published():
                confirmed.append(len(confirmed))

        with pytest.raises(BusAway, match="it is full"):
            await fill()
        assert len(confirmed) > 20
        assert numbers(await taken(buses.consumer(bus, "all"), len(confirmed))) == confirmed
        assert await bus.publish(buses.message(100, body=b"x" * 50_000)) == Published()


async def test_after_a_backlog_the_file_is_small_again(place: Path) -> None:
    async with world_at(place) as buses:
        bus = buses.bus()
        await bus.declare(buses.queue())
        await asyncio.gather(*(bus.publish(buses.message(number, body=b"x" * 50_000)) for number in range(200)))
        consumer = buses.consumer(bus, "all")
        full = _pages(place)
        await taken(consumer, 200)
        async with asyncio.timeout(60):
            while (left := _pages(place)) > 700:
                await consumer.take(at_most=1, within=0.2)
        assert left < full / 3


async def test_the_count_of_what_waits_is_always_true(place: Path) -> None:
    rng = random.Random(7)
    async with world_at(place) as buses:
        bus = buses.bus()
        await bus.declare(buses.queue("all", most=30))
        await bus.declare(buses.queue("brief", ttl=0.05))
        consumer = buses.consumer(bus, "all", prefetch=10)
        for number in range(300):
            await bus.publish(buses.message(number))
            if rng.random() < 0.3:
                some = await consumer.take(at_most=5, within=0.0)
                await consumer.ack(some[:2])
                await consumer.give_back(some[2:], requeue=rng.random() < 0.7)
    with sqlite3.connect(place) as connection:
        query = "SELECT count(*) FROM entries WHERE queue = queues.id AND owner IS NULL"
        rows = connection.execute(f"SELECT ready, ({query}) FROM queues").fetchall()
    connection.close()
    assert len(rows) == 2
    assert all(counted == there for counted, there in rows)


async def test_a_file_that_another_program_holds_is_waited_for(place: Path) -> None:
    async with world_at(place) as buses:
        bus = buses.bus()
        await bus.declare(buses.queue())
        holder = sqlite3.connect(place, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        publishing = asyncio.create_task(bus.publish(buses.message(1)))
        done, _ = await asyncio.wait([publishing], timeout=0.2)
        assert not done
        holder.execute("ROLLBACK")
        holder.close()
        assert await publishing == Published()


async def test_consumers_of_one_process_do_not_take_each_other_for_dead(place: Path) -> None:
    async with world_at(place) as buses:
        one, two = buses.bus(), buses.bus()
        await one.declare(buses.queue())
        await one.publish(buses.message(1))
        (first,) = await (holder := buses.consumer(one, "all")).take(at_most=1, within=60.0)
        assert await buses.consumer(two, "all").take(at_most=1, within=1.2) == []
        assert await buses.consumer(one, "all").take(at_most=1, within=0.1) == []
        await holder.ack([first])


def _pages(place: Path) -> int:
    with sqlite3.connect(place) as connection:
        ((pages,),) = connection.execute("PRAGMA page_count").fetchall()
    connection.close()
    return int(pages)
