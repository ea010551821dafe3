"""A tenant: whose cameras they are. Nobody of one tenant can tell whether another has something."""

from dataclasses import dataclass
from datetime import datetime

from streamward.model.errors import StreamwardError
from streamward.model.ids import TenantId, is_uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """A customer of the installation."""

    tenant_id: TenantId
    name: str = ""
    updated_at: datetime
    revision: int = 0  # set by the store: rises with each change


class IdOutsideTenant(StreamwardError):
    """Somebody of one tenant chose an id that another might have."""

    def __init__(self, tenant_id: TenantId) -> None:
        super().__init__(tenant_id)
        self.tenant_id = tenant_id

    def __str__(self) -> str:
        return f"an id that you choose must be a UUID or begin with {self.tenant_id}-: ids are one for all tenants"


def check_own(chosen: str, *, scope: TenantId | None) -> str:
    """Returns an id that a caller of that scope may choose: a refusal must not tell what other tenants have."""
    if scope is not None and not is_uuid(chosen) and not chosen.startswith(f"{scope}-"):
        raise IdOutsideTenant(scope)
    return chosen


def overlap(one: TenantId, other: TenantId) -> bool:
    """Whether people of both could choose the same id, so that one could learn what the other has."""
    return one.startswith(f"{other}-") or other.startswith(f"{one}-")
