"""Makes detections and zone events of a message, or says why nobody can.

Whatever a database could choke on is refused here: what is offered to it would come again for ever. A message tells of
the camera of its own routing key, and of no other: who may publish is granted by routing keys.
"""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict

from streamward.batcher.facts import MessageUnusable
from streamward.client import PayloadUnusable, payload
from streamward.insight.store import Seen
from streamward.insight.zone_events import Crossed
from streamward.model.detection import Box, Detection
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId, SiteId, TenantId
from streamward.model.message import Message
from streamward.model.objects import ObjectStore
from streamward.model.zone import Crossing
from streamward.protocol import codec
from streamward.protocol.events import DetectionEvent, DetectionsLost, SeenThing, ZoneCrossed, event_id, routing_key
from streamward.protocol.fields import check_year
from streamward.protocol.seeing import MOST_ZONES

LONGEST_LABEL = 200  # characters
HIGHEST_TRACK = 2**63 - 1  # of which a column has room
_GAP = "gap."


@dataclass(frozen=True, slots=True)
class Told:
    """What a message, or several, say of frames."""

    seen: tuple[Seen, ...]
    crossed: tuple[Crossed, ...]


class _Origin(TypedDict):
    """What all that is told of one frame has in common."""

    event_id: str
    tenant_id: TenantId
    site_id: SiteId
    camera_id: CameraId
    runner_id: RunnerId
    incarnation: Incarnation
    generation: Generation
    made_at: datetime


async def fetched(message: Message, objects: ObjectStore) -> bytes:
    """The body of a message that only says where it lies; raises MessageUnusable, and StoreAway."""
    try:
        return await payload(message, objects)
    except PayloadUnusable as err:
        raise MessageUnusable(message.message_id, err.why) from err


def read(message: Message, body: bytes | None = None) -> Told | DetectionsLost:
    """What a message says, or another body in its place; raises MessageUnusable."""
    try:
        if message.routing_key.startswith(_GAP):
            return codec.decode(message.body, DetectionsLost)
        event = codec.decode(message.body if body is None else body, DetectionEvent)
        _check(event, message)
    except (codec.MalformedMessage, ValueError) as err:
        raise MessageUnusable(message.message_id, str(err)) from err
    origin = _origin(event)
    return Told(
        seen=tuple(_seen(origin, index, thing) for index, thing in enumerate(event.detections)),
        crossed=tuple(_crossed(origin, index, each) for index, each in enumerate(event.zone_events)),
    )


def _check(event: DetectionEvent, message: Message) -> None:
    own = event_id(event.camera_uuid, generation=event.generation, epoch=event.epoch, frame=event.frame_id)
    if event.event_id != own:
        raise ValueError("its event_id is not made of its camera, generation, epoch and frame")
    key = routing_key("detections", tenant_id=event.tenant_id, site_id=event.site_id, camera_uuid=event.camera_uuid)
    if message.routing_key != key:
        raise ValueError("it is not about the camera of its routing key")
    _check_instant(event.ts)
    for thing in event.detections:
        _check_thing(thing)
    for each in event.zone_events:
        _check_crossing(each)


def _check_instant(ts: datetime) -> None:
    if ts.tzinfo is None:
        raise ValueError("its ts has no zone")
    check_year(ts)


def _check_thing(thing: SeenThing) -> None:
    _check_label(thing.label)
    if not all(map(math.isfinite, (thing.conf, *thing.bbox_xyxy))):
        raise ValueError("a number in it is not finite")
    if thing.track_id is not None:
        _check_track(thing.track_id)
    if len(thing.zones) > MOST_ZONES:
        raise ValueError(f"a thing stands in at most {MOST_ZONES} zones")


def _check_crossing(crossed: ZoneCrossed) -> None:
    _check_label(crossed.label)
    _check_track(crossed.track_id)
    _check_instant(crossed.ts)
    if not 0 <= crossed.stayed_s < math.inf:
        raise ValueError("nobody stays for a negative or endless time")


def _check_label(label: str) -> None:
    if not label or len(label) > LONGEST_LABEL or not label.isprintable():
        raise ValueError(f"a class must be 1 to {LONGEST_LABEL} printable characters")


def _check_track(track_id: int) -> None:
    if not 0 <= track_id <= HIGHEST_TRACK:
        raise ValueError("a track_id must be a number of 63 bits")


def _origin(event: DetectionEvent) -> _Origin:
    return {
        "event_id": event.event_id,
        "tenant_id": TenantId(event.tenant_id),
        "site_id": SiteId(event.site_id),
        "camera_id": CameraId(event.camera_uuid),
        "runner_id": RunnerId(event.runner_id),
        "incarnation": Incarnation(event.incarnation),
        "generation": Generation(event.generation),
        "made_at": event.ts,
    }


def _seen(origin: _Origin, index: int, thing: SeenThing) -> Seen:
    box = Box(*thing.bbox_xyxy)
    detection = Detection(thing.label, thing.conf, box, track_id=thing.track_id, zones=tuple(thing.zones))
    return Seen(**origin, index=index, detection=detection)


def _crossed(origin: _Origin, index: int, crossed: ZoneCrossed) -> Crossed:
    return Crossed(
        **origin,
        index=index,
        happened_at=crossed.ts,
        kind=Crossing(crossed.type),
        zone=crossed.zone,
        track_id=crossed.track_id,
        label=crossed.label,
        stayed=crossed.stayed_s,
    )
