"""A runner's heartbeat on the bus (S0-025, S0-092): every second, whatever the control plane's HTTP does.

The control plane gets the same values with `POST /v1/runners/heartbeat`, which the holder of the leases sends.
"""

import os
from dataclasses import replace

from streamward.leases.lease import Owner
from streamward.model.message import Event, Message, Place, addressed
from streamward.model.runner import RunnerLoad
from streamward.protocol import codec
from streamward.protocol.events import STATUS
from streamward.protocol.leases import Heartbeat
from streamward.runner.manager import Manager
from streamward.runtime.cadence import Cadence
from streamward.runtime.clock import Clock
from streamward.runtime.teller import Teller
from streamward.runtime.usage import Usage

TTL = 10.0  # seconds after which the bus drops a heartbeat that was not consumed


class HeartbeatPublisher:
    """A service runs its ticks; none of them waits."""

    def __init__(self, manager: Manager, owner: Owner, *, teller: Teller, clock: Clock, every: float = 1.0) -> None:
        self._manager = manager
        self._owner = owner
        self._teller = teller
        self._clock = clock
        self._usage = Usage(clock=clock)
        self._cadence = Cadence(every, clock=clock)
        self._count = 0

    async def tick(self) -> float:
        """Measures what the runner uses, and publishes one heartbeat."""
        pids = [os.getpid(), *(seat.pid for seat in self._manager.crew.seats.values())]
        cpu_pct, mem_mb = self._usage.look(pids)
        self._manager.load = RunnerLoad(shards=self._manager.counts.shards, cpu_pct=cpu_pct, mem_mb=mem_mb)
        self._teller.tell(self._message(self._manager.load))
        return self._cadence.rest()

    def _message(self, load: RunnerLoad) -> Message:
        self._count += 1
        heartbeat = Heartbeat(
            runner_id=self._owner.runner_id,
            streams_owned=self._manager.counts.owned,
            shards=load.shards,
            cpu_pct=load.cpu_pct,
            mem_mb=load.mem_mb,
            ts=self._clock.wall(),
        )
        event = Event(
            event_id=f"{self._owner.runner_id}.{self._owner.incarnation}.{self._count}",
            source=f"/runners/{self._owner.runner_id}",
            at=self._clock.wall(),
            body=codec.encode(heartbeat),
        )
        place = Place(exchange=STATUS, routing_key=f"{heartbeat.type}.{self._owner.runner_id}")
        message = addressed(event, place, kind=heartbeat.type, subject=self._owner.runner_id)
        return replace(message, expires_in=TTL, is_persistent=False)
