"""A publisher or a consumer of a bus as a process of its own, to be killed: `python -m tests.support.bus_process …`.

    publish <bus> <run>    publishes `<run>-0`, `<run>-1`, … and says each id once it is confirmed
    consume <bus>          says each id that it takes, then acknowledges it

`<bus>` is a file, or the URL of a RabbitMQ. Every line is one write, so what was said before a kill was said whole.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import TypeVar

from streamward.drivers.amqp import AmqpBus, Broker
from streamward.drivers.bus import EmbeddedBus
from streamward.model.bus import Binding, Bus, BusAway, Published, Queue
from streamward.model.message import Message
from streamward.model.secret import Secret
from streamward.runtime.clock import SystemClock

QUEUE = Queue(name="kills", bindings=(Binding("kills.topic", "kills.#"),))
IN_FLIGHT = 20
T = TypeVar("T")


def bus_at(place: str) -> Bus:
    if "://" in place:
        return AmqpBus(Broker(url=Secret(place), clock=SystemClock()))
    return EmbeddedBus(Path(place), clock=SystemClock())


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


async def at_last(ask: Callable[[], Awaitable[T]]) -> T:
    """Asks until the bus is there."""
    while True:
        try:
            return await ask()
        except BusAway as away:
            await rest(away.retry_in)


async def rest(seconds: float) -> None:
    """A process of its own rests as real ones do."""
    over = asyncio.Event()
    asyncio.get_running_loop().call_later(max(0.01, seconds), over.set)
    await over.wait()


async def publish(bus: Bus, run: str) -> None:
    numbers = count()

    async def lane() -> None:
        for number in numbers:
            message = Message(
                exchange="kills.topic",
                routing_key="kills.now",
                message_id=f"{run}-{number}",
                kind="kills",
                at=SystemClock().wall(),
                body=b"{}",
                is_mandatory=True,
            )
            while await at_last(partial(bus.publish, message)) != Published():
                pass
            say(message.message_id)

    await asyncio.gather(*(lane() for _ in range(IN_FLIGHT)))


async def consume(bus: Bus) -> None:
    consumer = bus.consume(QUEUE.name, prefetch=50)
    while True:
        taken = await at_last(lambda: consumer.take(at_most=10, within=5.0))
        for delivery in taken:
            say(f"{delivery.message.message_id} {'again' if delivery.is_redelivered else 'first'}")
        await at_last(partial(consumer.ack, taken))


async def main(role: str, place: str, *run: str) -> None:
    logging.disable()
    bus = bus_at(place)
    await at_last(lambda: bus.declare(QUEUE))
    await (publish(bus, *run) if role == "publish" else consume(bus))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
