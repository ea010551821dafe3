"""Ids of sites and runners that begin with a tenant's id and a hyphen are that tenant's own.

Its people choose no others, and nobody else gets such an id: so a refusal tells nobody what another tenant has.
"""

from streamward.model.ids import TenantId
from streamward.model.register import Register
from streamward.model.tenant import tenants_named_by
from streamward.protocol.problem import Problem

OF_ANOTHER = Problem(
    title="Unprocessable Content",
    status=422,
    detail="an id that begins with a tenant's id and a hyphen is for that tenant only",
    reason="id-of-another-tenant",
)


async def is_of_another(register: Register, chosen: str, tenant_id: TenantId | None) -> bool:
    """Whether an id is one of the ids of a tenant that is not this one; None: whose it shall be is no tenant's."""
    others = [each for each in tenants_named_by(chosen) if each != tenant_id]
    return any([await register.find_tenant(each, scope=None) is not None for each in others])
