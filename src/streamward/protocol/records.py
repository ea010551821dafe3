"""Detections, zone events and closed batches, as people read them afterwards."""

from datetime import datetime
from typing import Literal

from streamward.insight.records import BatchRecord, DetectionRecord
from streamward.insight.zone_events import ZoneEventRecord
from streamward.protocol.analyses import AnalysisDetails
from streamward.protocol.fields import Message


class DetectionDetails(Message, frozen=True):
    """Control plane: one stored detection; late: it was made under a lease that had a newer one when it came."""

    detection_id: int
    event_id: str
    index: int
    tenant_id: str
    site_id: str
    camera_uuid: str
    runner_id: str
    generation: int
    made_at: datetime
    stored_at: datetime
    label: str
    confidence: float
    bbox_xyxy: list[float]
    late: bool
    batch_id: str | None
    track_id: int | None
    zones: list[str]


class DetectionPage(Message, frozen=True):
    """Control plane: detections, the newest first; `next_cursor` is null on the last page."""

    items: list[DetectionDetails]
    next_cursor: str | None


class ZoneEventDetails(Message, frozen=True):
    """Control plane: one stored zone event; late: as of detections of the frame by which it was known."""

    zone_event_id: int
    event_id: str
    index: int
    tenant_id: str
    site_id: str
    camera_uuid: str
    generation: int
    made_at: datetime
    stored_at: datetime
    type: Literal["enter", "dwell", "leave"]
    zone: str
    track_id: int
    label: str
    stayed_s: float
    late: bool


class ZoneEventPage(Message, frozen=True):
    """Control plane: zone events, the newest first; `next_cursor` is null on the last page."""

    items: list[ZoneEventDetails]
    next_cursor: str | None


class BatchDetails(Message, frozen=True):
    """Control plane: a closed batch; queued: the analysis queue has taken it."""

    batch_id: str
    tenant_id: str
    camera_uuid: str
    detection_ids: list[int]
    detection_count: int
    started_at: datetime
    closed_at: datetime
    close_reason: str
    queued: bool
    pipeline_start_time: datetime | None = None  # null: closed by a release that did not store it


class BatchPage(Message, frozen=True):
    """Control plane: closed batches, the newest first; `next_cursor` is null on the last page."""

    items: list[BatchDetails]
    next_cursor: str | None


class WholeBatch(Message, frozen=True):
    """Control plane: a closed batch with its detections, and what was said of it, if anything was."""

    batch: BatchDetails
    detections: list[DetectionDetails]
    analysis: AnalysisDetails | None


def detection_details(record: DetectionRecord) -> DetectionDetails:
    """A kept detection as people read it."""
    seen = record.seen
    box = seen.detection.box
    return DetectionDetails(
        detection_id=record.detection_id,
        event_id=seen.event_id,
        index=seen.index,
        tenant_id=seen.tenant_id,
        site_id=seen.site_id,
        camera_uuid=seen.camera_id,
        runner_id=seen.runner_id,
        generation=seen.generation,
        made_at=seen.made_at,
        stored_at=record.stored_at,
        label=seen.detection.label,
        confidence=seen.detection.confidence,
        bbox_xyxy=[box.x1, box.y1, box.x2, box.y2],
        late=record.is_late,
        batch_id=record.batch_id,
        track_id=seen.detection.track_id,
        zones=list(seen.detection.zones),
    )


def zone_event_details(record: ZoneEventRecord) -> ZoneEventDetails:
    """A kept zone event as people read it."""
    return ZoneEventDetails(
        zone_event_id=record.zone_event_id,
        event_id=record.event_id,
        index=record.index,
        tenant_id=record.tenant_id,
        site_id=record.site_id,
        camera_uuid=record.camera_id,
        generation=record.generation,
        made_at=record.made_at,
        stored_at=record.stored_at,
        type=record.kind.value,
        zone=record.zone,
        track_id=record.track_id,
        label=record.label,
        stayed_s=record.stayed,
        late=record.is_late,
    )


def batch_details(record: BatchRecord) -> BatchDetails:
    """A kept batch as people read it."""
    batch = record.batch
    return BatchDetails(
        batch_id=batch.batch_id,
        tenant_id=batch.tenant_id,
        camera_uuid=batch.camera_id,
        detection_ids=list(batch.detection_ids),
        detection_count=len(batch.detection_ids),
        started_at=batch.started_at,
        closed_at=batch.closed_at,
        close_reason=batch.reason,
        queued=record.is_told,
        pipeline_start_time=batch.pipeline_start_time,
    )
