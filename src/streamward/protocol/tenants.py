"""Tenants on the wire."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from streamward.model.tenant import DeletionStage, Tenant, TenantDeletion
from streamward.protocol.fields import Id, Message

TenantName = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x1f\x7f]{0,200}$(?!\n)", description="as people read it")]


TENANT_GONE = "token-tenant-gone"  # why a token or an identity is refused whose tenant was deleted


class CreateTenant(Message, frozen=True):
    """Admin of the installation adds a tenant; answered by TenantDetails."""

    tenant_id: Id
    name: TenantName = ""


class ChangeTenant(Message, frozen=True):
    """Admin renames a tenant; answered by TenantDetails."""

    name: TenantName | UnsetType = UNSET


class TenantDetails(Message, frozen=True):
    """Control plane: a tenant."""

    tenant_id: str
    name: str
    updated_at: datetime
    state: Literal["live"] = "live"


class TenantPage(Message, frozen=True):
    """Control plane: tenants in the order of their ids; `next_cursor` is null on the last page."""

    items: list[TenantDetails]
    next_cursor: str | None


class TenantDeletionDetails(Message, frozen=True):
    """Control plane: how far the deletion of a tenant is; `state` is `deleting`, then `gone`.

    `waiting_for`: `rows` (control planes delete them), `payloads` (a batcher deletes them), `name` (held for seconds).
    `removed` counts rows by kind; `rows_left` are counted up to 100,000, and null in a list.
    """

    tenant_id: str
    tenant_key: str
    state: Literal["deleting", "gone"]
    waiting_for: Literal["rows", "payloads", "name"] | None
    requested_at: datetime
    finished_at: datetime | None
    removed: dict[str, int]
    rows_left: int | None


class TenantDeletionList(Message, frozen=True):
    """Control plane: deletions of tenants that are not finished, oldest first."""

    items: list[TenantDeletionDetails]


class FindDeletedTenants(Message, frozen=True):
    """Runner names the tenants whose data it has; answered by DeletedTenants."""

    tenant_ids: Annotated[list[Id], msgspec.Meta(max_length=1000)]


class DeletedTenants(Message, frozen=True):
    """Control plane: those of the named tenants that were deleted; their data is to be deleted."""

    tenant_ids: list[str]


_WAITING_FOR: dict[DeletionStage, Literal["rows", "payloads", "name"] | None] = {
    DeletionStage.ROWS: "rows",
    DeletionStage.PAYLOADS: "payloads",
    DeletionStage.NAME: "name",
    DeletionStage.GONE: None,
}


def deletion_details(deletion: TenantDeletion, *, rows_left: int | None = None) -> TenantDeletionDetails:
    """A deletion as people see it."""
    is_gone = deletion.stage is DeletionStage.GONE
    return TenantDeletionDetails(
        tenant_id=deletion.tenant_id,
        tenant_key=deletion.tenant_key,
        state="gone" if is_gone else "deleting",
        waiting_for=_WAITING_FOR[deletion.stage],
        requested_at=deletion.requested_at,
        finished_at=deletion.finished_at,
        removed=dict(sorted(deletion.removed.items())),
        rows_left=rows_left,
    )


def details(tenant: Tenant) -> TenantDetails:
    """A tenant as people see it."""
    return TenantDetails(tenant_id=tenant.tenant_id, name=tenant.name, updated_at=tenant.updated_at)
