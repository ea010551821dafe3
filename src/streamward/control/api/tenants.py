"""Tenants: made by the installation's admins, seen by their own people."""

from dataclasses import replace

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
from streamward.model.tenant import Tenant, overlap
from streamward.protocol.fields import LARGEST_PAGE, PageQuery
from streamward.protocol.problem import Problem
from streamward.protocol.tenants import (
    ChangeTenant,
    CreateTenant,
    TenantDetails,
    TenantPage,
    TenantRemoved,
    details,
)

UNKNOWN = Problem(title="Not Found", status=404, detail="there is no such tenant", reason="tenant-unknown")
OVERLAPS = Problem(
    title="Conflict",
    status=409,
    detail="a tenant's id must not be the beginning of another's up to a hyphen: both could choose the same ids",
    reason="tenant-overlaps",
)
_NO_SUCH = {404: "There is no such tenant"}


def add_tenants(routes: Routes, register: Register, *, clerk: Clerk, cursors: Cursors) -> None:
    """Adds the routes about tenants."""
    _add_edits(routes, register, clerk)

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


def _add_edits(routes: Routes, register: Register, clerk: Clerk) -> None:
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
        tenant = Tenant(tenant_id=TenantId(message.tenant_id), name=message.name, updated_at=UNDATED)
        added = await clerk.create(tenant, author=author, message=message, once_key=once_key)
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


def add_tenant_removal(
    routes: Routes, register: Register, *, clerk: Clerk, admission: Admission, standing: Rereads
) -> None:
    """Adds the route by which a tenant goes, and everyone who is known for it."""

    @routes.delete(
        "/v1/tenants/{tenant_id}", access=Access.ADMIN, of_all=True, refuses={**_NO_SUCH, 409: "It has sites"}
    )
    async def remove_tenant(author: Author, tenant_id: str, if_match: str) -> TenantRemoved | Problem:
        """Removes a tenant that has no sites, in the state that was read; its people are trusted no more."""
        tenant = await register.find_tenant(TenantId(tenant_id), scope=author.tenant_id)
        if tenant is None:
            return UNKNOWN
        check_tag(if_match, tenant)
        leaving = await admission.leaving(tenant.tenant_id)
        hindered = await clerk.remove(tenant, author=author, also=leaving)
        await standing.tick()
        return hindered or TenantRemoved(tenant_id=tenant_id)


async def _overlaps(register: Register, tenant_id: TenantId) -> bool:
    """Whether any tenant overlaps; two admins who add two such tenants in the same moment are not kept from it."""
    after: str | None = None
    while found := await register.tenants(Page(scope=None, after=after, limit=LARGEST_PAGE)):
        if any(overlap(tenant_id, each.tenant_id) for each in found):
            return True
        after = found[-1].tenant_id
    return False


def _tagged(tenant: Tenant) -> Tagged[TenantDetails]:
    return Tagged(details(tenant), tag_of(tenant))
