"""The event bus and the outbox under load: the embedded bus on this disk, and a private RabbitMQ, in one run."""

import asyncio
import subprocess
import sys
import tempfile
import time
from functools import partial
from itertools import count
from pathlib import Path

from bench.load import Rate, measure
from streamward.model.bus import Binding, Bus, Queue
from streamward.model.message import Message
from streamward.runtime.clock import SystemClock
from streamward.runtime.journal import Journal
from streamward.runtime.outbox import MessagesPublished, Outbox, SpoolRelay
from streamward.runtime.spool import Gap, Spool
from tests.support.bus_process import bus_at
from tests.support.rabbitmq import RabbitServer, is_installed

SECONDS = 4.0
BODY = 950  # bytes
LIVE = 72  # messages a second: twelve cameras at six frames
BACKLOG = 5_000
QUEUE = Queue(name="bench", bindings=(Binding("bench.topic", "#"),), most=1_000)

_numbers = count()


def a_message() -> Message:
    return Message(
        exchange="bench.topic",
        routing_key="detections.t-01.site-a.cam-1",
        message_id=f"bench-{next(_numbers)}",
        kind="detections",
        at=SystemClock().wall(),
        body=b"%020d" % time.time_ns() + b"x" * (BODY - 20),
        is_mandatory=True,
    )


async def publishes(place: str, *, in_flight: int) -> Rate:
    """Confirmed publishes without rest, into one queue that pushes out its oldest."""
    bus = bus_at(place)
    await bus.declare(QUEUE)
    try:
        return await measure([partial(_publish, bus)] * in_flight, seconds=SECONDS)
    finally:
        await bus.close()


async def latency(place: str, *, messages: int = 500) -> Rate:
    """From before a publish to a consumer in another process, at the pace of one shard."""
    bus, queue = bus_at(place), Queue(name="late", bindings=(Binding("bench.topic", "#"),))
    await bus.declare(queue)
    listener = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.listener", place, queue.name, str(messages), stdout=subprocess.PIPE
    )
    assert listener.stdout is not None
    await listener.stdout.readline()
    began = time.perf_counter()
    for number in range(messages):
        await asyncio.sleep(max(0.0, began + number / LIVE - time.perf_counter()))
        await bus.publish(a_message())
    late = sorted(map(float, (await listener.stdout.read()).split()))
    await listener.wait()
    await bus.close()
    return Rate(LIVE, late[len(late) // 2], late[int(len(late) * 0.99)])


async def appends(folder: Path) -> Rate:
    """Appends to a spool without rest, from full messages to the kernel."""
    relay = _relay(folder, bus_at(str(folder / "unused" / "bus.sqlite")), Journal())

    async def call() -> None:
        relay.append(a_message())

    rate = await measure([call], seconds=SECONDS)
    relay.close()
    return rate


async def draining(place: str, folder: Path) -> tuple[float, Rate]:
    """Backlog messages a second beside live ones, and how long the live ones' hand-off took."""
    bus, journal = bus_at(place), Journal()
    await bus.declare(QUEUE)
    took: list[float] = []
    published: list[int] = []
    journal.subscribe(lambda fact: published.append(fact.count) if isinstance(fact, MessagesPublished) else None)
    relay = _relay(folder, bus, journal)
    for _ in range(BACKLOG):
        relay.append(a_message())
    began = time.perf_counter()
    async with Outbox(relay, journal=journal) as outbox:
        while sum(published) < BACKLOG + len(took):  # live ones go first
            before = time.perf_counter()
            outbox.append(a_message())
            took.append(time.perf_counter() - before)
            await asyncio.sleep(1 / LIVE)
        seconds = time.perf_counter() - began
    await bus.close()
    took.sort()
    return BACKLOG / seconds, Rate(0.0, took[len(took) // 2] * 1e3, took[int(len(took) * 0.99)] * 1e3)


def main() -> None:
    """Prints each figure beside the goal that it is held to."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:  # on a disk: memory has no syncs
        rate = asyncio.run(appends(Path(folder) / "appends"))
        _tell("spool appends per second", rate, "hand-off p99 ≤ 5 ms")
        _measure("embedded bus", str(Path(folder) / "bus.sqlite"), Path(folder))
        if is_installed():
            server = RabbitServer()
            try:
                server.start()
                _measure("RabbitMQ", server.url(), Path(folder))
            finally:
                server.remove()


def _measure(name: str, place: str, folder: Path) -> None:
    for in_flight in (1, 50):
        _tell(
            f"{name}: publishes per second, {in_flight} in flight", asyncio.run(publishes(place, in_flight=in_flight))
        )
    _tell(f"{name}: to a consumer in another process", asyncio.run(latency(place)), "p99 ≤ 200 ms")
    drained, handed = asyncio.run(draining(place, folder / f"spool {name}"))
    print(f"{name + ': backlog per second beside live':<56}{drained:,.0f}, live is {LIVE}{'':<20}goal ≥ 5 × live")
    _tell(f"{name}: hand-off meanwhile", handed, "p99 ≤ 5 ms")


def _tell(what: str, rate: Rate, goal: str = "–") -> None:
    shown = f"{rate.per_second:,.0f} (p50 {rate.p50_ms:.2f} ms, p99 {rate.p99_ms:.2f} ms)"
    print(f"{what:<56}{shown:<44}goal {goal}", flush=True)


async def _publish(bus: Bus) -> None:
    await bus.publish(a_message())


def _relay(folder: Path, bus: Bus, journal: Journal) -> SpoolRelay:
    spool = Spool(folder, most_bytes=256 * 2**20)
    return SpoolRelay(spool, bus, tell_gap=_tell_gap, journal=journal, clock=SystemClock())


def _tell_gap(_: Spool, __: Gap) -> Message:
    return a_message()


if __name__ == "__main__":
    main()
