"""The relay: tells the analysis queue of closed batches.

    outbox ─untold→ our own, and what others left ─publish→ confirmed ─told→ off the outbox

Runs in every batcher. Guaranteed: every closed batch is told at least once, with one content; consumers know repeats by
the message's id, which is the batch's full one. While four fifths of the queue's places are taken, batches wait in the
outbox. Not guaranteed: once only, nor an order.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from streamward.batcher.facts import AnalysisHeld, BatchTold
from streamward.batcher.parts import Parts
from streamward.insight.batch import BatchId, Sealed
from streamward.insight.store import Waiting
from streamward.model.bus import Bus, BusAway, QueueRefused, Refused
from streamward.model.errors import StreamwardError
from streamward.model.message import Event, Message, Place, addressed
from streamward.protocol import codec
from streamward.protocol.batches import (
    ANALYSIS,
    DEAD,
    EXCHANGE,
    HELD_SHARE,
    MOST_WAITING,
    analysis_request,
    routing_key,
)
from streamward.runtime import failpoints

PUBLISHED = failpoints.declare("batch.after-publish")
TOLD = failpoints.declare("batch.after-told")

IN_FLIGHT = 50  # messages without a confirm: more make each wait longer, and little more get through
LOOK_EVERY = 0.5  # seconds between two looks into an outbox that was empty
HELD_FOR = 1.0  # seconds between two looks at a queue that was nearly full
HELD_AT = int(HELD_SHARE * MOST_WAITING)  # messages
OTHERS_AFTER = timedelta(seconds=5)  # whoever closed a batch and is alive has told it by then
KIND = "analysis.request"

_LOOKED_AT = 4 * IN_FLIGHT  # of the outbox: others' newest may stand before ours


class BatchRefused(StreamwardError):
    """The analysis queue did not take a batch."""

    def __init__(self, batch_id: BatchId, why: str) -> None:
        super().__init__(batch_id, why)
        self.batch_id = batch_id
        self.why = why

    def __str__(self) -> str:
        return f"the analysis queue did not take {self.batch_id}: {self.why}"


class Relay:
    """A service runs its ticks."""

    def __init__(self, parts: Parts, bus: Bus) -> None:
        self.is_held = False  # the queue is nearly full
        self._parts = parts
        self._bus = bus
        self._own: set[BatchId] = set()  # closed by us, and not told yet
        self._is_declared = False

    def closed(self, batch: Sealed) -> None:
        """We closed it: it is for us to tell."""
        self._own.add(batch.batch_id)

    async def tick(self) -> float:
        """Publishes what waits; raises BusAway, BatchRefused, StoreUnavailable."""
        if not await self._has_room():
            return HELD_FOR
        before = set(self._own)
        looked = await self._parts.insight.batches.untold(limit=_LOOKED_AT)
        if len(looked) < _LOOKED_AT:
            self._own -= before - {each.batch.batch_id for each in looked}  # others told them
        told = await self._publish(await self._chosen(looked))
        return 0.0 if told == IN_FLIGHT else LOOK_EVERY

    async def _has_room(self) -> bool:
        try:
            if not self._is_declared:
                await self._bus.declare(ANALYSIS)
                await self._bus.declare(DEAD)
                self._is_declared = True
            waiting = await self._bus.waiting(ANALYSIS.name)
        except (BusAway, QueueRefused):  # it may have been removed, or the broker set up anew
            self._is_declared = False
            raise
        was_held, self.is_held = self.is_held, waiting >= HELD_AT
        if self.is_held and not was_held:
            self._parts.journal.record(AnalysisHeld(waiting=waiting))
        return not self.is_held

    async def _chosen(self, looked: Sequence[Waiting]) -> list[Waiting]:
        """Each is told by who closed it, unless that takes too long: then by everybody."""
        old = await self._parts.time.now() - OTHERS_AFTER
        return [each for each in looked if each.batch.batch_id in self._own or each.batch.closed_at <= old][:IN_FLIGHT]

    async def _publish(self, chosen: Sequence[Waiting]) -> int:
        """Takes off what was confirmed before it says what was not."""
        answers = await asyncio.gather(*(self._send(each) for each in chosen), return_exceptions=True)
        confirmed = [each for each, answer in zip(chosen, answers, strict=True) if answer is None]
        if confirmed:
            failpoints.reach(PUBLISHED)
            await self._parts.insight.batches.told([each.position for each in confirmed])
            failpoints.reach(TOLD)
        for each in confirmed:
            self._own.discard(each.batch.batch_id)
            self._parts.journal.record(BatchTold(batch_id=each.batch.batch_id))
        for answer in answers:
            if answer is not None:
                raise answer
        return len(confirmed)

    async def _send(self, waiting: Waiting) -> None:
        answer = await self._bus.publish(replace(message(waiting.batch), is_mandatory=True))
        if isinstance(answer, Refused):
            self._is_declared = False  # the exchange or a binding may have been deleted at the broker
            raise BatchRefused(waiting.batch.batch_id, answer.why)


def message(batch: Sealed) -> Message:
    """What the analysis queue is told of a batch."""
    event = Event(
        event_id=batch.batch_id, source="/batcher", at=batch.closed_at, body=codec.encode(analysis_request(batch))
    )
    place = Place(exchange=EXCHANGE, routing_key=routing_key(batch))
    return addressed(event, place, kind=KIND, subject=f"{batch.tenant_id}/{batch.camera_id}")
