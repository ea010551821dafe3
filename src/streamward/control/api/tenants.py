"""Tenants: made by the installation's admins, seen by their own people."""

import secrets
from dataclasses import replace
from typing import Protocol

from msgspec import UnsetType

from streamward.control.admission import Admission
from streamward.control.api.routing import Access, Routes, Tagged
from streamward.control.clerk import Clerk
from streamward.control.cursor import Cursors
from streamward.control.listing import page_of
from streamward.control.tags import check_tag, tag_of
from streamward.control.trust import Rereads
from streamward.model.camera import UNDATED
from streamward.model.identity import Author, Caller
from streamward.model.ids import TenantId
from streamward.model.register import Page, Register
from streamward.model.tenant import Tenant, TenantDeletions, overlap, tenant_key
from streamward.protocol.fields import LARGEST_PAGE, PageQuery
from streamward.protocol.problem import Problem
from streamward.protocol.tenants import (
    ChangeTenant,
    CreateTenant,
    DeletedTenants,
    FindDeletedTenants,
    TenantDeletionDetails,
    TenantDeletionList,
    TenantDetails,
    TenantPage,
    deletion_details,
    details,
)

UNKNOWN = Problem(title="Not Found", status=404, detail="there is no such tenant", reason="tenant-unknown")
NOT_DELETED = Problem(
    title="Not Found", status=404, detail="no tenant of that name was deleted", reason="tenant-not-deleted"
)
COUNTED = 100_000  # rows: what is left is counted up to here
OVERLAPS = Problem(
    title="Conflict",
    status=409,
    detail="a tenant's id must not be the beginning of another tenant's or of a site's id up to a hyphen: "
    "what begins so is for that tenant to choose",
    reason="tenant-overlaps",
)
_NO_SUCH = {404: "There is no such tenant"}


def add_tenants(routes: Routes, register: Register, *, clerk: Clerk, cursors: Cursors, standing: Rereads) -> None:
    """Adds the routes about tenants."""
    _add_edits(routes, register, clerk, standing)

    @routes.get("/v1/tenants", access=Access.VIEWER, refuses={400: "The cursor is not one of this listing"})
    async def list_tenants(caller: Caller, query: PageQuery) -> TenantPage:
        """Lists the tenants that the caller may see."""

        async def fetch(after: str | None, limit: int) -> list[Tenant]:
            return await register.tenants(Page(scope=caller.tenant_id, after=after, limit=limit))

        filters = ["tenants", caller.tenant_id]
        found, cursor = await page_of(query, fetch, cursors=cursors, filters=filters, key=lambda each: each.tenant_id)
        return TenantPage(items=[details(tenant) for tenant in found], next_cursor=cursor)

    @routes.get("/v1/tenants/{tenant_id}", access=Access.VIEWER, refuses=_NO_SUCH)
    async def get_tenant(caller: Caller, tenant_id: str) -> Tagged[TenantDetails] | Problem:
        """Tells a tenant."""
        tenant = await register.find_tenant(TenantId(tenant_id), scope=caller.tenant_id)
        return UNKNOWN if tenant is None else _tagged(tenant)


def _add_edits(routes: Routes, register: Register, clerk: Clerk, standing: Rereads) -> None:
    @routes.post(
        "/v1/tenants",
        access=Access.ADMIN,
        of_all=True,
        status=201,
        refuses={409: "The id or the key is taken, or it overlaps"},
    )
    async def create_tenant(
        author: Author, message: CreateTenant, once_key: str | None
    ) -> Tagged[TenantDetails] | Problem:
        """Adds a tenant."""
        if await _overlaps(register, TenantId(message.tenant_id)):
            return OVERLAPS
        tenant = Tenant(
            tenant_id=TenantId(message.tenant_id),
            tenant_key=tenant_key(secrets.token_hex(16)),
            name=message.name,
            updated_at=UNDATED,
        )
        added = await clerk.create(tenant, author=author, message=message, once_key=once_key)
        await standing.tick()  # its tokens count from now on here, and within a second elsewhere
        return added if isinstance(added, Problem) else _tagged(added)

    @routes.patch("/v1/tenants/{tenant_id}", access=Access.ADMIN, refuses=_NO_SUCH)
    async def change_tenant(
        author: Author, tenant_id: str, message: ChangeTenant, if_match: str
    ) -> Tagged[TenantDetails] | Problem:
        """Renames a tenant in the state that was read."""
        tenant = await register.find_tenant(TenantId(tenant_id), scope=author.tenant_id)
        if tenant is None:
            return UNKNOWN
        check_tag(if_match, tenant)
        name = tenant.name if isinstance(message.name, UnsetType) else message.name
        changed = await clerk.change(tenant, replace(tenant, name=name), author=author)
        return changed if isinstance(changed, Problem) else _tagged(changed)


class DeletingStore(Register, TenantDeletions, Protocol):
    """The ports that know of tenants and of deleted ones."""


def add_tenant_deletion(
    routes: Routes, store: DeletingStore, *, clerk: Clerk, admission: Admission, standing: Rereads
) -> None:
    """Adds the routes by which a tenant is deleted, and which tell how far that is."""

    @routes.delete(
        "/v1/tenants/{tenant_id}",
        access=Access.ADMIN,
        of_all=True,
        status=202,
        refuses={**_NO_SUCH, 409: "It has sites"},
    )
    async def delete_tenant(author: Author, tenant_id: str, if_match: str) -> TenantDeletionDetails | Problem:
        """Deletes a tenant that has no sites, in the state that was read; its data is deleted in the background."""
        tenant = await store.find_tenant(TenantId(tenant_id), scope=author.tenant_id)
        if tenant is None:
            return UNKNOWN
        check_tag(if_match, tenant)
        leaving = await admission.leaving(tenant.tenant_id)
        hindered = await clerk.remove(tenant, author=author, also=leaving)
        await standing.tick()
        return hindered or await _progress(store, tenant.tenant_id)

    @routes.get(
        "/v1/tenants/{tenant_id}/deletion",
        access=Access.VIEWER,
        of_all=True,
        refuses={404: "No tenant of that name was deleted"},
    )
    async def get_tenant_deletion(tenant_id: str) -> TenantDeletionDetails | Problem:
        """Tells how far the newest deletion of a tenant of that name is."""
        return await _progress(store, TenantId(tenant_id))

    @routes.get("/v1/tenant-deletions", access=Access.VIEWER)
    async def list_tenant_deletions(caller: Caller) -> TenantDeletionList:
        """Lists the deletions of tenants that are not finished, oldest first; people of one tenant see none."""
        found = await store.deletions() if caller.tenant_id is None else []
        return TenantDeletionList(items=[deletion_details(each) for each in found])

    @routes.post("/v1/deleted-tenants", access=Access.RUNNER)
    async def find_deleted_tenants(caller: Caller, message: FindDeletedTenants) -> DeletedTenants:
        """Tells a runner which of the tenants whose data it has were deleted, so that it deletes that data."""
        named = {TenantId(each) for each in message.tenant_ids}
        visible = named if caller.tenant_id is None else named & {caller.tenant_id}
        return DeletedTenants(tenant_ids=list(await store.gone(sorted(visible))))


async def _progress(store: DeletingStore, tenant_id: TenantId) -> TenantDeletionDetails | Problem:
    deletion = await store.find_deletion(tenant_id)
    if deletion is None:
        return NOT_DELETED
    left = await store.rows_left(tenant_id, at_most=COUNTED) if deletion.rows_deleted_at is None else 0
    return deletion_details(deletion, rows_left=left)


async def _overlaps(register: Register, tenant_id: TenantId) -> bool:
    """Whether any tenant overlaps, or a site has an id that would be this tenant's own.

    Two admins who add two such tenants in the same moment are not kept from it.
    """
    first = await register.sites(Page(scope=None, after=f"{tenant_id},", limit=1))  # a comma comes before a hyphen
    if any(each.site_id.startswith(f"{tenant_id}-") for each in first):
        return True
    after: str | None = None
    while found := await register.tenants(Page(scope=None, after=after, limit=LARGEST_PAGE)):
        if any(overlap(tenant_id, each.tenant_id) for each in found):
            return True
        after = found[-1].tenant_id
    return False


def _tagged(tenant: Tenant) -> Tagged[TenantDetails]:
    return Tagged(details(tenant), tag_of(tenant))
