"""What analysts said of batches."""

from datetime import datetime
from typing import Annotated

import msgspec

from streamward.insight.analysis import Presence
from streamward.insight.records import AnalysisRecord
from streamward.protocol.fields import Cursor, Id, Limit, Message


class KindSeen(Message, frozen=True):
    """Control plane: all things of one kind in a batch; `dwell_s` is how long at least one was there.

    `count` is of detections, `tracks` of the things that were followed in them; null: not each of them was.
    """

    label: str
    count: int
    most_at_once: int
    first_seen: datetime
    last_seen: datetime
    dwell_s: float
    confidence: float
    zones: list[str]
    tracks: int | None


class RecentQuery(Message, frozen=True):
    """Viewer asks for a part of a listing, the newest first; answered by the page of that listing."""

    camera_uuid: Id | None = None
    limit: Limit = 100
    cursor: Cursor | None = None


class AnalysisDetails(Message, frozen=True):
    """Control plane: what was said of a batch."""

    batch_id: str
    tenant_id: str
    camera_uuid: str
    analyst: str
    analysed_at: datetime
    summary: str
    risk: Annotated[int, msgspec.Meta(ge=0, le=100)]
    reasons: list[str]
    kinds: list[KindSeen]
    first_seen: datetime
    last_seen: datetime


class AnalysisPage(Message, frozen=True):
    """Control plane: analyses, the newest first; `next_cursor` is null on the last page."""

    items: list[AnalysisDetails]
    next_cursor: str | None


def analysis_details(record: AnalysisRecord) -> AnalysisDetails:
    """A kept analysis as people read it."""
    kept = record.analysis
    return AnalysisDetails(
        batch_id=kept.batch_id,
        tenant_id=kept.tenant_id,
        camera_uuid=kept.camera_id,
        analyst=kept.analyst,
        analysed_at=record.at,
        summary=kept.summary,
        risk=kept.risk,
        reasons=list(kept.reasons),
        kinds=[_kind(each) for each in kept.presences],
        first_seen=kept.first_seen,
        last_seen=kept.last_seen,
    )


def _kind(presence: Presence) -> KindSeen:
    return KindSeen(
        label=presence.label,
        count=presence.count,
        most_at_once=presence.most_at_once,
        first_seen=presence.first_seen,
        last_seen=presence.last_seen,
        dwell_s=presence.dwell,
        confidence=presence.confidence,
        zones=list(presence.zones),
        tracks=presence.tracks,
    )
