"""Where a Worker's messages go: events over spool and outbox, none is lost; the rest to the bus, now or never."""

import asyncio
import contextlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from streamward.model.message import Event, Message, Place, addressed, of_event
from streamward.protocol import codec
from streamward.protocol.events import DetectionsLost, StreamFailed, WorkerAlive
from streamward.protocol.streams import StreamReport
from streamward.runner.facts import EventNotKept
from streamward.runtime.journal import Journal
from streamward.runtime.outbox import MessageUnfit, Outbox
from streamward.runtime.spool import Gap, Spool
from streamward.runtime.teller import Teller

STATUS_TTL = 10.0  # seconds (S0-050)
STATUSES_WITHIN = 1.0  # seconds for the last ones of a Worker that ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Who publishes, and to which exchanges."""

    runner_id: str
    shard_id: str
    ex_detect: str
    ex_status: str

    @property
    def source(self) -> str:
        """As CloudEvents name it."""
        return f"/runners/{self.runner_id}/shards/{self.shard_id}"


class BusSink:
    """The way out of a Worker."""

    def __init__(self, sender: Sender, *, outbox: Outbox, teller: Teller, journal: Journal) -> None:
        self._sender = sender
        self._journal = journal
        self._outbox = outbox
        self._teller = teller
        self._series = f"{sender.runner_id}.{sender.shard_id}.{secrets.token_hex(4)}"
        self._told = 0

    def keep(self, routing_key: str, event_id: str, message: Any) -> None:
        """An event that must not be lost: somebody has to have a queue for it."""
        event = Event(event_id=event_id, source=self._sender.source, at=message.ts, body=codec.encode(message))
        told = of_event(event, exchange=self._sender.ex_detect, routing_key=routing_key)
        try:
            self._outbox.append(replace(told, is_mandatory=True))
        except MessageUnfit as error:  # a frame with more in it than anybody can store
            self._journal.record(EventNotKept(error=error))

    def tell(self, routing_key: str, message: StreamReport | StreamFailed) -> None:
        """How a stream is."""
        event = self._event(message.ts, message)
        self._teller.tell(_brief(of_event(event, exchange=self._sender.ex_status, routing_key=routing_key)))

    def beat(self, message: WorkerAlive) -> None:
        """The Worker lives (S0-108)."""
        key = f"{message.type}.{message.runner_id}.{message.shard_id}"
        place = Place(exchange=self._sender.ex_status, routing_key=key)
        subject = f"{message.runner_id}/{message.shard_id}"
        self._teller.tell(
            _brief(addressed(self._event(message.ts, message), place, kind=message.type, subject=subject))
        )

    @property
    def waiting(self) -> int:
        """Bytes in the spool."""
        return self._outbox.size

    async def emptied(self) -> None:
        """Waits until the bus has confirmed every event, and a moment for the last statuses."""
        await self._outbox.emptied()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STATUSES_WITHIN):
                await self._teller.emptied()

    def _event(self, at: datetime, message: Any) -> Event:
        self._told += 1
        name = f"{self._series}.{self._told}"
        return Event(event_id=name, source=self._sender.source, at=at, body=codec.encode(message))


def tell_gap(sender: Sender, tenant_id: str, wall: Callable[[], datetime]) -> Callable[[Spool, Gap], Message]:
    """How what gave way in a full spool is told: to whoever stores detections, beside them."""

    def told(spool: Spool, gap: Gap) -> Message:
        name = f"{sender.runner_id}.{spool.folder.name}.gap.{gap.first}.{gap.count}"
        lost = DetectionsLost(
            runner_id=sender.runner_id,
            shard_id=sender.shard_id,
            tenant_id=tenant_id,
            spool=spool.folder.name,
            first=gap.first,
            count=gap.count,
            ts=wall(),
        )
        event = Event(event_id=name, source=sender.source, at=lost.ts, body=codec.encode(lost))
        place = Place(exchange=sender.ex_detect, routing_key=f"gap.{tenant_id}.{sender.runner_id}.{sender.shard_id}")
        subject = f"{tenant_id}/{sender.runner_id}/{sender.shard_id}"
        return replace(addressed(event, place, kind=lost.type, subject=subject), is_mandatory=True)

    return told


def _brief(message: Message) -> Message:
    return replace(message, expires_in=STATUS_TTL, is_persistent=False)
