"""Who has which camera, as people see it."""

from datetime import datetime
from typing import Protocol

import msgspec

from streamward.control.api.cameras import UNKNOWN
from streamward.control.api.routing import Access, Routes
from streamward.control.cursor import Cursors
from streamward.control.leasing import lease_of
from streamward.control.listing import page_of
from streamward.leases.store import CameraStore, LeaseFilter, LeaseRecords, PlacedLease, StatusStore
from streamward.model.identity import Caller
from streamward.model.ids import CameraId, RunnerId, SiteId
from streamward.protocol.lease_listing import LeaseDetails, LeasePage, LeaseQuery, lease_row, past_grant
from streamward.protocol.problem import Problem

GRANTS = 100  # of a camera's history


class OwnershipStore(LeaseRecords, CameraStore, StatusStore, Protocol):
    """The ports that know who has what."""

    async def ping(self) -> datetime: ...


def add_lease_listing(routes: Routes, store: OwnershipStore, *, cursors: Cursors) -> None:
    """Adds the routes by which people read leases."""

    @routes.get("/v1/leases", access=Access.VIEWER, refuses={400: "The cursor is not one of this listing"})
    async def list_leases(caller: Caller, query: LeaseQuery) -> LeasePage:
        """Lists leases in the order of their cameras, with how their streams are."""

        async def fetch(after: str | None, limit: int) -> list[PlacedLease]:
            return await store.leases(_wanted(caller, query, after, limit))

        now = await store.ping()
        filters = ["leases", caller.tenant_id, query.site_id, query.runner_id, query.state]
        found, cursor = await page_of(
            query, fetch, cursors=cursors, filters=filters, key=lambda each: each.lease.camera_id
        )
        return LeasePage(items=[lease_row(each) for each in found], next_cursor=cursor, server_time=now)

    @routes.get("/v1/leases/{camera_uuid}", access=Access.VIEWER, refuses={404: "There is no such camera"})
    async def get_lease(caller: Caller, camera_uuid: str) -> LeaseDetails | Problem:
        """Returns a camera's owner and its earlier grants; a tenant sees those from when the camera was its own."""
        camera = await store.find_camera(CameraId(camera_uuid), scope=caller.tenant_id)
        lease = None if camera is None else await lease_of(store, camera)
        if camera is None or lease is None:
            return UNKNOWN
        grants = await store.history(camera.camera_id, newest=GRANTS)
        status = await store.find_status(camera.camera_id)
        row = lease_row(PlacedLease(lease=lease, tenant_id=camera.tenant_id, site_id=camera.site_id, status=status))
        return LeaseDetails(
            **msgspec.structs.asdict(row),
            grants=[past_grant(each) for each in reversed(grants) if caller.tenant_id in (None, each.tenant_id)],
            server_time=await store.ping(),
        )


def _wanted(caller: Caller, query: LeaseQuery, after: str | None, limit: int) -> LeaseFilter:
    return LeaseFilter(
        scope=caller.tenant_id,
        site_id=None if query.site_id is None else SiteId(query.site_id),
        runner_id=None if query.runner_id is None else RunnerId(query.runner_id),
        state=query.state,
        after=None if after is None else CameraId(after),
        limit=limit,
    )
