"""Who changed what."""

from streamward.control.api.routing import Access, Routes
from streamward.control.cursor import Cursors
from streamward.control.listing import page_of
from streamward.model.identity import Caller
from streamward.model.ids import TenantId
from streamward.model.register import AuditFilter, AuditRow, Register
from streamward.protocol.audit import AuditPage, AuditQuery, entry


def add_audit(routes: Routes, register: Register, *, cursors: Cursors) -> None:
    """Adds the route that reads the audit; none writes it."""

    @routes.get("/v1/audit", access=Access.OPERATOR, refuses={400: "The cursor is not one of this listing"})
    async def list_audit(caller: Caller, query: AuditQuery) -> AuditPage:
        """Lists manual changes, the newest first."""

        async def fetch(before: str | None, limit: int) -> list[AuditRow]:
            return await register.audit(_wanted(caller, query, before, limit))

        filters = ["audit", caller.tenant_id, query.tenant_id, query.object_id, query.subject, query.action]
        filters.append(None if query.since is None else query.since.isoformat())
        found, cursor = await page_of(query, fetch, cursors=cursors, filters=filters, key=lambda row: row.position)
        return AuditPage(items=[entry(row) for row in found], next_cursor=cursor)


def _wanted(caller: Caller, query: AuditQuery, before: str | None, limit: int) -> AuditFilter:
    return AuditFilter(
        scope=caller.tenant_id,
        tenant_id=None if query.tenant_id is None else TenantId(query.tenant_id),
        object_id=query.object_id,
        subject=query.subject,
        action=query.action,
        since=query.since,
        before=None if before is None else int(before),
        limit=limit,
    )
