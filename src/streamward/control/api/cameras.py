"""Which cameras there are, and why one does not run."""

from typing import Protocol

from streamward.control.api.routing import Routes
from streamward.control.cursor import Cursors
from streamward.leases import why
from streamward.leases.store import (
    CameraFilter,
    CameraStore,
    DialStore,
    LeaseRecords,
    RunnerStore,
    StatusStore,
)
from streamward.model.camera import Camera
from streamward.model.identity import Caller
from streamward.model.ids import CameraId, SiteId, TenantId
from streamward.protocol.cameras import CameraPage, CameraQuery, row
from streamward.protocol.problem import Problem
from streamward.protocol.why import CameraWhy, WhyReason

UNKNOWN = Problem(title="Not Found", status=404, detail="there is no such camera", reason="camera-unknown")


class WhyStore(CameraStore, LeaseRecords, RunnerStore, DialStore, StatusStore, Protocol):
    """The ports that tell a camera's situation."""


def add_cameras(routes: Routes, store: WhyStore, *, cursors: Cursors) -> None:
    """Adds the routes about cameras."""

    @routes.get("/v1/cameras", refuses={400: "The cursor is not one of this listing"})
    async def list_cameras(caller: Caller, query: CameraQuery) -> CameraPage:
        """Lists cameras in the order of their ids."""
        filters = [caller.tenant_id, query.enabled, query.tenant_id, query.site_id]
        after = None if query.cursor is None else CameraId(cursors.open(query.cursor, filters=filters))
        found = await store.page(_wanted(caller, query, after))
        page = found[: query.limit]
        return CameraPage(
            items=[row(camera) for camera in page],
            next_cursor=cursors.seal(page[-1].camera_id, filters=filters) if len(found) > len(page) else None,
        )

    @routes.get("/v1/cameras/{camera_uuid}/why", refuses={404: "There is no such camera"})
    async def explain_camera(caller: Caller, camera_uuid: str) -> CameraWhy | Problem:
        """Says why a camera is not running."""
        camera = await store.find_camera(CameraId(camera_uuid), scope=caller.tenant_id)
        return UNKNOWN if camera is None else _told(await _situation(store, camera))


def _wanted(caller: Caller, query: CameraQuery, after: CameraId | None) -> CameraFilter:
    return CameraFilter(
        scope=caller.tenant_id,
        enabled=query.enabled,
        tenant_id=None if query.tenant_id is None else TenantId(query.tenant_id),
        site_id=None if query.site_id is None else SiteId(query.site_id),
        after=after,
        limit=query.limit + 1,  # one more tells whether another page follows
    )


async def _situation(store: WhyStore, camera: Camera) -> why.Situation:
    load = await store.site_load(camera.site_id)
    return why.Situation(
        camera=camera,
        lease=await store.find(camera.camera_id),
        runners=await store.runners(),
        load=load,
        budget=await store.budget(camera.site_id, scope=None),
        status=await store.find_status(camera.camera_id),
        now=load.at,
    )


def _told(seen: why.Situation) -> CameraWhy:
    reasons = why.explain(seen)
    lease = seen.lease if seen.lease is not None and seen.lease.owner is not None else None
    return CameraWhy(
        camera_uuid=seen.camera.camera_id,
        running=reasons[0].code is why.ReasonCode.RUNNING,
        reasons=[WhyReason(code=reason.code, detail=reason.detail) for reason in reasons],
        owner_id=lease.owner.runner_id if lease is not None and lease.owner is not None else None,
        version=None if lease is None else lease.generation,
        expires_at=None if lease is None else lease.expires_at,
    )
