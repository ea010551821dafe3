"""Announces streams as disconnected whose Worker cannot do it any more: it was terminated, or died (S0-047)."""

from dataclasses import replace

from streamward.leases.lease import Owner
from streamward.leases.sharding import OwnedCamera
from streamward.model.ids import Generation, ShardId
from streamward.model.message import Event, of_event
from streamward.model.status import StreamState
from streamward.protocol import codec
from streamward.protocol.events import STATUS, routing_key
from streamward.protocol.streams import StreamReport
from streamward.runner.sink import STATUS_TTL
from streamward.runtime.clock import Clock
from streamward.runtime.teller import Teller


class StreamEndPublisher:
    """The Manager's way to `status.topic`."""

    def __init__(self, owner: Owner, *, teller: Teller, clock: Clock) -> None:
        self._owner = owner
        self._teller = teller
        self._clock = clock
        self._count = 0

    def publish(self, camera: OwnedCamera, *, shard_id: ShardId | None, generation: Generation) -> StreamReport:
        """Returns what was published."""
        self._count += 1
        report = StreamReport(
            camera_uuid=camera.camera_id,
            runner_id=self._owner.runner_id,
            shard_id=shard_id,
            state=StreamState.DISCONNECTED,
            version=generation,
            ts=self._clock.wall(),
        )
        event = Event(
            event_id=f"{self._owner.runner_id}.{self._owner.incarnation}.end.{self._count}",
            source=f"/runners/{self._owner.runner_id}",
            at=report.ts,
            body=codec.encode(report),
        )
        key = routing_key(
            "stream.status", tenant_id=camera.tenant_id, site_id=camera.site_id, camera_uuid=camera.camera_id
        )
        message = of_event(event, exchange=STATUS, routing_key=key)
        self._teller.tell(replace(message, expires_in=STATUS_TTL, is_persistent=False))
        return report
