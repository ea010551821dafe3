"""A world for each event bus: as many processes on it as a test wants, and names of its own."""

import asyncio
import contextlib
import json
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest

from streamward.drivers.amqp import AmqpBus, Broker
from streamward.drivers.bus import EmbeddedBus
from streamward.drivers.memory.bus import MemoryBus, MemoryQueues
from streamward.model.bus import Binding, Bus, Consumer, Delivery, Overflow, Queue
from streamward.model.message import Message
from streamward.model.secret import Secret
from streamward.runtime.clock import SystemClock
from tests.support.clocks import START
from tests.support.rabbitmq import RabbitServer

SHARED_MEMORY = Path("/dev/shm")  # a disk's sync would be most of the time of these tests


def a_message(number: int, *, exchange: str, key: str = "detections.t-01.site-a.cam-1", **changes: object) -> Message:
    values = {"body": json.dumps({"number": number}).encode(), "kind": "detections", "at": START} | changes
    return Message(exchange=exchange, routing_key=key, message_id=f"event-{number}", **values)  # type: ignore[arg-type]


class BusWorld:
    """One broker, and this test's part of it."""

    def __init__(self, make: Callable[[], Bus]) -> None:
        self._make = make
        self._buses: list[Bus] = []
        self._consumers: list[Consumer] = []
        self._prefix = secrets.token_hex(4)
        self.exchange = self.name("topic")

    def name(self, name: str) -> str:
        return f"{self._prefix}.{name}"

    def bus(self) -> Bus:
        """Another process's way to it."""
        self._buses.append(self._make())
        return self._buses[-1]

    def consumer(self, bus: Bus, queue: str, *, prefetch: int = 100) -> Consumer:
        self._consumers.append(bus.consume(self.name(queue), prefetch=prefetch))
        return self._consumers[-1]

    def queue(
        self,
        name: str = "all",
        *patterns: str,
        ttl: float | None = None,
        most: int | None = None,
        rejects: bool = False,
    ) -> Queue:
        return Queue(
            name=self.name(name),
            bindings=tuple(Binding(self.exchange, pattern) for pattern in patterns or ("#",)),
            message_ttl=ttl,
            most=most,
            overflow=Overflow.REJECT_PUBLISH if rejects else Overflow.DROP_HEAD,
        )

    def message(self, number: int, **changes: object) -> Message:
        return a_message(number, exchange=self.exchange, **changes)  # type: ignore[arg-type]

    async def __aenter__(self) -> Self:
        self._before = asyncio.all_tasks()
        return self

    async def __aexit__(self, *exc: object) -> None:
        for consumer in self._consumers:
            await consumer.close()
        for bus in self._buses:
            await bus.close()
        async with asyncio.timeout(60):
            while left := asyncio.all_tasks() - self._before:
                await asyncio.wait(left)  # the library's own end a few turns after it said so


async def taken(consumer: Consumer, count: int) -> list[Delivery]:
    """So many messages, acknowledged."""
    got: list[Delivery] = []
    async with asyncio.timeout(60):
        while len(got) < count:
            some = await consumer.take(at_most=count - len(got), within=1.0)
            await consumer.ack(some)
            got += some
    return got


def numbers(deliveries: list[Delivery]) -> list[int]:
    return [int(each.message.message_id.removeprefix("event-")) for each in deliveries]


def over_rabbitmq(server: RabbitServer) -> AmqpBus:
    return AmqpBus(Broker(url=Secret(server.url()), clock=SystemClock()))


@contextlib.contextmanager
def bus_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="swbus-", dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


MakeWorld = Callable[[contextlib.ExitStack], BusWorld]


@pytest.fixture(scope="session", params=["memory", "embedded", "rabbitmq"])
def make_buses(request: pytest.FixtureRequest) -> MakeWorld:
    """One of the drivers; a server lives as long as the session."""
    if request.param == "memory":
        return _in_memory
    if request.param == "embedded":
        return _on_a_file
    server = request.getfixturevalue("rabbitmq")
    return lambda _: BusWorld(lambda: over_rabbitmq(server))


@pytest.fixture
def buses(make_buses: MakeWorld) -> Iterator[BusWorld]:
    """To be entered by the test, in which everything of it ends again."""
    with contextlib.ExitStack() as stack:
        yield make_buses(stack)


def _in_memory(_: contextlib.ExitStack) -> BusWorld:
    queues = MemoryQueues(SystemClock())
    return BusWorld(lambda: MemoryBus(queues))


def _on_a_file(stack: contextlib.ExitStack) -> BusWorld:
    path = stack.enter_context(bus_folder()) / "bus.sqlite"
    return BusWorld(lambda: EmbeddedBus(path, clock=SystemClock()))
