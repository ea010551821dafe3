"""Tenants on the wire."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from streamward.model.tenant import Tenant
from streamward.protocol.fields import Id, Message

TenantName = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x1f\x7f]{0,200}$(?!\n)", description="as people read it")]


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


class TenantPage(Message, frozen=True):
    """Control plane: tenants in the order of their ids; `next_cursor` is null on the last page."""

    items: list[TenantDetails]
    next_cursor: str | None


class TenantRemoved(Message, frozen=True):
    """Control plane: the tenant is gone."""

    tenant_id: str


def details(tenant: Tenant) -> TenantDetails:
    """A tenant as people see it."""
    return TenantDetails(tenant_id=tenant.tenant_id, name=tenant.name, updated_at=tenant.updated_at)
