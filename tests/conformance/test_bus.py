"""One suite for every event bus: the memory twin, the embedded one and a real RabbitMQ."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from streamward.model.bus import Delivery, Published, QueueRefused, Refused
from streamward.model.topic import matches
from tests.support.buses import BusWorld, numbers, taken
from tests.support.clocks import START

SOON = 0.3  # seconds in which nothing more comes, once everything else has
WORDS = ("a", "b", "")


async def test_a_message_comes_as_it_was_sent(buses: BusWorld) -> None:
    async with buses:
        bus = buses.bus()
        await bus.declare(buses.queue())
        sent = buses.message(1, headers={"cloudEvents_id": "event-1"}, expires_in=60.5, is_mandatory=True)
        assert await bus.publish(sent) == Published()
        (got,) = await taken(buses.consumer(buses.bus(), "all"), 1)
        assert got.message == replace(sent, is_mandatory=False)
        assert not got.is_redelivered


async def test_each_queue_that_wants_a_message_gets_it_once(buses: BusWorld) -> None:
    async with buses:
        bus = buses.bus()
        await bus.declare(buses.queue("both", "detections.#", "*.t-01.#"))
        await bus.declare(buses.queue("one", "detections.*.*.cam-1"))
        await bus.declare(buses.queue("other", "detections.*.*.cam-2"))
        await bus.publish(buses.message(1))
        assert numbers(await taken(buses.consumer(bus, "both"), 1)) == [1]
        assert numbers(await taken(buses.consumer(bus, "one"), 1)) == [1]
        for queue in ("both", "one", "other"):
            assert await buses.consumer(bus, queue).take(at_most=1, within=SOON) == []


async def test_patterns_are_read_as_the_matcher_reads_them(buses: BusWorld) -> None:
    async with buses:
        bus = buses.bus()
        words = ["a", "b", "*", "#", ""]
        patterns = [
            "",
            *words,
            *(f"{x}.{y}" for x in words for y in words),
            "a.#.b",
            "#.a.#",
            "*.#.*",
            "#.*.a",
            "a.#.#.b",
        ]
        keys = [
            "",
            *WORDS,
            *(f"{x}.{y}" for x in WORDS for y in WORDS),
            "a.a.b",
            "a.b.a",
            "b..b",
            "a.b.a.b",
            "a.a.a.a.a",
        ]
        for place, pattern in enumerate(patterns):
            await bus.declare(buses.queue(str(place), pattern))
        await asyncio.gather(*(bus.publish(buses.message(n, key=key)) for n, key in enumerate(keys)))
        for place, pattern in enumerate(patterns):
            wanted = {n for n, key in enumerate(keys) if matches(pattern, key)}
            got = await taken(buses.consumer(bus, str(place)), len(wanted))
            assert set(numbers(got)) == wanted, pattern


async def test_what_is_published_one_after_another_comes_in_order(buses: BusWorld) -> None:
    async with buses:
        bus = buses.bus()
        await bus.declare(buses.queue())
        consumer = buses.consumer(buses.bus(), "all", prefetch=7)
        for number in range(50):
            await bus.publish(buses.message(number))
        assert numbers(await taken(consumer, 50)) == list(range(50))


async def test_many_in_flight_are_all_confirmed(buses: BusWorld) -> None:
    async with buses:
        bus = buses.bus()
        await bus.declare(buses.queue())
        words = await asyncio.gather(*(bus.publish(buses.message(number)) for number in range(300)))
        assert set(words) == {Published()}
        assert sorted(numbers(await taken(buses.consumer(bus, "all"), 300))) == list(range(300))


async def test_a_mandatory_message_that_no_queue_wants_is_refused(buses: BusWorld) -> None:
    async with buses:
        bus = buses.bus()
        await bus.declare(buses.queue("all", "detections.#"))
        assert await bus.publish(buses.message(1, key="status.a.b.c")) == Published()
        assert await bus.publish(buses.message(2, key="status.a.b.c", is_mandatory=True)) == Refused(
            "no queue wants it"
        )
        assert await bus.publish(buses.message(3, is_mandatory=True)) == Published()
        assert numbers(await taken(buses.consumer(bus, "all"), 1)) == [3]


async def test_what_no_bus_can_take_is_refused_and_harms_nobody(buses: BusWorld) -> None:
    async with buses:
        bus = buses.bus()
        await bus.declare(buses.queue())
        assert isinstance(await bus.publish(buses.message(1, key="k" * 256)), Refused)
        assert isinstance(await bus.publish(buses.message(2, body=b"x" * 300_000)), Refused)
        assert await bus.publish(buses.message(3, body=b"x" * 200_000)) == Published()
        assert numbers(await taken(buses.consumer(bus, "all"), 1)) == [3]


async def test_what_is_given_back_comes_again_in_its_place_and_says_so(buses: BusWorld) -> None:
    async with buses:
        bus = buses.bus()
        await bus.declare(buses.queue())
        for number in range(3):
            await bus.publish(buses.message(number))
        consumer = buses.consumer(bus, "all")
        got: list[Delivery] = []
        while len(got) < 3:
            got += await consumer.take(at_most=1, within=60.0)
        await consumer.ack([got[1]])
        await consumer.give_back([got[0], got[2]], requeue=True)
        again = await taken(consumer, 2)
        assert sorted(numbers(again)) == [0, 2]
        assert all(each.is_redelivered for each in again)


async def test_what_is_thrown_away_is_gone(buses: BusWorld) -> None:
    async with buses:
        bus = buses.bus()
        await bus.declare(buses.queue())
        await bus.publish(buses.message(1))
        consumer = buses.consumer(bus, "all")
        await consumer.give_back(await consumer.take(at_most=1, within=60.0), requeue=False)
        assert await consumer.take(at_most=1, within=SOON) == []


async def test_a_consumer_that_closes_gives_back_what_it_had(buses: BusWorld) -> None:
    async with buses:
        bus = buses.bus()
        await bus.declare(buses.queue())
        for number in range(10):
            await bus.publish(buses.message(number))
        first = bus.consume(buses.name("all"), prefetch=10)
        got = await first.take(at_most=4, within=60.0)
        await first.ack(got[:1])
        await first.close()
        second = buses.consumer(buses.bus(), "all")
        assert sorted(numbers(await taken(second, 9))) == list(range(1, 10))


async def test_no_more_than_the_prefetch_is_in_hand(buses: BusWorld) -> None:
    async with buses:
        bus = buses.bus()
        await bus.declare(buses.queue())
        for number in range(5):
            await bus.publish(buses.message(number))
        narrow, wide = buses.consumer(bus, "all", prefetch=2), buses.consumer(buses.bus(), "all")
        got = await narrow.take(at_most=1, within=60.0)
        got += await narrow.take(at_most=5, within=60.0)
        assert numbers(got) == [0, 1]
        assert await narrow.take(at_most=5, within=SOON) == []
        assert numbers(await taken(wide, 3)) == [2, 3, 4]
        await bus.publish(buses.message(5))
        await wide.close()
        await narrow.ack(got)
        assert numbers(await taken(narrow, 1)) == [5]


async def test_two_consumers_share_a_queue_and_nothing_comes_twice(buses: BusWorld) -> None:
    async with buses:
        bus = buses.bus()
        await bus.declare(buses.queue())
        consumers = [buses.consumer(buses.bus(), "all", prefetch=5) for _ in range(2)]
        got: list[int] = []

        async def drain(consumer) -> None:
            while len(got) < 200:
                some = await consumer.take(at_most=3, within=1.0)
                got.extend(numbers(some))
                await consumer.ack(some)

        readers = [asyncio.create_task(drain(consumer)) for consumer in consumers]
        await asyncio.gather(*(bus.publish(buses.message(number)) for number in range(200)))
        async with asyncio.timeout(60):
            await asyncio.gather(*readers)
        assert await buses.consumer(bus, "all").take(at_most=1, within=SOON) == []
        assert sorted(got) == list(range(200))


async def test_a_waiting_consumer_is_woken_by_another_process(buses: BusWorld) -> None:
    async with buses:
        bus = buses.bus()
        await bus.declare(buses.queue())
        consumer = buses.consumer(buses.bus(), "all")
        assert await consumer.take(at_most=1, within=0.05) == []
        waiting = asyncio.create_task(consumer.take(at_most=1, within=60.0))
        await bus.publish(buses.message(1))
        assert numbers(await waiting) == [1]


async def test_a_take_that_gathers_waits_for_more_until_its_time_is_over(buses: BusWorld) -> None:
    async with buses:
        bus, loop = buses.bus(), asyncio.get_running_loop()
        await bus.declare(buses.queue())
        consumer = buses.consumer(buses.bus(), "all")
        assert await consumer.take(at_most=2, within=0.01) == []  # it is subscribed
        began = loop.time()
        taking = asyncio.create_task(consumer.take(at_most=3, within=60, gather=SOON))
        for number in (1, 2):
            await bus.publish(buses.message(number))
        found = await taking
        assert loop.time() - began >= SOON - 0.01  # a timer may be that early
        while len(found) < 2:  # publishing took longer than that
            found += await consumer.take(at_most=3, within=60)
        assert numbers(found) == [1, 2]


async def test_a_take_that_gathers_returns_in_time_what_fills_it(buses: BusWorld) -> None:
    async with buses:
        bus = buses.bus()
        await bus.declare(buses.queue())
        for number in range(4):
            await bus.publish(buses.message(number))
        consumer = buses.consumer(buses.bus(), "all", prefetch=2)
        assert numbers(await taken(consumer, 1)) == [0]
        async with asyncio.timeout(60):
            assert numbers(await consumer.take(at_most=1, within=60, gather=600)) == [1]


async def test_a_take_that_was_given_up_loses_nothing(buses: BusWorld) -> None:
    async with buses:
        bus = buses.bus()
        await bus.declare(buses.queue())
        consumer = buses.consumer(bus, "all")
        got: list[Delivery] = []
        for number in range(20):
            taking = asyncio.create_task(consumer.take(at_most=1, within=60.0))
            await asyncio.sleep(0)
            publishing = asyncio.create_task(bus.publish(buses.message(number)))
            taking.cancel()
            await asyncio.wait([taking, publishing])
            got += [] if taking.cancelled() else taking.result()
        await consumer.ack(got)
        assert sorted(numbers(got + await taken(consumer, 20 - len(got)))) == list(range(20))


async def test_what_has_had_its_time_is_never_delivered(buses: BusWorld) -> None:
    async with buses:
        bus = buses.bus()
        await bus.declare(buses.queue("brief", ttl=0.2))
        await bus.declare(buses.queue("long"))
        await bus.publish(buses.message(1))
        await bus.publish(buses.message(2, expires_in=0.2))
        await bus.publish(buses.message(3))
        other = buses.consumer(bus, "none-yet")
        await bus.declare(buses.queue("none-yet", "never"))
        assert await other.take(at_most=1, within=0.5) == []
        assert await buses.consumer(bus, "brief").take(at_most=9, within=SOON) == []
        assert numbers(await taken(buses.consumer(bus, "long"), 2)) == [1, 3]


async def test_one_too_many_pushes_out_the_oldest(buses: BusWorld) -> None:
    async with buses:
        bus = buses.bus()
        await bus.declare(buses.queue(most=3))
        for number in range(5):
            assert await bus.publish(buses.message(number)) == Published()
        assert numbers(await taken(buses.consumer(bus, "all"), 3)) == [2, 3, 4]


async def test_a_full_queue_refuses_while_others_take(buses: BusWorld) -> None:
    async with buses:
        bus = buses.bus()
        await bus.declare(buses.queue("small", most=2, rejects=True))
        await bus.declare(buses.queue("large"))
        words = [await bus.publish(buses.message(number)) for number in range(4)]
        assert words == [Published(), Published(), Refused("not confirmed"), Refused("not confirmed")]
        assert numbers(await taken(buses.consumer(bus, "small"), 2)) == [0, 1]
        assert numbers(await taken(buses.consumer(bus, "large"), 4)) == [0, 1, 2, 3]
        assert await bus.publish(buses.message(9)) == Published()


async def test_how_many_wait_counts_what_nobody_has_in_hand(buses: BusWorld) -> None:
    async with buses:
        bus, other = buses.bus(), buses.bus()
        with pytest.raises(QueueRefused):
            await bus.waiting(buses.name("all"))
        await bus.declare(buses.queue())
        assert await bus.waiting(buses.name("all")) == 0
        for number in range(5):
            await bus.publish(buses.message(number))
        consumer = buses.consumer(other, "all", prefetch=2)
        got = await consumer.take(at_most=1, within=60.0)
        assert await bus.waiting(buses.name("all")) in {3, 4}  # some have the second in hand before it is taken
        await consumer.ack(got)
        await consumer.close()
        assert await _comes_to(lambda: bus.waiting(buses.name("all")), 4)


async def test_what_has_had_its_time_does_not_wait(buses: BusWorld) -> None:
    async with buses:
        bus = buses.bus()
        await bus.declare(buses.queue("brief", ttl=0.2))
        await bus.publish(buses.message(1))
        assert await _comes_to(lambda: bus.waiting(buses.name("brief")), 0)


async def _comes_to(ask: Callable[[], Awaitable[int]], wanted: int) -> bool:
    """A broker counts what comes back a moment after it was given back."""
    async with asyncio.timeout(60):
        while await ask() != wanted:
            pass
    return True


async def test_a_queue_can_be_declared_again_and_only_in_the_same_form(buses: BusWorld) -> None:
    async with buses:
        bus, other = buses.bus(), buses.bus()
        await bus.declare(buses.queue("all", "a.#", most=5))
        await other.declare(buses.queue("all", "b.#", most=5))
        with pytest.raises(QueueRefused):
            await bus.declare(buses.queue("all", "c.#", most=6))
        words = [await bus.publish(buses.message(n, key=f"{w}.x", is_mandatory=True)) for n, w in enumerate("abc")]
        assert words == [Published(), Published(), Refused("no queue wants it")]


async def test_a_queue_that_is_not_there_is_an_error_until_it_is(buses: BusWorld) -> None:
    async with buses:
        bus = buses.bus()
        consumer = buses.consumer(bus, "all")
        with pytest.raises(QueueRefused):
            await consumer.take(at_most=1, within=1.0)
        await bus.declare(buses.queue())
        await bus.publish(buses.message(1, at=START))
        assert numbers(await taken(consumer, 1)) == [1]
