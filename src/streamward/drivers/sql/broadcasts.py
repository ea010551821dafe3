"""Broadcasts and the rule book in SQL."""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from collections.abc import Sequence
from typing import Any

import msgspec

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.edit_statements import RecordStatements, noted
from streamward.drivers.sql.statement import BROADCAST, IN_SCOPE, statement
from streamward.insight.broadcasts import Broadcast
from streamward.insight.rules import Rules, Wishes
from streamward.model.ids import TenantId
from streamward.model.register import Note

_AFTER = {
    is_scoped: statement(
        f"SELECT {BROADCAST.columns} FROM broadcasts AS b WHERE b.seq > :seq"
        f"{' AND b.tenant_id = :scope' if is_scoped else ''} ORDER BY b.seq LIMIT :limit",
        BROADCAST,
    )
    for is_scoped in (False, True)
}
_NEWEST = statement("SELECT coalesce(max(seq), 0) AS seq FROM broadcasts", returns="seq")
_OLDEST = statement("SELECT coalesce(min(seq), 0) AS seq FROM broadcasts", returns="seq")
_RULES = statement(
    "SELECT e.tenant_id, w.wishes FROM tenants AS e LEFT JOIN batching_rules AS w ON w.tenant_id = e.tenant_id"
    " ORDER BY e.tenant_id",
    returns="tenant_id wishes",
)
_KEYS = statement("SELECT e.tenant_id, e.tenant_key FROM tenants AS e", returns="tenant_id tenant_key")
_WISHES = statement(
    "SELECT w.wishes FROM tenants AS e LEFT JOIN batching_rules AS w ON w.tenant_id = e.tenant_id"
    f" WHERE e.tenant_id = :tenant_id AND {IN_SCOPE.format('e')}",
    returns="wishes",
)


class SqlBroadcasts:
    """The broadcasts on a `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        dialect = database.dialect
        self._append_sql = statement(
            f"WITH t AS MATERIALIZED ({dialect.in_turn}) INSERT INTO broadcasts (tenant_id, kind, body, at)"
            " SELECT e.tenant_id, :kind, n.body, t.now FROM tenants AS e CROSS JOIN t"
            f" CROSS JOIN {dialect.listed('body', is_numbered=True)}"
            " WHERE e.tenant_id = :tenant_id AND e.tenant_key = :tenant_key ORDER BY n.place RETURNING seq",
            returns="seq",
        )
        self._prune_sql = statement(
            f"WITH t AS MATERIALIZED ({dialect.now}) DELETE FROM broadcasts WHERE seq IN"
            " (SELECT b.seq FROM (SELECT x.seq, x.at FROM broadcasts AS x ORDER BY x.seq LIMIT :limit) AS b"
            f" CROSS JOIN t WHERE b.at < {dialect.later('t.now', '-:kept')}) RETURNING seq",
            returns="seq",
        )

    async def append(self, tenant_id: TenantId, kind: str, bodies: Sequence[str], *, tenant_key: str) -> bool:
        if not bodies:
            return True
        said = self._db.dialect.pack(("body",), [(body,) for body in bodies])
        params = {**said, "tenant_id": tenant_id, "tenant_key": tenant_key, "kind": kind, **self._db.moment()}
        async with self._db.session(is_single=True) as session:
            return bool(await session.rows(self._append_sql, params))

    async def after(self, seq: int, *, scope: TenantId | None, limit: int) -> list[Broadcast]:
        params = {"seq": seq, "limit": limit} | ({} if scope is None else {"scope": scope})
        async with self._db.single() as connection:
            rows = (await connection.execute(_AFTER[scope is not None], params)).all()
        return [_broadcast_of(row) for row in rows]

    async def newest(self) -> int:
        async with self._db.single() as connection:
            return int((await connection.execute(_NEWEST)).scalar_one())

    async def oldest(self) -> int:
        async with self._db.single() as connection:
            return int((await connection.execute(_OLDEST)).scalar_one())

    async def prune(self, *, kept: float, limit: int) -> int:
        async with self._db.single() as connection:
            pruned = await connection.execute(self._prune_sql, {"kept": kept, "limit": limit, **self._db.moment()})
            return len(pruned.all())


class SqlRuleBook:
    """The rule book on a `Database`."""

    def __init__(self, database: Database, rules: Rules) -> None:
        self._db = database
        self._rules = rules
        self._audit_sql = RecordStatements(database.dialect).audit
        self._save_sql = statement(
            "INSERT INTO batching_rules (tenant_id, wishes, updated_at)"
            f" SELECT e.tenant_id, :wishes, ({database.dialect.now}) FROM tenants AS e WHERE e.tenant_id = :tenant_id"
            " ON CONFLICT (tenant_id) DO UPDATE SET wishes = excluded.wishes, updated_at = excluded.updated_at"
            " RETURNING tenant_id",
            returns="tenant_id",
        )

    async def rules(self) -> dict[TenantId, Rules]:
        async with self._db.single() as connection:
            rows = (await connection.execute(_RULES)).all()
        return {row.tenant_id: _wishes_of(row).applied(self._rules) for row in rows}

    async def tenant_keys(self) -> dict[TenantId, str]:
        async with self._db.single() as connection:
            return {row.tenant_id: row.tenant_key for row in (await connection.execute(_KEYS)).all()}

    async def find_wishes(self, tenant_id: TenantId, *, scope: TenantId | None) -> Wishes | None:
        async with self._db.single() as connection:
            row = (await connection.execute(_WISHES, {"tenant_id": tenant_id, "scope": scope})).one_or_none()
        return None if row is None else _wishes_of(row)

    async def save_wishes(self, tenant_id: TenantId, wishes: Wishes, *, note: Note) -> bool:
        params = {"tenant_id": tenant_id, "wishes": msgspec.json.encode(wishes).decode(), **self._db.moment()}
        async with self._db.transaction() as tx:
            if (await tx.execute(self._save_sql, params)).one_or_none() is None:
                return False
            await tx.execute(self._audit_sql, {**noted(note, self._db.dialect), **self._db.moment()})
        return True


def _wishes_of(row: Any) -> Wishes:
    return Wishes() if row.wishes is None else msgspec.json.decode(row.wishes, type=Wishes)


def _broadcast_of(row: Any) -> Broadcast:
    return Broadcast(seq=row.b_seq, tenant_id=row.b_tenant_id, kind=row.b_kind, body=row.b_body, at=row.b_at)
