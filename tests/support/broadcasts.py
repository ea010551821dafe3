"""Broadcasts as a batcher appends them: for the tenant that has a name now."""

from streamward.insight.database import Insight
from streamward.model.ids import TenantId


async def broadcast(insight: Insight, tenant_id: TenantId, kind: str, bodies: list[str]) -> None:
    """Appends for a tenant that there must be."""
    keys = await insight.rules.tenant_keys()
    assert await insight.broadcasts.append(tenant_id, kind, bodies, tenant_key=keys[tenant_id])
