"""Makes detections of a message, or says why nobody can.

Whatever a database could choke on is refused here: what is offered to it would come again for ever. A message tells of
the camera of its own routing key, and of no other: who may publish is granted by routing keys.
"""

import math

from streamward.batcher.facts import MessageUnusable
from streamward.client import PayloadUnusable, payload
from streamward.insight.store import Seen
from streamward.model.detection import Box, Detection
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId, SiteId, TenantId
from streamward.model.message import Message
from streamward.model.objects import ObjectStore
from streamward.protocol import codec
from streamward.protocol.events import DetectionEvent, DetectionsLost, SeenThing, event_id, routing_key
from streamward.protocol.fields import check_year
from streamward.protocol.seeing import MOST_ZONES

LONGEST_LABEL = 200  # characters
HIGHEST_TRACK = 2**63 - 1  # of which a column has room
_GAP = "gap."


async def fetched(message: Message, objects: ObjectStore) -> bytes:
    """The body of a message that only says where it lies; raises MessageUnusable, and StoreAway."""
    try:
        return await payload(message, objects)
    except PayloadUnusable as err:
        raise MessageUnusable(message.message_id, err.why) from err


def read(message: Message, body: bytes | None = None) -> tuple[Seen, ...] | DetectionsLost:
    """What a message says, or another body in its place; raises MessageUnusable."""
    try:
        if message.routing_key.startswith(_GAP):
            return codec.decode(message.body, DetectionsLost)
        event = codec.decode(message.body if body is None else body, DetectionEvent)
        _check(event, message)
    except (codec.MalformedMessage, ValueError) as err:
        raise MessageUnusable(message.message_id, str(err)) from err
    return tuple(_seen(event, index, thing) for index, thing in enumerate(event.detections))


def _check(event: DetectionEvent, message: Message) -> None:
    own = event_id(event.camera_uuid, generation=event.generation, epoch=event.epoch, frame=event.frame_id)
    if event.event_id != own:
        raise ValueError("its event_id is not made of its camera, generation, epoch and frame")
    key = routing_key("detections", tenant_id=event.tenant_id, site_id=event.site_id, camera_uuid=event.camera_uuid)
    if message.routing_key != key:
        raise ValueError("it is not about the camera of its routing key")
    if event.ts.tzinfo is None:
        raise ValueError("its ts has no zone")
    check_year(event.ts)
    for thing in event.detections:
        _check_thing(thing)


def _check_thing(thing: SeenThing) -> None:
    if not thing.label or len(thing.label) > LONGEST_LABEL or not thing.label.isprintable():
        raise ValueError(f"a class must be 1 to {LONGEST_LABEL} printable characters")
    if not all(map(math.isfinite, (thing.conf, *thing.bbox_xyxy))):
        raise ValueError("a number in it is not finite")
    if thing.track_id is not None and not 0 <= thing.track_id <= HIGHEST_TRACK:
        raise ValueError("a track_id must be a number of 63 bits")
    if len(thing.zones) > MOST_ZONES:
        raise ValueError(f"a thing stands in at most {MOST_ZONES} zones")


def _seen(event: DetectionEvent, index: int, thing: SeenThing) -> Seen:
    return Seen(
        event_id=event.event_id,
        index=index,
        tenant_id=TenantId(event.tenant_id),
        site_id=SiteId(event.site_id),
        camera_id=CameraId(event.camera_uuid),
        runner_id=RunnerId(event.runner_id),
        incarnation=Incarnation(event.incarnation),
        generation=Generation(event.generation),
        made_at=event.ts,
        detection=Detection(
            thing.label, thing.conf, Box(*thing.bbox_xyxy), track_id=thing.track_id, zones=tuple(thing.zones)
        ),
    )
