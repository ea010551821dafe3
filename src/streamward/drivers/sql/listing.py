"""Tables that are read newest first, a page at a time, and forgotten tenant by tenant."""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from streamward.drivers.sql.statement import Shape, Statement, statement
from streamward.insight.records import Recent
from streamward.model.ids import TenantId

_NEWEST = 2**63 - 1


class Listing:
    """One table newest first: a statement for each way to narrow it, so that each has its index."""

    def __init__(self, source: str, key: str, *shapes: Shape, returns: str = "", where: str = "true") -> None:
        alias = key.partition(".")[0]
        self._statements: dict[tuple[bool, bool], Statement] = {}
        for scoped in (False, True):
            for of_camera in (False, True):
                narrowed = where
                narrowed += f" AND {alias}.tenant_id = :scope" if scoped else ""
                narrowed += f" AND {alias}.camera_uuid = :camera_uuid" if of_camera else ""
                self._statements[scoped, of_camera] = statement(
                    f"{source} WHERE {narrowed} AND {key} < :before_number ORDER BY {key} DESC LIMIT :limit",
                    *shapes,
                    returns=returns,
                )

    async def rows(self, connection: AsyncConnection, wanted: Recent) -> Sequence[Any]:
        params: dict[str, Any] = {
            "before_number": _NEWEST if wanted.before is None else wanted.before,
            "limit": wanted.limit,
        }
        if wanted.scope is not None:
            params["scope"] = wanted.scope
        if wanted.camera_id is not None:
            params["camera_uuid"] = wanted.camera_id
        asked = self._statements[wanted.scope is not None, wanted.camera_id is not None]
        return (await connection.execute(asked, params)).all()


def tenants_in(table: str) -> Statement:
    """Who has rows there; each tenant is found by one look into the index."""
    return statement(
        f"WITH RECURSIVE e (tenant_id) AS (SELECT min(b.tenant_id) FROM {table} AS b UNION ALL"
        f" SELECT (SELECT min(b.tenant_id) FROM {table} AS b WHERE b.tenant_id > e.tenant_id) FROM e"
        " WHERE e.tenant_id IS NOT NULL) SELECT e.tenant_id FROM e WHERE e.tenant_id IS NOT NULL",
        returns="tenant_id",
    )


async def forgotten(
    tenants: Iterable[TenantId], forget: Callable[[TenantId, int], Awaitable[int]], *, limit: int, step: int
) -> int:
    """Forgets what is due of each tenant, so much at a time, and no more than the limit in all; returns how much."""
    gone = 0
    for tenant_id in tenants:
        some = -1
        while some and gone < limit:
            some = await forget(tenant_id, min(step, limit - gone))
            gone += some
    return gone
