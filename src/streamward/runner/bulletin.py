"""What a Manager tells again and again: the control plane how its streams are, the bus that it lives."""

import os
from dataclasses import dataclass, replace

from streamward.leases.lease import Owner
from streamward.leases.policy import RENEW_TIMEOUT
from streamward.model.message import Event, Message, Place, addressed
from streamward.protocol import codec
from streamward.protocol.events import STATUS
from streamward.protocol.leases import Heartbeat
from streamward.protocol.streams import ReportsAccepted, StreamReports
from streamward.runner.manager import Manager
from streamward.runner.own_leases import Control
from streamward.runtime.clock import Clock
from streamward.runtime.teller import Teller
from streamward.runtime.usage import Usage

EVERY = 1.0  # seconds
TTL = 10.0  # seconds for which a heartbeat is worth something
_MOST_REPORTS = 1000  # in one message


@dataclass(frozen=True, slots=True, kw_only=True)
class BulletinParts:
    """Whom it tells."""

    control: Control
    teller: Teller
    clock: Clock


class Bulletin:
    """A service runs its ticks."""

    def __init__(self, manager: Manager, owner: Owner, parts: BulletinParts) -> None:
        self._manager = manager
        self._owner = owner
        self._parts = parts
        self._usage = Usage(clock=parts.clock)
        self._beats = 0

    async def tick(self) -> float:
        """Tells everything once."""
        self._parts.teller.tell(self._heartbeat())
        reports, self._manager.reports = self._manager.reports, {}
        if reports:
            message = StreamReports(items=list(reports.values())[:_MOST_REPORTS])
            path = "/v1/streams/status/batch"
            answer = await self._parts.control.post(path, message, ReportsAccepted, within=RENEW_TIMEOUT)
            if answer is None:
                self._manager.reports = reports | self._manager.reports  # newer ones win
        return EVERY

    def _heartbeat(self) -> Message:
        self._beats += 1
        now = self._parts.clock.wall()
        cpu_pct, mem_mb = self._usage.look([os.getpid(), *(seat.pid for seat in self._manager.crew.seats.values())])
        beat = Heartbeat(
            runner_id=self._owner.runner_id,
            streams_owned=len(self._manager.crew.running()),
            shards=self._manager.counts.shards,
            cpu_pct=cpu_pct,
            mem_mb=mem_mb,
            ts=now,
        )
        name = f"{self._owner.runner_id}.{self._owner.incarnation}.{self._beats}"
        source = f"/runners/{self._owner.runner_id}"
        event = Event(event_id=name, source=source, at=now, body=codec.encode(beat))
        place = Place(exchange=STATUS, routing_key=f"{beat.type}.{self._owner.runner_id}")
        message = addressed(event, place, kind=beat.type, subject=self._owner.runner_id)
        return replace(message, expires_in=TTL, is_persistent=False)
