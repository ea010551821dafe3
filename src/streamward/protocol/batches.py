"""What is told of batches, to the analysis queue and to whoever listens, in S2's spelling (S2-32, S2-33, S2-40).

Whoever listens hears of zones too.
"""

from typing import Literal

from streamward.insight.batch import Sealed, short
from streamward.model.bus import Binding, Overflow, Queue
from streamward.protocol.fields import Id, Instant, Message

EXCHANGE = "analysis.topic"
MOST_WAITING = 10_000  # batches that wait for an analyst; more stay in the outbox
HELD_SHARE = 0.8  # of these, from which on they do

ANALYSIS = Queue(
    name="analysis_queue",
    bindings=(Binding(EXCHANGE, "analysis.#"),),
    most=MOST_WAITING,
    overflow=Overflow.REJECT_PUBLISH,
)
DEAD = Queue(name="analysis_dead", bindings=(Binding(EXCHANGE, "dead.#"),), most=MOST_WAITING)  # nobody could analyse


class AnalysisRequest(Message, frozen=True):
    """Batcher: a batch is closed and can be analysed. The message's id is the batch's full one: repeats share it.

    `started_at` is when the batch was opened, and `pipeline_start_time` when its earliest frame reached a Worker: what
    lies between them is the latency of the pipeline, or the time that the detection was in a spool.
    """

    batch_id: str  # the short one
    camera_id: Id
    detection_ids: list[int]
    started_at: Instant
    closed_at: Instant
    close_reason: str
    pipeline_start_time: Instant | None


class DetectionNew(Message, frozen=True, kw_only=True):
    """Batcher: something was seen, and which batch it is in so far; `timestamp` is when this was broadcast."""

    detection_id: int
    batch_id: str
    camera_id: Id
    label: str = "unknown"
    confidence: float = 0.0
    timestamp: Instant


class DetectionBatch(Message, frozen=True):
    """Batcher: a batch is closed."""

    batch_id: str
    camera_id: Id
    detection_ids: list[int]
    detection_count: int
    started_at: Instant
    closed_at: Instant
    close_reason: str


class ZoneEventNew(Message, frozen=True):
    """Batcher: somebody entered a zone, has stayed there for as long as the zone asks, or has left it.

    `event_id` is the event's by which it was known. Its first three parts are camera, generation and epoch: only
    together with these is a `track_id` unique.
    """

    event_id: str
    type: Literal["enter", "dwell", "leave"]
    zone: Id
    camera_id: Id
    track_id: int
    label: str
    timestamp: Instant
    stayed_s: float


# An alert has the body of `detection.new`.
Kind = Literal["detection.new", "detection.alert", "detection.batch", "zone.event"]


def routing_key(batch: Sealed) -> str:
    """Whose batch it is: `analysis.<tenant>.<camera>`."""
    return f"analysis.{batch.tenant_id}.{batch.camera_id}"


def analysis_request(batch: Sealed) -> AnalysisRequest:
    return AnalysisRequest(
        batch_id=short(batch.batch_id),
        camera_id=batch.camera_id,
        detection_ids=list(batch.detection_ids),
        started_at=batch.started_at,
        closed_at=batch.closed_at,
        close_reason=batch.reason,
        pipeline_start_time=batch.pipeline_start_time,
    )


def detection_batch(batch: Sealed) -> DetectionBatch:
    return DetectionBatch(
        batch_id=short(batch.batch_id),
        camera_id=batch.camera_id,
        detection_ids=list(batch.detection_ids),
        detection_count=len(batch.detection_ids),
        started_at=batch.started_at,
        closed_at=batch.closed_at,
        close_reason=batch.reason,
    )
