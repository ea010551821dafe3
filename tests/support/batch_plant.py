"""`streamward batcher` as a real process, cameras that were granted, Workers' messages, and a ledger at its end."""

import asyncio
import contextlib
import select
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from streamward.drivers.buses import open_bus
from streamward.drivers.sql.database import Database
from streamward.drivers.sql.insight import SqlInsight
from streamward.drivers.sql.store import SqlStore
from streamward.insight.batch import BatchId
from streamward.insight.records import BatchRecord, DetectionRecord, Recent
from streamward.insight.rules import Rules
from streamward.leases.store import StoreUnavailable
from streamward.model.bus import Binding, Bus, Published, Queue
from streamward.model.secret import Secret
from streamward.protocol import codec, events
from streamward.protocol.batches import EXCHANGE, analysis_request
from streamward.protocol.readiness import BatcherReady
from streamward.runtime.bell import Bell
from streamward.runtime.clock import SystemClock
from tests.support.batch_desk import OWNERS, a_crossing, a_thing, an_event, told
from tests.support.builders import a_site
from tests.support.fleet import take, with_cameras, with_runners
from tests.support.processes import STOP_WITHIN, RoleProcess, environment

CAMERAS = ("cam-1", "cam-2", "cam-3")
QUICK = {
    "BATCH_WINDOW_SECONDS": 2,
    "BATCH_IDLE_TIMEOUT_SECONDS": 1,
    "BATCH_CHECK_SECONDS": 0.5,
    "BATCH_MAX_DETECTIONS": 7,
    "BATCH_PORT": 0,
}
EAR = Queue(name="test.ear", bindings=(Binding(EXCHANGE, "analysis.#"),))  # hears of batches beside any analyst
PATIENCE = 180.0  # seconds, until all is in batches that were told
_ALL = Recent(scope=None, limit=100_000)


class BatcherProcess:
    """A batcher that works."""

    def __init__(self, role: RoleProcess[BatcherReady]) -> None:
        self.process = role.process
        self._role = role
        self.metrics = f"{role.wait_ready().url}/metrics"

    @property
    def log(self) -> str:
        return self._role.log

    @property
    def printed(self) -> str:
        """Its standard output since it was read last."""
        return self._role.printed()

    def metric(self, name: str) -> float:
        """One value of its metrics."""
        lines = httpx.get(self.metrics, timeout=60).text.splitlines()
        return next(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name} "))

    def is_ready(self) -> bool:
        return self.answers("/ready")

    def answers(self, path: str) -> bool:
        """Whether it says yes to that."""
        return httpx.get(self.metrics.replace("/metrics", path), timeout=60).status_code == httpx.codes.OK


@dataclass
class Plant:
    """A database, a bus, and perhaps a Redis."""

    data: Path
    settings: dict[str, Any] = field(default_factory=dict)
    published: set[str] = field(default_factory=set)  # event ids

    @property
    def url(self) -> str:
        return str(self.settings.get("DATABASE_URL", f"sqlite:///{self.data / 'streamward.db'}"))

    async def seed(self) -> None:
        """Tenant, cameras, and a runner that was granted them."""
        self.data.mkdir(exist_ok=True)
        store = SqlStore(self.url, clock=SystemClock(), bell=Bell())
        await store.open()
        await store.save_site(a_site())
        await with_cameras(store, *CAMERAS)
        await with_runners(store, OWNERS[1])
        for camera in CAMERAS:
            await take(store, OWNERS[1], camera)
        await store.close()
        async with self.bus() as bus:
            await bus.declare(events.BATCHER)
            await bus.declare(EAR)

    @contextlib.asynccontextmanager
    async def bus(self) -> AsyncIterator[Bus]:
        url = self.settings.get("AMQP_URL")
        bus = open_bus(None if url is None else Secret(url), self.data, clock=SystemClock())
        try:
            yield bus
        finally:
            await bus.close()

    @contextlib.asynccontextmanager
    async def insight(self) -> AsyncIterator[SqlInsight]:
        insight = SqlInsight(Database(self.url, clock=SystemClock(), bell=Bell()), rules=Rules())
        try:
            yield insight
        finally:
            await insight.close()

    async def publish(self, count: int) -> None:
        """A Worker sees two things in each of so many frames, one of which enters a zone while another leaves it."""
        async with self.bus() as bus:
            for _ in range(count):
                frame = len(self.published) + 1
                camera = CAMERAS[frame % len(CAMERAS)]
                name = events.event_id(camera, generation=1, epoch=1, frame=frame)
                event = an_event(
                    datetime.now(UTC),
                    frame=frame,
                    camera_uuid=camera,
                    event_id=name,
                    detections=[a_thing(), a_thing("car")],
                    zone_events=[a_crossing("leave", stayed_s=2.5), a_crossing()],
                )
                assert isinstance(await bus.publish(told(event)), Published)
                self.published.add(name)

    def batcher(self, **settings: Any) -> "contextlib.AbstractContextManager[BatcherProcess]":
        return batcher(self.data, **{**QUICK, **self.settings, **settings})

    async def settled(self) -> None:
        """Waits until everything that was published is in a batch that was told."""
        async with asyncio.timeout(PATIENCE), self.insight() as insight:
            while not await self._is_settled(insight):
                await asyncio.to_thread(select.select, [], [], [], 0.2)

    async def _is_settled(self, insight: SqlInsight) -> bool:
        try:
            found = await insight.records.detections(_ALL)
            is_closed = all(each.batch_id is not None for each in found)
            crossed = await insight.zone_events.page(_ALL)
            is_all = len(found) == len(crossed) == 2 * len(self.published)
            return is_all and is_closed and not await insight.batches.untold(limit=1)
        except StoreUnavailable:
            return False

    async def assert_whole(self) -> None:
        """None lost, none doubled; each batch was told with one content."""
        async with self.insight() as insight, self.bus() as bus:
            detections = await insight.records.detections(_ALL)
            batches = {each.batch.batch_id: each for each in await insight.records.batches(_ALL)}
            assert {each.seen.event_id for each in detections} == self.published
            crossed = [(each.event_id, each.index) for each in await insight.zone_events.page(_ALL)]
            assert sorted(crossed) == [(each, index) for each in sorted(self.published) for index in (0, 1)]
            assert_partition(detections, batches)
            heard = await heard_by(bus)
        assert heard.keys() == batches.keys()
        for batch_id, bodies in heard.items():
            assert bodies == {codec.encode(analysis_request(batches[BatchId(batch_id)].batch))}


def assert_partition(detections: list[DetectionRecord], batches: dict[BatchId, BatchRecord]) -> None:
    """Every detection is in exactly the batch that it names."""
    claimed = [(each, batch_id) for batch_id, record in batches.items() for each in record.batch.detection_ids]
    assert len(claimed) == len({each for each, _ in claimed})
    assert dict(claimed) == {each.detection_id: each.batch_id for each in detections}


async def heard_by(bus: Bus) -> dict[str, set[bytes]]:
    """What a consumer heard of each batch, by message id."""
    consumer = bus.consume(EAR.name, prefetch=10_000)
    found: dict[str, set[bytes]] = {}
    while taken := await consumer.take(at_most=10_000, within=2.0):
        for each in taken:
            found.setdefault(each.message.message_id, set()).add(each.message.body)
    await consumer.close()
    return found


@contextlib.contextmanager
def batcher(data: Path, **settings: Any) -> Iterator[BatcherProcess]:
    """A batcher; its log is shown if the test fails."""
    log = data.parent / f"batcher.{datetime.now(UTC).timestamp()}.log"
    env = environment(data, **settings)
    role = RoleProcess("batcher", ready=BatcherReady, log=log, env=env, within=data.parent)
    with role.ending():
        yield BatcherProcess(role)


def died(process: "subprocess.Popen[bytes]") -> int:
    """How it ended, once it has."""
    return process.wait(STOP_WITHIN)
