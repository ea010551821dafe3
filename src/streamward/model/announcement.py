"""What the outside is told of a change, in the form in which it is published (S0-024)."""

import json
from dataclasses import dataclass
from datetime import datetime

from streamward.model.camera import Camera
from streamward.model.message import Event, Message, of_event

EXCHANGE = "control.topic"
SOURCE = "/control"


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """One message to be published; whoever gets it twice knows it by its `event_id`."""

    position: int  # in the order in which changes were committed
    event_id: str
    exchange: str
    routing_key: str
    body: str  # JSON
    at: datetime

    @property
    def message(self) -> Message:
        """As it is published."""
        event = Event(event_id=self.event_id, source=SOURCE, at=self.at, body=self.body.encode())
        return of_event(event, exchange=self.exchange, routing_key=self.routing_key)


def of_camera(camera: Camera, verb: str, *, event_id: str, at: datetime) -> Announcement:
    """Tells of one change of a camera: which it is and whether it is wanted, never where it is."""
    body = {
        "event_id": event_id,
        "type": f"camera.{verb}",
        "ts": at.isoformat().replace("+00:00", "Z"),
        "tenant_id": camera.tenant_id,
        "site_id": camera.site_id,
        "camera_uuid": camera.camera_id,
        "enabled": camera.enabled,
        "do_not_process": camera.do_not_process,
        "credential_version": camera.credential_version,
        "revision": camera.revision,
    }
    return Announcement(
        position=0,  # given by the store
        event_id=event_id,
        exchange=EXCHANGE,
        routing_key=f"camera.{verb}.{camera.tenant_id}.{camera.site_id}.{camera.camera_id}",
        body=json.dumps(body),
        at=at,
    )
