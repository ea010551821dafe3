"""Dial budgets in SQL: the budget's row is locked, `leases.dialing` decides, and the result is written back."""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from dataclasses import replace
from typing import Any

from sqlalchemy.engine import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.dialect import SqlDialect
from streamward.drivers.sql.rows import bucket_of
from streamward.drivers.sql.statement import BUCKET, statement
from streamward.leases import dialing
from streamward.leases.dialing import Bucket, DialGranted, DialRefused
from streamward.leases.store import BudgetView, Dial
from streamward.model.ids import SiteId, TenantId

REMEMBERED_FOR = 86_400.0  # seconds in which a repeated dial is still known as the same

_SAVE = statement(
    "UPDATE site_start_budget SET tokens = :tokens, reserve = :reserve, reserve_size = :reserve_size,"
    " updated_at = :updated_at WHERE site_id = :site_id"
)
_ADD = statement(
    "INSERT INTO site_dials (site_id, camera_uuid, generation, granted_at)"
    " VALUES (:site_id, :camera_uuid, :generation, :granted_at)"
)
_NAMED = "camera_uuid = :camera_uuid AND coalesce(generation, 0) = coalesce(:generation, 0)"
_WAITING = statement(  # neither dialed nor reported on under its present lease
    "SELECT count(*) AS waiting FROM cameras AS c WHERE c.site_id = :site_id AND c.enabled AND NOT c.do_not_process"
    " AND NOT EXISTS (SELECT 1 FROM stream_leases AS l"
    " WHERE l.camera_uuid = c.camera_uuid AND l.state IN ('ACTIVE', 'PAUSED')"
    " AND (EXISTS (SELECT 1 FROM site_dials AS d WHERE d.site_id = c.site_id AND d.camera_uuid = c.camera_uuid"
    " AND d.generation = l.generation)"
    " OR EXISTS (SELECT 1 FROM stream_status AS u WHERE u.camera_uuid = c.camera_uuid"
    " AND coalesce(u.generation, u.streamed_generation) = l.generation)))",
    returns="waiting",
)
_FINISH = statement(
    f"DELETE FROM site_dials WHERE site_id = :site_id AND {_NAMED} RETURNING site_id", returns="site_id"
)


class DialStatements:
    """The statements that tell the time or lock."""

    def __init__(self, dialect: SqlDialect) -> None:
        under_way = (
            f"d.site_id = :site_id AND d.granted_at <= t.now"
            f" AND {dialect.later('d.granted_at', str(dialing.IN_FLIGHT_FOR))} > t.now"
        )
        self.lock = statement(
            f"SELECT b.site_id FROM site_start_budget AS b WHERE b.site_id = :site_id {dialect.locking('b')}"
        )
        self.look = statement(
            f"WITH t AS MATERIALIZED ({dialect.now}) SELECT t.now,"
            " (SELECT count(*) FROM cameras AS c WHERE c.site_id = :site_id AND c.enabled AND NOT c.do_not_process)"
            " AS wanted_cameras,"
            f" (SELECT count(*) FROM site_dials AS d WHERE {under_way}) AS in_flight,"
            f" EXISTS (SELECT 1 FROM site_dials AS d WHERE d.site_id = :site_id AND {_NAMED}) AS is_dialed,"
            f" u.streamed_at, u.streamed_generation, {BUCKET.columns}"
            " FROM t CROSS JOIN site_start_budget AS b JOIN sites AS s ON s.site_id = b.site_id"
            " LEFT JOIN stream_status AS u ON u.camera_uuid = :camera_uuid"
            " WHERE b.site_id = :site_id AND s.tenant_id = coalesce(:scope, s.tenant_id)",
            BUCKET,
            returns="now wanted_cameras in_flight is_dialed streamed_at streamed_generation",
        )
        self.finish_anonymous = statement(
            f"WITH t AS MATERIALIZED ({dialect.now}) DELETE FROM site_dials WHERE dial_id = (SELECT min(d.dial_id)"
            f" FROM site_dials AS d CROSS JOIN t WHERE {under_way} AND d.camera_uuid IS NULL) RETURNING site_id",
            returns="site_id",
        )
        self.forget = statement(
            f"WITH t AS MATERIALIZED ({dialect.now}) DELETE FROM site_dials WHERE site_id = :site_id"
            f" AND granted_at < (SELECT {dialect.later('t.now', str(-REMEMBERED_FOR))} FROM t)"
        )


class SqlDials:
    """The dial port on a `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._dial_sql = DialStatements(database.dialect)

    async def consume(self, dial: Dial, *, scope: TenantId | None) -> DialGranted | DialRefused | None:
        async with self._db.transaction() as tx:
            await tx.execute(self._dial_sql.lock, {"site_id": dial.site_id})
            row = await self._look_at_budget(tx, dial, scope)
            if row is None:
                return None
            bucket = _bucket(row)
            if row.is_dialed:
                return DialGranted(bucket=bucket.refilled(row.now))
            outcome = dialing.consume(bucket, in_flight=row.in_flight, takeover=_is_takeover(dial, row), now=row.now)
            await tx.execute(_SAVE, {"site_id": dial.site_id, **_budget(outcome.bucket)})
            if isinstance(outcome, DialGranted):
                await tx.execute(self._dial_sql.forget, {"site_id": dial.site_id, **self._db.moment()})
                await tx.execute(_ADD, {**_dial(dial), "granted_at": row.now})
            return outcome

    async def finish(self, dial: Dial, *, scope: TenantId | None) -> bool:
        async with self._db.transaction() as tx:
            if await self._look_at_budget(tx, dial, scope) is None:
                return False
            end = _FINISH if dial.camera_id else self._dial_sql.finish_anonymous
            ended = await tx.execute(end, {**_dial(dial), **self._db.moment()})
            return ended.one_or_none() is not None

    async def budget(self, site_id: SiteId, *, scope: TenantId | None) -> BudgetView | None:
        async with self._db.single() as connection:
            row = await self._look_at_budget(connection, Dial(site_id=site_id), scope)
            if row is None:
                return None
            (waiting,) = (await connection.execute(_WAITING, {"site_id": site_id})).one()
        return BudgetView(bucket=_bucket(row).refilled(row.now), in_flight=row.in_flight, waiting=waiting)

    async def _look_at_budget(self, connection: AsyncConnection, dial: Dial, scope: TenantId | None) -> Row[Any] | None:
        params = {**_dial(dial), "scope": scope, **self._db.moment()}
        return (await connection.execute(self._dial_sql.look, params)).one_or_none()


def _bucket(row: Row[Any]) -> Bucket:
    """The budget with the reserve as large as the site's cameras are many; new cameras bring theirs along."""
    bucket, size = bucket_of(row), row.wanted_cameras
    grown = max(0, size - bucket.reserve_size)
    return replace(bucket, reserve_size=size, reserve=min(float(size), bucket.reserve + grown))


def _is_takeover(dial: Dial, row: Row[Any]) -> bool:
    if row.streamed_at is None or dial.generation is None:
        return False
    is_earlier = (row.streamed_generation or 0) < dial.generation
    return is_earlier and (row.now - row.streamed_at).total_seconds() <= dialing.TAKEOVER_WITHIN


def _budget(bucket: Bucket) -> dict[str, Any]:
    return {
        "tokens": bucket.tokens,
        "reserve": bucket.reserve,
        "reserve_size": bucket.reserve_size,
        "updated_at": bucket.updated_at,
    }


def _dial(dial: Dial) -> dict[str, Any]:
    return {"site_id": dial.site_id, "camera_uuid": dial.camera_id, "generation": dial.generation}
