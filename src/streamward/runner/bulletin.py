"""What a Manager tells again and again: the control plane how its streams are, the bus that it lives."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice

from streamward.leases.lease import Owner
from streamward.leases.policy import RENEW_TIMEOUT
from streamward.model.ids import CameraId
from streamward.model.message import Event, Message, Place, addressed
from streamward.protocol import codec
from streamward.protocol.events import STATUS
from streamward.protocol.leases import Heartbeat
from streamward.protocol.problem import Problem
from streamward.protocol.streams import ReportsAccepted, StreamReport, StreamReports
from streamward.runner.known import NOT_NOW
from streamward.runner.manager import Manager
from streamward.runner.own_leases import Control
from streamward.runtime.clock import Clock
from streamward.runtime.teller import Teller
from streamward.runtime.usage import Usage

TTL = 10.0  # seconds for which a heartbeat is worth something
MOST_REPORTS = 1000  # in one message
PATH = "/v1/streams/status/batch"


@dataclass(frozen=True, slots=True, kw_only=True)
class BulletinParts:
    """Whom it tells."""

    control: Control
    teller: Teller
    clock: Clock
    every: float = 1.0  # seconds


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
        while reports and await self._is_told(batch := dict(islice(reports.items(), MOST_REPORTS))):
            reports = {camera_id: report for camera_id, report in reports.items() if camera_id not in batch}
        self._manager.reports = reports | self._manager.reports  # newer ones win
        return self._parts.every

    async def _is_told(self, reports: Mapping[CameraId, StreamReport]) -> bool:
        """Whether that is done with; what a control plane refuses for good is not told again."""
        message = StreamReports(items=list(reports.values()))
        answer = await self._parts.control.post(PATH, message, ReportsAccepted, within=RENEW_TIMEOUT)
        return answer is not None and not (isinstance(answer, Problem) and answer.status in NOT_NOW)

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
