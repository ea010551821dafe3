"""Which cameras there are, what operators do to them, and why one does not run."""

from datetime import datetime
from typing import Protocol

from streamward.control.api.routing import Access, Routes, Tagged
from streamward.control.clerk import Clerk
from streamward.control.courier import SourceCourier
from streamward.control.cursor import Cursors
from streamward.control.leasing import lease_of
from streamward.control.listing import page_of
from streamward.control.logins import LoginService
from streamward.control.registrar import Registrar
from streamward.control.tags import check_tag, tag_of
from streamward.leases import why
from streamward.leases.lease import Lease
from streamward.leases.store import (
    CameraFilter,
    CameraStore,
    DialStore,
    LeaseRecords,
    RunnerStore,
    StatusStore,
)
from streamward.model.camera import Camera
from streamward.model.identity import Author, Caller
from streamward.model.ids import CameraId, SiteId, TenantId
from streamward.model.status import Substate
from streamward.protocol.cameras import (
    CameraDetails,
    CameraPage,
    CameraQuery,
    CameraRemoved,
    ChangeCamera,
    CreateCamera,
    details,
    row,
)
from streamward.protocol.leases import CameraSource
from streamward.protocol.problem import Problem
from streamward.protocol.why import CameraWhy, WhyReason

UNKNOWN = Problem(title="Not Found", status=404, detail="there is no such camera", reason="camera-unknown")


LOCKED = Problem(
    title="Conflict",
    status=409,
    detail="the camera's credential cannot be opened: an operator has to give it again",
    reason="credential-locked",
)

_NO_SUCH = {404: "There is no such camera"}


class SourceStore(CameraStore, LeaseRecords, Protocol):
    """The ports that tell who may read a source."""

    async def ping(self) -> datetime: ...


class WhyStore(CameraStore, LeaseRecords, RunnerStore, DialStore, StatusStore, Protocol):
    """The ports that tell a camera's situation."""


def add_cameras(routes: Routes, store: WhyStore, *, cursors: Cursors, logins: LoginService) -> None:
    """Adds the routes about cameras."""

    @routes.get("/v1/cameras", refuses={400: "The cursor is not one of this listing"})
    async def list_cameras(caller: Caller, query: CameraQuery) -> CameraPage:
        """Lists cameras in the order of their ids."""

        async def fetch(after: str | None, limit: int) -> list[Camera]:
            return await store.page(_wanted(caller, query, after, limit))

        filters = [caller.tenant_id, query.enabled, query.tenant_id, query.site_id, query.name]
        found, cursor = await page_of(query, fetch, cursors=cursors, filters=filters, key=lambda each: each.camera_id)
        return CameraPage(items=[row(camera) for camera in found], next_cursor=cursor)

    @routes.get("/v1/cameras/{camera_uuid}", access=Access.VIEWER, refuses=_NO_SUCH)
    async def get_camera(caller: Caller, camera_uuid: str) -> Tagged[CameraDetails] | Problem:
        """Tells a camera, without its user and password."""
        camera = await store.find_camera(CameraId(camera_uuid), scope=caller.tenant_id)
        return UNKNOWN if camera is None else _tagged(camera)

    @routes.get("/v1/cameras/{camera_uuid}/why", refuses={404: "There is no such camera"})
    async def explain_camera(caller: Caller, camera_uuid: str) -> CameraWhy | Problem:
        """Says why a camera is not running."""
        camera = await store.find_camera(CameraId(camera_uuid), scope=caller.tenant_id)
        return UNKNOWN if camera is None else _told(await _situation(store, camera, logins))


def add_camera_edits(routes: Routes, store: CameraStore, *, registrar: Registrar, clerk: Clerk) -> None:
    """Adds the routes by which operators change the register."""

    @routes.post(
        "/v1/cameras", access=Access.OPERATOR, status=201, refuses={409: "The id, the name or the key is taken"}
    )
    async def create_camera(
        author: Author, message: CreateCamera, once_key: str | None
    ) -> Tagged[CameraDetails] | Problem:
        """Adds a camera to a site."""
        created = await registrar.create(author, message, once_key)
        return created if isinstance(created, Problem) else _tagged(created)

    @routes.patch("/v1/cameras/{camera_uuid}", access=Access.OPERATOR, refuses={**_NO_SUCH, 409: "The name is taken"})
    async def change_camera(
        author: Author, camera_uuid: str, message: ChangeCamera, if_match: str
    ) -> Tagged[CameraDetails] | Problem:
        """Changes a camera in the state that was read."""
        camera = await store.find_camera(CameraId(camera_uuid), scope=author.tenant_id)
        if camera is None:
            return UNKNOWN
        check_tag(if_match, camera)
        changed = await registrar.change(author, camera, message)
        return changed if isinstance(changed, Problem) else _tagged(changed)

    @routes.delete("/v1/cameras/{camera_uuid}", access=Access.OPERATOR, refuses=_NO_SUCH)
    async def remove_camera(author: Author, camera_uuid: str, if_match: str) -> CameraRemoved | Problem:
        """Removes a camera and its credential, in the state that was read; its runner learns that when it renews."""
        camera = await store.find_camera(CameraId(camera_uuid), scope=author.tenant_id)
        if camera is None:
            return UNKNOWN
        check_tag(if_match, camera)
        return await clerk.remove(camera, author=author) or CameraRemoved(camera_uuid=camera_uuid)


def add_camera_sources(routes: Routes, store: SourceStore, *, courier: SourceCourier) -> None:
    """Adds the route by which a runner reads what it may dial."""

    @routes.get(
        "/v1/cameras/{camera_uuid}/source", access=Access.RUNNER, refuses={**_NO_SUCH, 409: "Its credential is lost"}
    )
    async def get_source(caller: Caller, camera_uuid: str) -> CameraSource | Problem:
        """Tells a camera's source in clear to the runner that holds a fresh lease on it, and to nobody else."""
        camera = await store.find_camera(CameraId(camera_uuid), scope=caller.tenant_id)
        lease = await store.find(CameraId(camera_uuid))  # read second: a camera that is new since then has ended it
        now = await store.ping()
        if camera is None or lease is None or not _holds(caller, lease, now):
            return UNKNOWN
        return courier.source(camera) or LOCKED


def _tagged(camera: Camera) -> Tagged[CameraDetails]:
    return Tagged(details(camera), tag_of(camera))


def _holds(caller: Caller, lease: Lease, now: datetime) -> bool:
    """Whether the lease is this very incarnation's, and has neither expired nor been withdrawn."""
    owner = lease.owner
    is_its = owner is not None and (owner.runner_id, owner.incarnation) == (caller.subject, caller.incarnation)
    return is_its and lease.takes_slot and lease.ended_at is None and now < lease.expires_at


def _wanted(caller: Caller, query: CameraQuery, after: str | None, limit: int) -> CameraFilter:
    return CameraFilter(
        scope=caller.tenant_id,
        enabled=query.enabled,
        tenant_id=None if query.tenant_id is None else TenantId(query.tenant_id),
        site_id=None if query.site_id is None else SiteId(query.site_id),
        name=query.name,
        after=None if after is None else CameraId(after),
        limit=limit,
    )


async def _situation(store: WhyStore, camera: Camera, logins: LoginService) -> why.Situation:
    load = await store.site_load(camera.site_id)
    status = await store.find_status(camera.camera_id)
    is_parked = status is not None and status.substate is Substate.PARKED
    return why.Situation(
        camera=camera,
        lease=await lease_of(store, camera),
        runners=await store.runners(),
        load=load,
        budget=await store.budget(camera.site_id, scope=None),
        status=status,
        login=await logins.record(camera) if is_parked else None,
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
