"""The examiner: shows closed batches to an analyst, and keeps what it says of each once.

    take ─known? gone?→ load ─analyse, again after a pause if it fails→ save ─→ acknowledge
                                   └─ given up: an urgent one is reopened, and its detection waits for the next batch
                                                any other goes to the dead letters, with the reason

Several stand side by side. Guaranteed: a batch is analysed, reopened, or in the dead letters, whatever is killed
meanwhile; of one that came twice the first word is kept. Not guaranteed: that an analyst is asked once only.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from streamward.batcher.analysis_facts import (
    AnalysisPostponed,
    AnalysisRepeated,
    BatchAnalysed,
    BatchGivenUp,
    DeadLetterRefused,
)
from streamward.insight.analysis import Analysis, Analyst, AnalystFailed, Case
from streamward.insight.batch import BatchId, CloseReason
from streamward.insight.database import Insight
from streamward.insight.store import Loose
from streamward.model.bus import Bus, BusAway, Consumer, Refused
from streamward.model.ids import TenantId
from streamward.model.message import Message
from streamward.protocol.batches import ANALYSIS, DEAD
from streamward.runtime import failpoints
from streamward.runtime.backoff import Backoff, BackoffSpec
from streamward.runtime.journal import Journal

ANALYSED = failpoints.declare("analysis.after-analyse")
SAVED = failpoints.declare("analysis.after-save")
REOPENED = failpoints.declare("analysis.after-reopen")
BURIED = failpoints.declare("analysis.after-bury")

LISTEN_FOR = 5.0  # seconds, if nothing comes before
PAUSES = BackoffSpec(first=1.0, longest=60.0)
WHY = "streamward_why"  # header of a dead letter
_LONGEST_WHY = 200  # characters
_GRACE = 5.0  # seconds that an analyst has beyond its own deadline


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How much is done for one batch."""

    attempts: int = 4
    answer_within: float = 60.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysing:
    """Who is shown batches, and how many at the same time."""

    analyst: Analyst
    patience: Patience = field(default_factory=Patience)
    at_once: int = 4


Again = Callable[[Sequence[Loose]], Awaitable[None]]


class Examiner:
    """One reader of the analysis queue; a service runs its ticks."""

    def __init__(
        self, insight: Insight, bus: Bus, analyst: Analyst, *, again: Again, patience: Patience, journal: Journal
    ) -> None:
        self._insight = insight
        self._bus = bus
        self._analyst = analyst
        self._again = again  # adds detections to the index of open batches
        self._patience = patience
        self._journal = journal
        self._consumer: Consumer | None = None

    async def tick(self) -> float:
        """Sees to the next batch; raises StoreUnavailable, DeadLetterRefused, and then it comes again."""
        try:
            if self._consumer is None:
                await self._subscribe()
                return 0.0
            consumer = self._consumer
            taken = await consumer.take(at_most=1, within=LISTEN_FOR)
            for each in taken:
                await self._examine(each.message)
            await consumer.ack(taken)
        except BusAway as away:
            await self.close()
            return away.retry_in
        except BaseException:
            await self.close()  # gives back what is in hand
            raise
        return 0.0

    async def close(self) -> None:
        """Takes nothing more."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await consumer.close()

    async def _subscribe(self) -> None:
        await self._bus.declare(ANALYSIS)
        await self._bus.declare(DEAD)
        self._consumer = self._bus.consume(ANALYSIS.name, prefetch=1)

    async def _examine(self, message: Message) -> None:
        """By the batch's full id, which is the message's: two batches may share a short one."""
        batch_id = BatchId(message.message_id)
        if await self._insight.analyses.find(batch_id, scope=None) is not None:
            self._journal.record(AnalysisRepeated(batch_id=batch_id))
            return
        case = await self._case(batch_id)
        if case is None:
            return  # reopened, forgotten, or never one of ours
        said = await self._asked(case)
        failpoints.reach(ANALYSED)
        if isinstance(said, AnalystFailed):
            await self._give_up(message, case, said)
        else:
            await self._keep(said)

    async def _case(self, batch_id: BatchId) -> Case | None:
        record = await self._insight.records.find_batch(batch_id, scope=None)
        if record is None:
            return None
        tenant_id = TenantId(record.batch.tenant_id)
        seen = await self._insight.records.detections_of(batch_id, scope=tenant_id)
        return Case(batch=record.batch, seen=tuple(each.recorded for each in seen)) if seen else None

    async def _asked(self, case: Case) -> Analysis | AnalystFailed:
        pauses = Backoff(PAUSES, Random())  # noqa: S311 - jitter
        left = self._patience.attempts
        while True:
            left -= 1
            try:
                async with asyncio.timeout(self._patience.answer_within + _GRACE):
                    return await self._analyst.analyse(case)
            except TimeoutError:
                failed = AnalystFailed("in use", f"no analysis within {self._patience.answer_within:g} s")
            except AnalystFailed as error:
                failed = error
            if left == 0:
                return failed
            pause = max(pauses.failed(after=0.0), failed.retry_in)
            self._journal.record(AnalysisPostponed(batch_id=case.batch.batch_id, why=str(failed), retry_in=pause))
            await asyncio.sleep(pause)

    async def _keep(self, said: Analysis) -> None:
        is_first = await self._insight.analyses.save(said)
        failpoints.reach(SAVED)
        if is_first:
            self._journal.record(
                BatchAnalysed(
                    batch_id=said.batch_id, tenant_id=said.tenant_id, camera_id=said.camera_id, risk=said.risk
                )
            )
        else:
            self._journal.record(AnalysisRepeated(batch_id=said.batch_id))

    async def _give_up(self, message: Message, case: Case, failed: AnalystFailed) -> None:
        is_urgent = case.batch.reason is CloseReason.FAST_PATH
        if is_urgent:
            loose = await self._insight.batches.reopen(case.batch.batch_id)
            failpoints.reach(REOPENED)
            await self._again(loose)  # if we die before, the sweeper does
        else:
            await self._bury(message, failed)
        self._journal.record(
            BatchGivenUp(
                batch_id=case.batch.batch_id,
                tenant_id=case.batch.tenant_id,
                camera_id=case.batch.camera_id,
                is_reopened=is_urgent,
                why=str(failed),
            )
        )

    async def _bury(self, message: Message, failed: AnalystFailed) -> None:
        key = f"dead.{message.routing_key.removeprefix('analysis.')}"
        headers = {**message.headers, WHY: str(failed)[:_LONGEST_WHY]}
        answer = await self._bus.publish(replace(message, routing_key=key, headers=headers, is_mandatory=True))
        if isinstance(answer, Refused):
            raise DeadLetterRefused(message.message_id, answer.why)
        failpoints.reach(BURIED)
