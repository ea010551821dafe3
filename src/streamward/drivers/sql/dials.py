"""Dial budgets in SQL: the budget's row is locked, `leases.dialing` decides, and the result is written back."""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy.engine import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.dialect import SqlDialect
from streamward.drivers.sql.rows import bucket_of
from streamward.drivers.sql.statement import BUCKET, Statement, statement
from streamward.leases import dialing
from streamward.leases.dialing import Bucket, DialGranted
from streamward.leases.store import BudgetView, Dial, DialOutcome
from streamward.model.ids import CameraId, Generation, SiteId, TenantId

REMEMBERED_FOR = 86_400.0  # seconds in which a repeated dial is still known as the same

_SAVE = statement(
    "UPDATE site_start_budget SET tokens = :tokens, reserve = :reserve, reserve_size = :reserve_size,"
    " updated_at = :updated_at WHERE site_id = :site_id"
)
_NAMED = "camera_uuid = :camera_uuid AND coalesce(generation, 0) = coalesce(:generation, 0)"
_LISTED = "d.camera_uuid = n.camera_uuid AND coalesce(d.generation, 0) = coalesce(n.generation, 0)"
_ASKED = ("place", "camera_uuid", "generation")
_ENDED = ("site_id", "camera_uuid", "generation")
_WAITING = (  # neither dialed nor reported on under its present lease
    "(SELECT count(*) FROM cameras AS c WHERE c.site_id = b.site_id AND c.enabled AND NOT c.do_not_process"
    " AND NOT EXISTS (SELECT 1 FROM stream_leases AS l"
    " WHERE l.camera_uuid = c.camera_uuid AND l.state IN ('ACTIVE', 'PAUSED')"
    " AND (EXISTS (SELECT 1 FROM site_dials AS d WHERE d.site_id = c.site_id AND d.camera_uuid = c.camera_uuid"
    " AND d.generation = l.generation)"
    " OR EXISTS (SELECT 1 FROM stream_status AS u WHERE u.camera_uuid = c.camera_uuid"
    " AND coalesce(u.generation, u.streamed_generation) = l.generation))))"
)
_OF_ONE = "b.site_id = :site_id AND s.tenant_id = coalesce(:scope, s.tenant_id)"
_FINISH = statement(
    f"DELETE FROM site_dials WHERE site_id = :site_id AND {_NAMED} RETURNING site_id", returns="site_id"
)


class DialStatements:
    """The statements that tell the time or lock."""

    def __init__(self, dialect: SqlDialect) -> None:
        under_way = (
            f"d.site_id = b.site_id AND d.granted_at <= t.now"
            f" AND {dialect.later('d.granted_at', str(dialing.IN_FLIGHT_FOR))} > t.now"
        )
        self.lock = statement(
            f"SELECT b.site_id FROM site_start_budget AS b WHERE b.site_id = :site_id {dialect.locking('b')}"
        )
        self.look = _look(dialect, under_way, where=_OF_ONE)
        self.view = _look(dialect, under_way, where=_OF_ONE, more=_WAITING)
        self.view_all = _look(dialect, under_way, where="true", more=_WAITING)
        self.known = statement(
            f"SELECT n.place, EXISTS (SELECT 1 FROM site_dials AS d WHERE d.site_id = :site_id AND {_LISTED})"
            " AS is_dialed,"
            f" u.streamed_at, u.streamed_generation FROM {dialect.listed(*_ASKED)}"
            " LEFT JOIN stream_status AS u ON u.camera_uuid = n.camera_uuid",
            returns="place is_dialed streamed_at streamed_generation",
        )
        self.add = statement(
            "INSERT INTO site_dials (site_id, camera_uuid, generation, granted_at)"
            f" SELECT :site_id, n.camera_uuid, n.generation, :granted_at FROM {dialect.listed(*_ASKED)}"
        )
        # CROSS makes SQLite join in this order: from each row of the list to its dial, not the other way round.
        self.finish_all = statement(
            f"DELETE FROM site_dials WHERE dial_id IN (SELECT d.dial_id FROM {dialect.listed(*_ENDED)}"
            " CROSS JOIN sites AS s CROSS JOIN site_dials AS d"
            " WHERE s.site_id = n.site_id AND s.tenant_id = coalesce(:scope, s.tenant_id)"
            f" AND d.site_id = n.site_id AND {_LISTED}) RETURNING site_id",
            returns="site_id",
        )
        self.finish_anonymous = statement(
            f"WITH t AS MATERIALIZED ({dialect.now}) DELETE FROM site_dials WHERE dial_id = (SELECT min(d.dial_id)"
            f" FROM site_start_budget AS b CROSS JOIN site_dials AS d CROSS JOIN t"
            f" WHERE b.site_id = :site_id AND {under_way} AND d.camera_uuid IS NULL) RETURNING site_id",
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

    async def consume(self, dial: Dial, *, scope: TenantId | None) -> DialOutcome:
        (outcome,) = await self.consume_all([dial], scope=scope)
        return outcome

    async def consume_all(self, dials: Sequence[Dial], *, scope: TenantId | None) -> list[DialOutcome]:
        outcomes: dict[int, DialOutcome] = {}
        for site_id in sorted({dial.site_id for dial in dials}):
            of_site = [(place, dial) for place, dial in enumerate(dials) if dial.site_id == site_id]
            outcomes |= await self._consume(site_id, of_site, scope)
        return [outcomes[place] for place in range(len(dials))]

    async def _consume(
        self, site_id: SiteId, dials: Sequence[tuple[int, Dial]], scope: TenantId | None
    ) -> dict[int, DialOutcome]:
        """Of one site; the budget is read, and written back, once for all of them."""
        asked = [(place, dial.camera_id, dial.generation) for place, dial in dials]
        async with self._db.transaction() as tx:
            if self._db.is_postgres:
                await tx.execute(self._dial_sql.lock, {"site_id": site_id})
            row = await self._look_at_budget(tx, self._dial_sql.look, site_id, scope)
            if row is None:
                return dict.fromkeys((place for place, _ in dials), None)
            listed = self._db.dialect.pack(_ASKED, asked)
            known = {
                each.place: each for each in await tx.execute(self._dial_sql.known, {"site_id": site_id, **listed})
            }
            decided = _decide(dials, known, row)
            await tx.execute(_SAVE, {"site_id": site_id, **_budget(decided.bucket)})
            if decided.granted:
                await tx.execute(self._dial_sql.forget, {"site_id": site_id, **self._db.moment()})
                added = self._db.dialect.pack(_ASKED, [each for each in asked if each[0] in decided.granted])
                await tx.execute(self._dial_sql.add, {"site_id": site_id, "granted_at": row.now, **added})
        return decided.outcomes

    async def finish(self, dial: Dial, *, scope: TenantId | None) -> bool:
        async with self._db.transaction() as tx:
            if await self._look_at_budget(tx, self._dial_sql.look, dial.site_id, scope) is None:
                return False
            end = _FINISH if dial.camera_id else self._dial_sql.finish_anonymous
            ended = await tx.execute(end, {**_dial(dial), **self._db.moment()})
            return ended.one_or_none() is not None

    async def finish_all(self, dials: Sequence[Dial], *, scope: TenantId | None) -> int:
        listed = self._db.dialect.pack(_ENDED, [(each.site_id, each.camera_id, each.generation) for each in dials])
        async with self._db.session(is_single=True) as session:
            return len(await session.rows(self._dial_sql.finish_all, {"scope": scope, **listed}))

    async def budget(self, site_id: SiteId, *, scope: TenantId | None) -> BudgetView | None:
        async with self._db.single() as connection:
            row = await self._look_at_budget(connection, self._dial_sql.view, site_id, scope)
        return None if row is None else _view(row)

    async def budgets(self) -> dict[SiteId, BudgetView]:
        async with self._db.single() as connection:
            rows = (await connection.execute(self._dial_sql.view_all, self._db.moment())).all()
        return {SiteId(row.site_id): _view(row) for row in rows}

    async def _look_at_budget(
        self, connection: AsyncConnection, look: Statement, site_id: SiteId, scope: TenantId | None
    ) -> Row[Any] | None:
        params = {"site_id": site_id, "scope": scope, **self._db.moment()}
        return (await connection.execute(look, params)).one_or_none()


@dataclass(slots=True)
class _Decided:
    """What comes of several dials of one site, one after the other."""

    bucket: Bucket
    in_flight: int
    outcomes: dict[int, DialOutcome] = field(default_factory=dict)
    granted: set[int] = field(default_factory=set)  # and not known before


def _decide(dials: Sequence[tuple[int, Dial]], known: Mapping[int, Row[Any]], row: Row[Any]) -> _Decided:
    decided, fresh = _Decided(_bucket(row), row.in_flight), set[tuple[CameraId, Generation | None]]()
    for place, dial in dials:
        is_named = dial.camera_id is not None
        if known[place].is_dialed or (is_named and (dial.camera_id, dial.generation) in fresh):
            decided.outcomes[place] = DialGranted(bucket=decided.bucket.refilled(row.now))
            continue
        is_takeover = _is_takeover(dial, known[place], now=row.now)
        outcome = dialing.consume(decided.bucket, in_flight=decided.in_flight, takeover=is_takeover, now=row.now)
        decided.outcomes[place], decided.bucket = outcome, outcome.bucket
        if isinstance(outcome, DialGranted):
            decided.in_flight += 1
            decided.granted.add(place)
            if dial.camera_id is not None:
                fresh.add((dial.camera_id, dial.generation))
    return decided


def _look(dialect: SqlDialect, under_way: str, *, where: str, more: str = "0") -> Statement:
    """Budgets, how many dials are under way, and how many cameras each is for."""
    return statement(
        f"WITH t AS MATERIALIZED ({dialect.now}) SELECT b.site_id, t.now,"
        " (SELECT count(*) FROM cameras AS c WHERE c.site_id = b.site_id AND c.enabled AND NOT c.do_not_process)"
        " AS wanted_cameras,"
        f" (SELECT count(*) FROM site_dials AS d WHERE {under_way}) AS in_flight, {more} AS waiting, {BUCKET.columns}"
        " FROM t CROSS JOIN site_start_budget AS b JOIN sites AS s ON s.site_id = b.site_id"
        f" WHERE {where}",
        BUCKET,
        returns="site_id now wanted_cameras in_flight waiting",
    )


def _view(row: Row[Any]) -> BudgetView:
    return BudgetView(bucket=_bucket(row).refilled(row.now), in_flight=row.in_flight, waiting=row.waiting)


def _bucket(row: Row[Any]) -> Bucket:
    """The budget with the reserve as large as the site's cameras are many; new cameras bring theirs along."""
    bucket, size = bucket_of(row), row.wanted_cameras
    grown = max(0, size - bucket.reserve_size)
    return replace(bucket, reserve_size=size, reserve=min(float(size), bucket.reserve + grown))


def _is_takeover(dial: Dial, known: Row[Any], *, now: datetime) -> bool:
    if known.streamed_at is None or dial.generation is None:
        return False
    is_earlier = (known.streamed_generation or 0) < dial.generation
    return is_earlier and (now - known.streamed_at).total_seconds() <= dialing.TAKEOVER_WITHIN


def _budget(bucket: Bucket) -> dict[str, Any]:
    return {
        "tokens": bucket.tokens,
        "reserve": bucket.reserve,
        "reserve_size": bucket.reserve_size,
        "updated_at": bucket.updated_at,
    }


def _dial(dial: Dial) -> dict[str, Any]:
    return {"site_id": dial.site_id, "camera_uuid": dial.camera_id, "generation": dial.generation}
