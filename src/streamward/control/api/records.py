"""What was seen, what happened at zones, what was batched and said of it: the newest first."""

from streamward.control.api.routing import Access, Routes
from streamward.control.cursor import Cursors
from streamward.control.listing import page_of
from streamward.insight.batch import BatchId, is_prefix
from streamward.insight.database import Insight
from streamward.insight.records import AnalysisRecord, BatchRecord, DetectionRecord, Recent
from streamward.insight.zone_events import ZoneEventRecord
from streamward.model.identity import Caller
from streamward.model.ids import CameraId
from streamward.protocol.analyses import AnalysisPage, RecentQuery, analysis_details
from streamward.protocol.problem import Problem
from streamward.protocol.records import (
    BatchPage,
    DetectionPage,
    WholeBatch,
    ZoneEventPage,
    batch_details,
    detection_details,
    zone_event_details,
)

UNKNOWN = Problem(title="Not Found", status=404, detail="there is no such batch", reason="batch-unknown")
AMBIGUOUS = Problem(
    title="Conflict",
    status=409,
    detail="several batches have an id that begins so: name more of it",
    reason="batch-ambiguous",
)
_BAD_CURSOR = {400: "The cursor is not one of this listing"}


def add_records(routes: Routes, insight: Insight, *, cursors: Cursors) -> None:
    """Adds the routes that read detections, zone events, batches and analyses."""
    _add_batches(routes, insight, cursors)

    @routes.get("/v1/detections", access=Access.VIEWER, refuses=_BAD_CURSOR)
    async def list_detections(caller: Caller, query: RecentQuery) -> DetectionPage:
        """Lists stored detections, the newest first."""

        async def fetch(before: str | None, limit: int) -> list[DetectionRecord]:
            return await insight.records.detections(_wanted(caller, query, before, limit))

        filters = _filters("detections", caller, query)
        found, cursor = await page_of(query, fetch, cursors=cursors, filters=filters, key=lambda row: row.detection_id)
        return DetectionPage(items=[detection_details(row) for row in found], next_cursor=cursor)

    @routes.get("/v1/zone-events", access=Access.VIEWER, refuses=_BAD_CURSOR)
    async def list_zone_events(caller: Caller, query: RecentQuery) -> ZoneEventPage:
        """Lists who entered zones, stayed and left, the newest first."""

        async def fetch(before: str | None, limit: int) -> list[ZoneEventRecord]:
            return await insight.zone_events.page(_wanted(caller, query, before, limit))

        filters = _filters("zone-events", caller, query)
        found, cursor = await page_of(query, fetch, cursors=cursors, filters=filters, key=lambda row: row.zone_event_id)
        return ZoneEventPage(items=[zone_event_details(row) for row in found], next_cursor=cursor)

    @routes.get("/v1/analyses", access=Access.VIEWER, refuses=_BAD_CURSOR)
    async def list_analyses(caller: Caller, query: RecentQuery) -> AnalysisPage:
        """Lists what was said of batches, the newest first."""

        async def fetch(before: str | None, limit: int) -> list[AnalysisRecord]:
            return await insight.analyses.page(_wanted(caller, query, before, limit))

        filters = _filters("analyses", caller, query)
        found, cursor = await page_of(query, fetch, cursors=cursors, filters=filters, key=lambda row: row.position)
        return AnalysisPage(items=[analysis_details(row) for row in found], next_cursor=cursor)


def _add_batches(routes: Routes, insight: Insight, cursors: Cursors) -> None:
    @routes.get("/v1/batches", access=Access.VIEWER, refuses=_BAD_CURSOR)
    async def list_batches(caller: Caller, query: RecentQuery) -> BatchPage:
        """Lists closed batches, the newest first."""

        async def fetch(before: str | None, limit: int) -> list[BatchRecord]:
            return await insight.records.batches(_wanted(caller, query, before, limit))

        filters = _filters("batches", caller, query)
        found, cursor = await page_of(query, fetch, cursors=cursors, filters=filters, key=lambda row: row.position)
        return BatchPage(items=[batch_details(row) for row in found], next_cursor=cursor)

    @routes.get(
        "/v1/batches/{batch_id}",
        access=Access.VIEWER,
        refuses={404: "There is no such batch", 409: "Several batches have an id that begins so"},
    )
    async def get_batch(caller: Caller, batch_id: str) -> WholeBatch | Problem:
        """Tells a batch with its detections and what was said of it.

        The short id of messages, or any beginning of an id from four digits on, will do if it is unique for the caller.
        """
        found = [BatchId(batch_id)]
        if is_prefix(batch_id):
            found = await insight.records.batch_ids(batch_id, scope=caller.tenant_id, limit=2)
        if len(found) > 1:
            return AMBIGUOUS
        record = await insight.records.find_batch(found[0], scope=caller.tenant_id) if found else None
        if record is None:
            return UNKNOWN
        seen = await insight.records.detections_of(found[0], scope=caller.tenant_id)
        said = await insight.analyses.find(found[0], scope=caller.tenant_id)
        return WholeBatch(
            batch=batch_details(record),
            detections=[detection_details(row) for row in seen],
            analysis=None if said is None else analysis_details(said),
        )


def _wanted(caller: Caller, query: RecentQuery, before: str | None, limit: int) -> Recent:
    return Recent(
        scope=caller.tenant_id,
        camera_id=None if query.camera_uuid is None else CameraId(query.camera_uuid),
        before=None if before is None else int(before),
        limit=limit,
    )


def _filters(listing: str, caller: Caller, query: RecentQuery) -> list[str | None]:
    return [listing, caller.tenant_id, query.camera_uuid]
