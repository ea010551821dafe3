"""Detections and zone events for tests, and batches of detections."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from streamward.insight.batch import BatchId, CloseReason, Sealed
from streamward.insight.store import Seen
from streamward.insight.zone_events import Crossed
from streamward.leases.lease import Owner
from streamward.model.detection import Box, Detection
from streamward.model.ids import CameraId, Generation, SiteId, TenantId
from streamward.model.zone import Crossing
from tests.support.builders import CAMERA, SITE, START, TENANT, an_owner, at

PERSON = Detection("person", 0.75, Box(1.0, 2.0, 30.5, 40.25))
FOLLOWED = replace(PERSON, track_id=7, zones=("door", "yard"))


def a_seen(
    event_id: str = "event-1",
    index: int = 0,
    *,
    camera_id: str = CAMERA,
    tenant: str = TENANT,
    site: str = SITE,
    owner: Owner | None = None,
    generation: int = 1,
    made_at: datetime = START,
    detection: Detection = PERSON,
) -> Seen:
    owner = owner or an_owner()
    return Seen(
        event_id=event_id,
        index=index,
        tenant_id=TenantId(tenant),
        site_id=SiteId(site),
        camera_id=CameraId(camera_id),
        runner_id=owner.runner_id,
        incarnation=owner.incarnation,
        generation=Generation(generation),
        made_at=made_at,
        detection=detection,
    )


def a_crossed(event_id: str = "event-1", *, owner: Owner | None = None, **changes: Any) -> Crossed:
    owner = owner or an_owner()
    values: dict[str, Any] = {
        "index": 0,
        "tenant_id": TenantId(TENANT),
        "site_id": SITE,
        "camera_id": CAMERA,
        "runner_id": owner.runner_id,
        "incarnation": owner.incarnation,
        "generation": Generation(1),
        "made_at": START,
        "happened_at": START,
        "kind": Crossing.ENTER,
        "zone": "door",
        "track_id": 7,
        "label": "person",
        "stayed": 0.0,
    }
    return Crossed(event_id=event_id, **(values | changes))


def a_batch_id(number: int) -> BatchId:
    return BatchId(f"batch-{number:032x}")


def a_sealed(
    detection_ids: Sequence[int],
    *,
    number: int = 1,
    camera_id: str = CAMERA,
    tenant: str = TENANT,
    closed_at: datetime = START,
) -> Sealed:
    return Sealed(
        batch_id=a_batch_id(number),
        tenant_id=tenant,
        camera_id=camera_id,
        detection_ids=tuple(detection_ids),
        started_at=START,
        pipeline_start_time=at(-2),
        closed_at=closed_at,
        reason=CloseReason.IDLE,
    )
