"""Examiners at work on a bus and a database in memory, with an analyst that does as it is told."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar

from streamward.batcher.analysing import Examiner, Patience
from streamward.batcher.analysis_facts import BatchAnalysed, BatchGivenUp
from streamward.drivers.memory import MemoryDatabase, MemoryInsight, MemoryStore
from streamward.drivers.memory.bus import MemoryBus, MemoryQueues
from streamward.drivers.memory.insight import MemoryAnalyses
from streamward.insight.analysis import Analysis, Analyst, Case
from streamward.insight.batch import BatchId, CloseReason, Sealed
from streamward.insight.records import AnalysisRecord
from streamward.insight.rules import Rules
from streamward.insight.store import Loose
from streamward.insight.summary import summarise
from streamward.leases.store import StoreUnavailable
from streamward.model.ids import TenantId
from streamward.model.message import Message
from streamward.protocol import codec
from streamward.protocol.batches import ANALYSIS, DEAD, EXCHANGE, analysis_request
from streamward.runtime.bell import Bell
from streamward.runtime.journal import Journal
from streamward.runtime.service import Service
from streamward.runtime.virtual_time import run
from tests.support.builders import an_owner
from tests.support.clocks import START, LoopClock
from tests.support.fleet import take, with_cameras, with_runners
from tests.support.sightings import a_sealed, a_seen

T = TypeVar("T")


class ScriptedAnalyst:
    """Raises what it was told to, in turn, and then counts."""

    def __init__(self, *failures: Exception, takes: float = 0.0) -> None:
        self.asked: list[Case] = []
        self._failures = list(failures)
        self._takes = takes  # seconds

    async def analyse(self, case: Case) -> Analysis:
        self.asked.append(case)
        await asyncio.sleep(self._takes)
        if self._failures:
            raise self._failures.pop(0)
        return summarise(case)


class ShakyAnalyses(MemoryAnalyses):
    """Is away for as many questions as it is told."""

    silent_for = 0

    async def find(self, batch_id: BatchId, *, scope: TenantId | None) -> AnalysisRecord | None:
        if self.silent_for > 0:
            self.silent_for -= 1
            raise StoreUnavailable
        return await super().find(batch_id, scope=scope)


class Facts:
    """What happened."""

    def __init__(self, journal: Journal) -> None:
        self._every: list[object] = []
        self._came = asyncio.Event()
        journal.subscribe(self._note)

    def of(self, kind: type[T]) -> list[T]:
        return [each for each in self._every if isinstance(each, kind)]

    async def more(self) -> None:
        """Waits for the next."""
        self._came.clear()
        async with asyncio.timeout(1000):
            await self._came.wait()

    def _note(self, fact: object) -> None:
        self._every.append(fact)
        self._came.set()


class Desk:
    """What examiners work on."""

    def __init__(self, analyst: Analyst) -> None:
        clock = LoopClock()
        database = MemoryDatabase(clock=clock)
        self.store = MemoryStore(database, clock=clock, bell=Bell())
        self.insight = MemoryInsight(database, rules=Rules())
        self.insight.analyses = self.analyses = ShakyAnalyses(database)
        self.bus = MemoryBus(MemoryQueues(clock))
        self.journal = Journal()
        self.facts = Facts(self.journal)
        self.added_again: list[Loose] = []
        self._analyst = analyst

    async def open(self) -> None:
        await with_cameras(self.store)
        await with_runners(self.store, an_owner())
        await take(self.store, an_owner())
        await self.bus.declare(ANALYSIS)
        await asyncio.sleep(10.0)  # what is seen in batches was seen meanwhile

    async def closed(self, number: int = 1, *, reason: CloseReason = CloseReason.IDLE, things: int = 3) -> Sealed:
        """A closed batch in the database."""
        made_at = [START + timedelta(seconds=each) for each in range(things)]
        seen = [a_seen(f"event-{number}-{each}", made_at=at) for each, at in enumerate(made_at)]
        stored = (await self.insight.detections.admit(seen)).stored
        batch = a_sealed([each.detection_id for each in stored if each is not None], number=number)
        await self.insight.batches.close_batch(replace(batch, reason=reason))
        return replace(batch, reason=reason)

    async def tell(self, batch: Sealed) -> None:
        """The relay's part: the batch is in the analysis queue."""
        await self.bus.publish(
            Message(
                exchange=EXCHANGE,
                routing_key=f"analysis.{batch.tenant_id}.{batch.camera_id}",
                message_id=batch.batch_id,
                kind="analysis.request",
                at=batch.closed_at,
                body=codec.encode(analysis_request(batch)),
            )
        )

    def examiner(self, *, attempts: int = 3) -> Examiner:
        patience = Patience(attempts=attempts, answer_within=10.0)
        return Examiner(
            self.insight, self.bus, self._analyst, again=self._again, patience=patience, journal=self.journal
        )

    async def seen_to(self, count: int = 1) -> None:
        """Waits until so many batches were analysed or given up, and what came with them is done too."""
        while len(self.facts.of(BatchAnalysed)) + len(self.facts.of(BatchGivenUp)) < count:
            await self.facts.more()
        await asyncio.sleep(10.0)

    async def dead(self) -> list[Message]:
        consumer = self.bus.consume(DEAD.name, prefetch=100)
        return [each.message for each in await consumer.take(at_most=100, within=0.1)]

    async def _again(self, loose: Sequence[Loose]) -> None:
        self.added_again += loose


def examining(scene: Callable[[Desk], Awaitable[T]], analyst: Analyst, *, side_by_side: int = 1) -> T:
    """Plays a scene with examiners at work."""

    async def play() -> T:
        desk = Desk(analyst)
        await desk.open()
        examiners = [desk.examiner() for _ in range(side_by_side)]
        services = [Service(f"examiner-{n}", each, journal=desk.journal) for n, each in enumerate(examiners)]
        for service in services:
            service.start()
        try:
            return await scene(desk)
        finally:
            for service, examiner in zip(services, examiners, strict=True):
                await service.stop()
                await examiner.close()

    return run(play())
