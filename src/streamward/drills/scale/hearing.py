"""What a scale drill hears on the bus: how many detections and statuses, and when each camera first streamed.

It asks no fence, unlike the consumer of the takeover drill: that reads all leases again and again, which would be the
control plane's largest work here.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from streamward.drills.takeover.ledger import Term
from streamward.drivers.buses import open_bus
from streamward.model.bus import Binding, Bus, BusAway, Delivery, Queue
from streamward.model.ids import CameraId, Generation
from streamward.model.secret import Secret
from streamward.model.status import StreamState
from streamward.protocol import codec
from streamward.protocol.events import DETECTIONS, STATUS
from streamward.protocol.streams import StreamReport
from streamward.runtime.clock import Clock

_SEEN = Queue(name="drill.sink", bindings=(Binding(DETECTIONS, "detections.#"),), message_ttl=600.0)
_TOLD = Queue(name="drill.states", bindings=(Binding(STATUS, "stream.status.#"),), message_ttl=600.0)
_REST = 0.1  # seconds between two handfuls: one by one, messages would cost more than all that they tell of


class Hearing:
    """All that was heard; instants are boot-time."""

    def __init__(self, *, clock: Clock) -> None:
        self.detections = 0
        self.statuses = 0
        self.streaming: dict[Term, float] = {}  # first told so
        self._newest: dict[CameraId, Generation] = {}
        self._clock = clock

    @contextlib.asynccontextmanager
    async def listening(self, amqp: str | None, data: Path) -> AsyncIterator[None]:
        """Until the block is left; what a consumer raises ends it."""
        bus = open_bus(Secret(amqp) if amqp else None, data, clock=self._clock)
        try:
            for queue in (_SEEN, _TOLD):
                await bus.declare(queue)
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(self._take(bus, _SEEN, self._seen)),
                    group.create_task(self._take(bus, _TOLD, self._told)),
                ]
                yield
                for task in tasks:
                    task.cancel()
        finally:
            await bus.close()

    @property
    def cameras(self) -> int:
        """How many were ever told to stream."""
        return len(self._newest)

    def newest(self, camera_id: CameraId) -> Generation:
        """The latest generation in which a camera was told to stream."""
        return self._newest.get(camera_id, Generation(0))

    async def _take(self, bus: Bus, queue: Queue, heard: Callable[[list[Delivery]], None]) -> None:
        consumer = bus.consume(queue.name, prefetch=5000)
        try:
            while True:
                with contextlib.suppress(BusAway):
                    some = await consumer.take(at_most=5000, within=1.0)
                    heard(some)
                    await consumer.ack(some)
                await asyncio.sleep(_REST)
        finally:
            await consumer.close()

    def _seen(self, deliveries: list[Delivery]) -> None:
        self.detections += len(deliveries)

    def _told(self, deliveries: list[Delivery]) -> None:
        now = self._clock.boot()
        self.statuses += len(deliveries)
        for each in deliveries:
            report = codec.decode(each.message.body, StreamReport)
            if report.state is StreamState.STREAMING and report.version is not None:
                term = Term(CameraId(report.camera_uuid), Generation(report.version))
                self.streaming.setdefault(term, now)
                self._newest[term.camera_id] = max(term.generation, self.newest(term.camera_id))
