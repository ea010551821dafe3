"""What a Worker publishes, in S0's spelling (S0-042 to S0-050), with what the fence needs beside it."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from streamward.model.bus import Binding, Queue
from streamward.model.detection import Detection
from streamward.model.runner import SILENT_AFTER
from streamward.model.zone import ZoneEvent
from streamward.protocol.fields import Id, Message, Version

DETECTIONS = "detections.topic"  # exchanges
STATUS = "status.topic"
DEAD_DETECTIONS = "detections.dead"
MOST_WAITING = 1_000_000  # detections that wait for a batcher; beyond that the oldest give way
MOST_HEARTBEATS = 10_000
MOST_DEAD = 10_000

BATCHER = Queue(
    name="detections.batcher",
    bindings=(Binding(DETECTIONS, "detections.#"), Binding(DETECTIONS, "gap.#")),
    most=MOST_WAITING,
)
DEAD = Queue(  # what the batcher can make nothing of, for people; the oldest give way
    name="detections.dead", bindings=(Binding(DEAD_DETECTIONS, "#"),), most=MOST_DEAD
)
HEARTBEATS = Queue(  # of runners, for all control planes together: each hears some
    name="runner.heartbeats",
    bindings=(Binding(STATUS, "runner.heartbeat.#"),),
    message_ttl=SILENT_AFTER,
    most=MOST_HEARTBEATS,
)


class SeenThing(Message, frozen=True, rename={"label": "class"}):
    """One thing in a frame; its box is left, top, right and bottom in the camera's own pixels."""

    label: str
    conf: float
    bbox_xyxy: Annotated[list[float], msgspec.Meta(min_length=4, max_length=4)]
    track_id: int | None = None  # the same for one thing as long as it is followed; of its camera, generation and epoch
    zones: list[Id] = msgspec.field(default_factory=list)  # of its camera, in which it stands


class ZoneCrossed(Message, frozen=True, rename={"label": "class"}):
    """Somebody entered a zone, has stayed there for as long as the zone asks, or was last there: at `ts`."""

    type: Literal["enter", "dwell", "leave"]
    zone: Id
    track_id: int
    label: str
    ts: datetime
    stayed_s: float


class Latency(Message, frozen=True):
    """Seconds that the detector took, and from the frame's arrival to this event."""

    inference_s: float
    e2e_s: float


class DetectionEvent(Message, frozen=True):
    """Worker: what was seen in one frame; `ts` is when the frame arrived, by the database's time (S0-043).

    `event_id` is made from camera, generation, epoch and frame number: it names this event for ever, and whoever gets
    it twice knows it by that.
    """

    ts: datetime
    runner_id: Id
    shard_id: Id
    tenant_id: Id
    site_id: Id
    camera_uuid: Id
    frame_id: int
    fps: float
    detections: list[SeenThing]
    latency: Latency
    generation: Version
    epoch: int
    incarnation: Id
    seq: int
    event_id: str
    zone_events: list[ZoneCrossed] = msgspec.field(default_factory=list)


class StreamFailed(Message, frozen=True):
    """Worker: why a stream does not run, and when it is tried again (S0-049); never a URL or a password.

    With 0 ms it runs, and this is what is wrong with it, or it is dialed again at once.
    """

    camera_uuid: Id
    runner_id: Id
    code: str
    detail: str
    retry_in_ms: int
    ts: datetime
    type: Literal["stream.error"] = "stream.error"


class DetectionsLost(Message, frozen=True):
    """Worker: so many detections gave way in a full spool before anybody got them, counted from `first` in it."""

    runner_id: Id
    shard_id: Id
    tenant_id: Id
    spool: str
    first: int
    count: int
    ts: datetime
    type: Literal["detections.gap"] = "detections.gap"


class WorkerAlive(Message, frozen=True):
    """Worker: it lives, once a second (S0-108); how many cameras it has and how many of them stream."""

    runner_id: Id
    shard_id: Id
    incarnation: Id | None
    ts: datetime
    streams: int
    streaming: int
    type: Literal["worker.heartbeat"] = "worker.heartbeat"


def event_id(camera_uuid: str, *, generation: int, epoch: int, frame: int) -> str:
    """The one name of what was seen in one frame."""
    return f"{camera_uuid}.{generation}.{epoch}.{frame}"


def first_epoch(started_at: datetime) -> int:
    """Where a process begins to count: a later start of one incarnation, by the same token say, repeats none."""
    return int(started_at.timestamp() * 1000)


def routing_key(kind: str, *, tenant_id: str, site_id: str, camera_uuid: str) -> str:
    """`detections`, `stream.status` or `stream.error`, and whose."""
    return f"{kind}.{tenant_id}.{site_id}.{camera_uuid}"


def seen_thing(detection: Detection) -> SeenThing:
    """A detection on the wire: tenths of a pixel are enough."""
    box = detection.box
    corners: list[Any] = [round(each, 1) for each in (box.x1, box.y1, box.x2, box.y2)]
    return SeenThing(
        label=detection.label,
        conf=round(detection.confidence, 4),
        bbox_xyxy=corners,
        track_id=detection.track_id,
        zones=list(detection.zones),
    )


def zone_crossed(event: ZoneEvent, ts: datetime) -> ZoneCrossed:
    """What happened at a zone, dated by the database's time."""
    return ZoneCrossed(
        type=event.kind.value,
        zone=event.zone,
        track_id=event.track_id,
        label=event.label,
        ts=ts,
        stayed_s=round(event.stayed, 3),
    )
