"""What is published in the place of an event that is too large for the broker (S0-044): where it lies.

The message is the same but for its body, and has one header more: `cloudEvents_dataref`, as CloudEvents' claim check
names it. The pointer keeps all by which the fence judges, so that nobody fetches what is refused anyway.
"""

from datetime import datetime
from hashlib import sha256
from typing import Annotated, Literal

import msgspec

from streamward.protocol.events import DetectionEvent
from streamward.protocol.fields import Id, Message, Version

DATAREF = "cloudEvents_dataref"


class StoredObject(Message, frozen=True):
    """Where a body lies, and how to know that it is the one."""

    key: str
    url: str
    bytes: Annotated[int, msgspec.Meta(ge=0)]
    sha256: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]


class DetectionPointer(Message, frozen=True):
    """Worker: a DetectionEvent that is longer than 256 KB lies in the object store; all but what was seen is here."""

    ts: datetime
    runner_id: Id
    shard_id: Id
    tenant_id: Id
    site_id: Id
    camera_uuid: Id
    frame_id: int
    fps: float
    generation: Version
    epoch: int
    incarnation: Id
    seq: int
    event_id: str
    object: StoredObject
    type: Literal["pointer"] = "pointer"


def stored(content: bytes, *, key: str, url: str) -> StoredObject:
    """What is said of a body that lies there."""
    return StoredObject(key=key, url=url, bytes=len(content), sha256=sha256(content).hexdigest())


def pointer(event: DetectionEvent, place: StoredObject) -> DetectionPointer:
    """What is published in the place of an event."""
    shared = {name: getattr(event, name) for name in DetectionPointer.__struct_fields__ if hasattr(event, name)}
    return DetectionPointer(**shared, object=place)


def is_whole(place: StoredObject, content: bytes) -> bool:
    """Whether this is what was put there."""
    return stored(content, key=place.key, url=place.url) == place
