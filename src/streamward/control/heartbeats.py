"""Who is heard on the bus: runners tell there once a second that they live (S0-064).

Control planes share one queue, and of several each hears some of the heartbeats: a runner is as silent as the one says
that heard it last. While the bus is away nobody is heard.
"""

from collections.abc import Mapping

from streamward.leases.facts import RunnerHeard
from streamward.model.bus import Bus, BusAway, Consumer, QueueRefused
from streamward.model.ids import Incarnation, RunnerId
from streamward.protocol import codec
from streamward.protocol.events import HEARTBEATS
from streamward.protocol.leases import Heartbeat
from streamward.runtime.journal import Journal

LISTEN_FOR = 2.0  # seconds without a heartbeat, after which the queue is declared again
_MOST = 1000  # heartbeats taken at once


class HeartbeatWatch:
    """Listens; a service runs its ticks."""

    def __init__(self, bus: Bus, *, journal: Journal) -> None:
        self._bus = bus
        self._journal = journal
        self._consumer: Consumer | None = None

    async def tick(self) -> float:
        """Takes what has come; that a bus is away is told by whoever publishes."""
        try:
            consumer = self._consumer or await self._subscribed()
            taken = await consumer.take(at_most=_MOST, within=LISTEN_FOR)
            for each in taken:
                self._hear(each.message.body)
            await consumer.ack(taken)
            if not taken:  # the exchange or the binding may have been deleted at the broker
                await self._bus.declare(HEARTBEATS)
        except BusAway as away:
            return away.retry_in
        except QueueRefused:  # somebody removed it: it is made again
            await self.close()
            raise
        return 0.0

    async def close(self) -> None:
        """Listens no more."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await consumer.close()

    async def _subscribed(self) -> Consumer:
        await self._bus.declare(HEARTBEATS)
        self._consumer = self._bus.consume(HEARTBEATS.name, prefetch=_MOST)
        return self._consumer

    def _hear(self, body: bytes) -> None:
        try:
            beat = codec.decode(body, Heartbeat)
        except codec.MalformedMessage:  # anybody may publish there
            return
        self._journal.record(RunnerHeard(runner_id=RunnerId(beat.runner_id)))


class Silence:
    """How long each runner has not been heard; instants are boot-time.

    One that was never heard is silent since it was first asked about, and so is each new start of one: nobody is called
    silent before there was time to say something.
    """

    def __init__(self) -> None:
        self._starts: dict[RunnerId, Incarnation] = {}
        self._heard_at: dict[RunnerId, float] = {}

    def heard(self, runner_id: RunnerId, now: float) -> None:
        """It lives."""
        self._heard_at[runner_id] = now

    def ages(self, running: Mapping[RunnerId, Incarnation], now: float) -> dict[RunnerId, float]:
        """Seconds for each of those that should be heard; others are forgotten."""
        for runner_id, incarnation in running.items():
            if self._starts.get(runner_id) != incarnation:
                self._heard_at[runner_id] = now
        self._starts = dict(running)
        self._heard_at = {runner_id: at for runner_id, at in self._heard_at.items() if runner_id in running}
        return {runner_id: max(0.0, now - at) for runner_id, at in self._heard_at.items()}
