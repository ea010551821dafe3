"""A Worker's heartbeat on the bus, once a second (S0-108)."""

from collections.abc import Mapping
from typing import Protocol

from streamward.model.ids import CameraId
from streamward.model.status import StreamState
from streamward.protocol.events import WorkerAlive
from streamward.protocol.shards import ShardConfig
from streamward.runner.metrics import WorkerMetrics
from streamward.runner.parts import Stamps
from streamward.runner.sink import BusSink
from streamward.runtime.clock import Clock
from streamward.vision.stream import Condition

EVERY = 1.0  # seconds


class Beating(Protocol):
    """The Worker, as far as it is counted."""

    @property
    def conditions(self) -> Mapping[CameraId, Condition]: ...
    @property
    def metrics(self) -> WorkerMetrics: ...


class Pulse:
    """A service runs its ticks."""

    def __init__(self, config: ShardConfig, worker: Beating, sink: BusSink, *, stamps: Stamps, clock: Clock) -> None:
        self._config = config
        self._worker = worker
        self._sink = sink
        self._stamps = stamps
        self._clock = clock

    async def tick(self) -> float:
        """One beat."""
        self._worker.metrics.spool(self._sink.waiting)
        states = [condition.state for condition in self._worker.conditions.values()]
        self._sink.beat(
            WorkerAlive(
                runner_id=self._config.runner_id,
                shard_id=self._config.shard_id,
                incarnation=self._config.incarnation,
                ts=self._stamps.database_time(self._clock.boot()),
                streams=len(states),
                streaming=sum(state is StreamState.STREAMING for state in states),
            )
        )
        return EVERY
