"""`python -m bench.outages [seconds]`: what an outage of the bus does to a Worker with twelve cameras.

Real processes: control plane, simulated recorder, Worker, a private RabbitMQ. For each kind of outage one line with the
hand-off, the memory, the account of all events, and how what waited was drained beside what was made meanwhile.
"""

import asyncio
import contextlib
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from streamward.drills.network.wire import Wire
from streamward.protocol.events import BATCHER
from tests.support.labs import WorkerProcess, bus_of, plant, until
from tests.support.ledgers import Ledger, read_ledger
from tests.support.outages import Site, is_drained, kept, quantile, since
from tests.support.rabbitmq import running

KINDS = ("killed", "frozen", "unreachable", "locked")
SHARES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "all": 1.0}
LOOK_EVERY = 1.0  # seconds: telling its metrics is work for the Worker too
LIVE_FOR = 15.0  # seconds before the outage, to know the live rate
SPOOL = 4 << 20  # bytes: about a minute of events


@dataclass
class Drained:
    """How what waited went out."""

    over: float  # when the outage ended
    made: list[float] = field(default_factory=list)  # seconds from made to arrived, of what was made meanwhile
    first_after: float = 0.0  # seconds from the end of the outage to the first event
    lasted: float = 0.0  # seconds from then on


def main() -> None:
    """Runs every kind in turn."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 120.0
    with (
        tempfile.TemporaryDirectory() as folder,
        running() as broker,
        contextlib.closing(Wire(broker.port)) as wire,
        plant(Path(folder), "--cameras", "12", "--fps", "10") as lab,
    ):
        for kind in sys.argv[2:] or KINDS:
            asyncio.run(_measure(Site(lab, broker, wire), kind, seconds))


async def _measure(site: Site, kind: str, seconds: float) -> None:
    url = None if kind == "locked" else site.broker.url()
    config = site.config(kind, spool_bytes=SPOOL) | ({"amqp": {}} if url is None else {})
    ledger = Ledger(kind)
    async with bus_of(site.lab, url) as bus:
        await bus.declare(BATCHER)
    with site.lab.worker(config) as worker:
        until(worker.is_ready)
        live = await _rate(worker, LIVE_FOR)
        calm, memory, began = worker.histogram("event_hand_off_seconds"), worker.memory, time.time()
        with site.outage(kind):
            most = await _wait(worker, seconds)
        drained = await _drain(site, worker, ledger, url)
        hand_off = since(calm, worker.histogram("event_hand_off_seconds"))
        made, lost = kept(worker), int(worker.metric("events_lost_total"))
        worker.ended(signal.SIGTERM)
    async with bus_of(site.lab, url) as bus:
        await read_ledger(bus, ledger, until=lambda _: True)
    waited = sum(began < event.ts.timestamp() <= drained.over for event in ledger.unique.values())
    _tell(f"{kind} for {seconds:.0f} s", hand_off, calm)
    print(f"  memory {memory >> 20} MiB before, {most >> 20} at most")
    print(f"  made {made}, lost {lost}, told {ledger.lost}, missing {len(ledger.missing(made))}", end="; ")
    print(f"arrived {len(ledger.unique)} and {len(ledger.events) - len(ledger.unique)} repeats")
    rate = waited / (drained.lasted or 1)
    print(
        f"  {drained.first_after:.1f} s after its end the first, {waited} that waited in {drained.lasted:.1f} s",
        end=": ",
    )
    print(f"{rate:.0f}/s, {rate / live:.1f} × the live rate of {live:.0f}/s")
    late = sorted(drained.made) or [0.0]
    print(f"  {len(drained.made)} made meanwhile, from made to arrived p50 {late[len(late) // 2]:.2f}", end=", ")
    print(f"p99 {late[int(len(late) * 0.99)]:.2f} s", flush=True)


def _tell(what: str, hand_off: dict[float, float], calm: dict[float, float]) -> None:
    shares = ", ".join(f"{name} ≤ {quantile(hand_off, share) * 1000:g}" for name, share in SHARES.items())
    before = ", ".join(f"{name} ≤ {quantile(calm, share) * 1000:g}" for name, share in SHARES.items())
    print(f"{what}: hand-off {shares} ms (before: {before})")


async def _rate(worker: WorkerProcess, seconds: float) -> float:
    before = kept(worker)
    await asyncio.sleep(seconds)
    return (kept(worker) - before) / seconds


async def _wait(worker: WorkerProcess, seconds: float) -> int:
    """The most memory that it had meanwhile."""
    most, over_at = worker.memory, time.monotonic() + seconds
    while time.monotonic() < over_at:
        await asyncio.sleep(0.5)
        most = max(most, worker.memory)
    return most


async def _drain(site: Site, worker: WorkerProcess, ledger: Ledger, url: str | None) -> Drained:
    """Reads along while what waited goes out."""
    over = look_at = time.time()
    drained, first = Drained(over), 0.0
    async with bus_of(site.lab, url) as bus:
        consumer = bus.consume(BATCHER.name, prefetch=1000)
        while time.time() < look_at or not first or not await asyncio.to_thread(is_drained, worker):
            look_at = max(look_at, time.time() // LOOK_EVERY * LOOK_EVERY + LOOK_EVERY)
            some = await consumer.take(at_most=1000, within=0.2)
            now, before = time.time(), len(ledger.events)
            for delivery in some:
                ledger.book(delivery)
            await consumer.ack(some)
            arrived = ledger.events[before:]
            if not first and any(event.ts.timestamp() > over for event in arrived):
                first = now
            drained.made += [now - event.ts.timestamp() for event in arrived if 0 < first < event.ts.timestamp()]
        await consumer.close()
    drained.first_after, drained.lasted = first - over, time.time() - first
    return drained


if __name__ == "__main__":
    main()
