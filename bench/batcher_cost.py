"""What a batcher costs: its processor time for each detection, at 200 a second and at full rate.

A real `streamward batcher` on servers (RabbitMQ, PostgreSQL, Redis) and on files (embedded bus and SQLite, as `make up`
runs it), messages of one detection from 40 cameras. For the full rate it is stopped while its queue fills. Both rates
take turns, and other processes are not in the figure, so a machine that others use changes it little.
"""

import asyncio
import contextlib
import os
import select
import signal
import statistics
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.statement import statement
from streamward.model.bus import Bus
from streamward.model.message import Message
from streamward.protocol import events
from streamward.runtime.bell import Bell
from streamward.runtime.clock import SystemClock
from tests.support.batch_plant import Plant, batcher

ROUNDS = 3
RATE = 200  # detections a second
LOW_FOR = 10  # seconds of it in a round
FULL = 4_000  # detections at full rate in a round
AT_ONCE = 100
PATIENCE = 300.0  # seconds

_COUNT = statement("SELECT count(*) AS count FROM detections", returns="count")
_TIMES = statement(
    "SELECT d.stamped_at AS stamped_at, d.stored_at AS stored_at FROM detections AS d ORDER BY d.detection_id DESC"
    " LIMIT :limit",
    returns="stamped_at stored_at",
)
_TICKS = os.sysconf("SC_CLK_TCK")

Make = Callable[[int], Message]  # the message of one frame


@dataclass
class Cost:
    """What was measured of one batcher, round by round."""

    low: list[float] = field(default_factory=list)  # processor seconds for each detection
    full: list[float] = field(default_factory=list)
    idle: float = 0.0  # processor seconds a second
    delays: list[float] = field(default_factory=list)  # seconds from the frame to the row, at the low rate

    @property
    def ratio(self) -> float:
        """Of the medians."""
        return statistics.median(self.low) / statistics.median(self.full)


class _Bench:
    """A batcher that runs, and what it works on."""

    def __init__(self, bus: Bus, database: Database, pid: int, make: Make) -> None:
        self._bus = bus
        self._database = database
        self._pid = pid
        self._make = make
        self._frames = 0

    async def spent(self, work: Awaitable[None]) -> float:
        """The processor time of the batcher until all that was published is stored."""
        before = _processor_time(self._pid)
        await work
        await self._stored()
        return _processor_time(self._pid) - before

    async def steadily(self, seconds: int) -> None:
        """Publishes at the low rate."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with asyncio.TaskGroup() as publishing:
            for number in range(RATE * seconds):
                await asyncio.sleep(began + number / RATE - loop.time())
                publishing.create_task(self._publish())

    @contextlib.asynccontextmanager
    async def filled(self, count: int) -> AsyncIterator[None]:
        """The queue has so many before the batcher goes on."""
        os.kill(self._pid, signal.SIGSTOP)
        try:
            for _ in range(0, count, AT_ONCE):
                await asyncio.gather(*(self._publish() for _ in range(AT_ONCE)))
            yield
        finally:
            os.kill(self._pid, signal.SIGCONT)

    async def delays(self, count: int) -> list[float]:
        """From the frame to the row, of the newest."""
        async with self._database.session(is_single=True) as session:
            rows = await session.rows(_TIMES, {"limit": count})
        return [(row.stored_at - row.stamped_at).total_seconds() for row in rows]

    async def _publish(self) -> None:
        self._frames += 1
        await self._bus.publish(self._make(self._frames))

    async def _stored(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while await self._count() < self._frames:
                await asyncio.to_thread(select.select, [], [], [], 0.1)

    async def _count(self) -> int:
        async with self._database.session(is_single=True) as session:
            [row] = await session.rows(_COUNT)
        return int(row.count)


async def measure(seed: Callable[[str], Awaitable[None]], make: Make, **settings: Any) -> Cost:
    """One batcher with these settings, on a database that `seed` fills."""
    found = Cost()
    with tempfile.TemporaryDirectory() as folder:
        plant = Plant(Path(folder) / "data", settings)
        plant.data.mkdir()
        await seed(plant.url)
        async with plant.bus() as bus, _database(plant.url) as database:
            await bus.declare(events.BATCHER)
            with batcher(plant.data, BATCH_PORT=0, **settings) as process:
                await _rounds(_Bench(bus, database, process.process.pid, make), found)
    return found


async def _rounds(bench: _Bench, found: Cost) -> None:
    await bench.spent(bench.steadily(2))  # what is done once is not in the figures
    found.idle = await bench.spent(asyncio.sleep(LOW_FOR)) / LOW_FOR
    for _ in range(ROUNDS):
        found.low.append(await bench.spent(bench.steadily(LOW_FOR)) / (RATE * LOW_FOR))
        found.delays += await bench.delays(RATE * LOW_FOR)
        async with bench.filled(FULL):
            pass
        found.full.append(await bench.spent(asyncio.sleep(0)) / FULL)


@contextlib.asynccontextmanager
async def _database(url: str) -> AsyncIterator[Database]:
    database = Database(url, clock=SystemClock(), bell=Bell())
    try:
        yield database
    finally:
        await database.engine.dispose()


def _processor_time(pid: int) -> float:
    """User and system time of a process, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def show(name: str, cost: Cost) -> None:
    """Prints the rounds, and the median beside its goal."""
    low, full = (", ".join(f"{each * 1e6:.0f}" for each in some) for some in (cost.low, cost.full))
    print(f"batcher on {name}, µs of processor time a detection: at {RATE}/s {low}; at full rate {full}")
    percentiles = statistics.quantiles(cost.delays, n=100)
    print(
        f"  idle {cost.idle:.1%} of a core; frame to row at {RATE}/s: P50 {percentiles[49] * 1000:.0f} ms, "
        f"P95 {percentiles[94] * 1000:.0f} ms, P99 {percentiles[98] * 1000:.0f} ms"
    )
    print(f"{f'cost at {RATE}/s against full rate, {name}':<46}{f'{cost.ratio:.2f} ×':<34}goal ≤ 2 ×", flush=True)
