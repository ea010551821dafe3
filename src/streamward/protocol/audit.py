"""The audit on the wire."""

from datetime import datetime
from typing import Annotated, Any

import msgspec

from streamward.model.register import AuditRow
from streamward.protocol.fields import Cursor, Id, Instant, Limit, Message, check_year

ACTION = r"^[a-z_.-]{1,64}$(?!\n)"


class AuditQuery(Message, frozen=True):
    """Which changes to list; answered by AuditPage."""

    tenant_id: Id | None = None
    object_id: Id | None = None
    subject: Id | None = None
    action: Annotated[str, msgspec.Meta(pattern=ACTION, description="like `camera.updated`")] | None = None
    since: Instant | None = None
    limit: Limit = 100
    cursor: Cursor | None = None

    def __post_init__(self) -> None:
        check_year(self.since)


class AuditEntry(Message, frozen=True):
    """One change: who made it and from where, and the thing before and after; credentials are in neither."""

    position: int
    at: datetime
    subject: str
    role: str
    author_tenant: str | None
    address: str
    request_id: str
    action: str
    tenant_id: str | None
    object_id: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class AuditPage(Message, frozen=True):
    """Control plane: changes, the newest first; `next_cursor` is null on the last page."""

    items: list[AuditEntry]
    next_cursor: str | None


def entry(row: AuditRow) -> AuditEntry:
    """One row as people read it."""
    return AuditEntry(
        position=row.position,
        at=row.at,
        subject=row.author.subject,
        role=row.author.role,
        author_tenant=row.author.tenant_id,
        address=row.author.address,
        request_id=row.author.request_id,
        action=row.action,
        tenant_id=row.tenant_id,
        object_id=row.object_id,
        before=row.before,
        after=row.after,
    )
