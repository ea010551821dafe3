"""Deleted tenants in SQL: what they had is deleted a part at a time, in an order in which nothing can come after.

    grants ─→ detections, zone events ─→ batches ─→ analyses ─→ broadcasts, logins, reports, … ─→ audit without content

Grants go first, each under the lock that keeps its camera's detections from being stored: after that the fence refuses
whatever is still on its way. Batches claim detections that are stored, and analyses belong to batches that are stored,
so what was deleted is never written again. Rows that must stay (leases, identities, the audit) keep their ids and
times, and have the tenant's internal id in the place of its name.

Several control planes may do this at once: each statement deletes what it finds, and a stage ends only if nothing is
left.
"""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.rows import tenant_deletion_of
from streamward.drivers.sql.statement import TENANT_DELETION, Statement, statement
from streamward.model.ids import TenantId
from streamward.model.tenant import HOLD_NAME_FOR, TenantDeletion, TenantStanding

_DELETIONS = f"SELECT {TENANT_DELETION.columns} FROM tenant_deletions AS y"
_UNFINISHED = statement(
    f"{_DELETIONS} WHERE y.finished_at IS NULL ORDER BY y.requested_at, y.tenant_key", TENANT_DELETION
)
_NEWEST = statement(
    f"{_DELETIONS} WHERE y.tenant_id = :tenant_id ORDER BY y.requested_at DESC, y.tenant_key LIMIT 1", TENANT_DELETION
)
_WAITING = statement(
    f"{_DELETIONS} WHERE y.rows_deleted_at IS NOT NULL AND y.payloads_deleted_at IS NULL ORDER BY y.requested_at",
    TENANT_DELETION,
)
_STANDINGS = statement(
    "SELECT n.tenant_id, EXISTS (SELECT 1 FROM tenants AS e WHERE e.tenant_id = n.tenant_id) AS is_live,"
    " (SELECT max(y.tokens_after) FROM tenant_deletions AS y WHERE y.tenant_id = n.tenant_id) AS tokens_after"
    " FROM (SELECT tenant_id FROM tenants UNION SELECT tenant_id FROM tenant_deletions) AS n",
    returns="tenant_id is_live tokens_after",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """One kind of rows of a tenant."""

    name: str  # as people read it
    table: str
    key: str
    of_tenant: str = "x.tenant_id = :tenant_id"
    change: str | None = None  # what is assigned to rows that must stay; None: they are deleted
    after: str | None = None  # what is waited for first: `leases` (their cameras' detections), `turn` (broadcasts)
    is_guarded: bool = False  # on PostgreSQL the control plane's role changes them by a function alone


_KEYED = "tenant_id = :tenant_key"
_KINDS = (
    _Kind(name="grants", table="lease_grants", key="camera_uuid", after="leases", is_guarded=True),
    _Kind(name="detections", table="detections", key="detection_id", is_guarded=True),
    _Kind(name="zone_events", table="zone_events", key="zone_event_id", is_guarded=True),
    _Kind(name="batches", table="batches", key="position", is_guarded=True),
    _Kind(name="analyses", table="analyses", key="position", is_guarded=True),
    _Kind(name="broadcasts", table="broadcasts", key="seq", after="turn", is_guarded=True),
    _Kind(name="logins", table="logins", key="login"),
    _Kind(
        name="handovers",
        table="handovers",
        key="camera_uuid",
        of_tenant="x.camera_uuid IN (SELECT l.camera_uuid FROM stream_leases AS l WHERE l.tenant_id = :tenant_id)",
    ),
    _Kind(name="leases", table="stream_leases", key="camera_uuid", change=f"{_KEYED}, site_id = :tenant_key"),
    _Kind(name="runners", table="runners", key="runner_id", is_guarded=True),
    _Kind(name="invitations", table="invitations", key="invitation_id"),
    _Kind(name="identities", table="identities", key="identity_id", change=f"{_KEYED}, revision = revision + 1"),
    _Kind(
        name="creations",
        table="created_once",
        key="once_key",
        of_tenant="substr(x.subject, 1, length(:tenant_id) + 1) = :tenant_id || '/'",
    ),
    _Kind(name="announcements", table="outbox", key="position"),
    _Kind(
        name="audit",
        table="audit",
        key="position",
        change=f"{_KEYED}, before = NULL, after = NULL, author_tenant ="
        " CASE WHEN author_tenant = :tenant_id THEN :tenant_key ELSE author_tenant END",
        is_guarded=True,
    ),
)


class _Deleting:
    """The statements about one kind, spelled for one database."""

    def __init__(self, kind: _Kind, database: Database) -> None:
        dialect = database.dialect
        self.name = kind.name
        self.is_function = database.is_postgres and kind.is_guarded
        some = f"SELECT x.{kind.key} FROM {kind.table} AS x WHERE {kind.of_tenant} ORDER BY x.{kind.key} LIMIT :limit"
        self.waits: Statement | None = None
        if kind.after == "leases":
            self.waits = statement(
                f"SELECT s.camera_uuid FROM stream_leases AS s WHERE s.camera_uuid IN ({some})"
                f" ORDER BY s.camera_uuid {dialect.alone('s')}"
            )
        elif kind.after == "turn":  # broadcasts take turns: one that began before the deletion has its turn before this
            self.waits = statement(dialect.in_turn)
        what = (
            f"DELETE FROM {kind.table} AS x" if kind.change is None else f"UPDATE {kind.table} AS x SET {kind.change}"
        )
        change = f"{what} WHERE x.{kind.key} IN ({some}) AND {kind.of_tenant} RETURNING {kind.key}"
        if self.is_function:
            change = f"SELECT delete_tenant_rows('{kind.table}', :tenant_id, :limit) AS count"
        self.change = statement(change, returns="count" if self.is_function else kind.key)
        self.count = statement(
            f"SELECT count(*) AS count FROM (SELECT 1 FROM {kind.table} AS x WHERE {kind.of_tenant} LIMIT :limit) AS y",
            returns="count",
        )


class _Statements:
    """The statements about deletions, spelled for one database."""

    def __init__(self, database: Database) -> None:
        dialect = database.dialect
        now = f"({dialect.now})"
        self.kinds = [_Deleting(kind, database) for kind in _KINDS]
        self.find = statement(f"{_DELETIONS} WHERE y.tenant_key = :tenant_key {dialect.locking('y')}", TENANT_DELETION)
        self.count = statement("UPDATE tenant_deletions SET removed = :removed WHERE tenant_key = :tenant_key")
        left = " OR ".join(f"EXISTS (SELECT 1 FROM {kind.table} AS x WHERE {kind.of_tenant})" for kind in _KINDS)
        self.left = statement(f"SELECT {left} AS is_left", returns="is_left")
        this = "WHERE tenant_key = :tenant_key AND"
        self.stages = (
            statement(f"UPDATE tenant_deletions SET rows_deleted_at = {now} {this} rows_deleted_at IS NULL"),
            statement(
                f"UPDATE tenant_deletions SET payloads_deleted_at = {now} {this} rows_deleted_at IS NOT NULL"
                " AND payloads_deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM batchers)"
            ),
            statement(
                f"UPDATE tenant_deletions SET finished_at = {now} {this} payloads_deleted_at IS NOT NULL"
                f" AND finished_at IS NULL AND {dialect.later('requested_at', str(HOLD_NAME_FOR))} <= {now}"
                f" AND tokens_after < {now}"
            ),
        )
        self.gone = statement(
            f"SELECT DISTINCT n.tenant_id FROM {dialect.listed('tenant_id')}"
            " JOIN tenant_deletions AS y ON y.tenant_id = n.tenant_id"
            " WHERE NOT EXISTS (SELECT 1 FROM tenants AS e WHERE e.tenant_id = n.tenant_id)",
            returns="tenant_id",
        )


class SqlTenantDeletions:
    """The port of deleted tenants on a `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._deletion_sql = _Statements(database)

    async def deletions(self) -> list[TenantDeletion]:
        async with self._db.single() as connection:
            return [tenant_deletion_of(row) for row in (await connection.execute(_UNFINISHED)).all()]

    async def find_deletion(self, tenant_id: TenantId) -> TenantDeletion | None:
        async with self._db.single() as connection:
            row = (await connection.execute(_NEWEST, {"tenant_id": tenant_id})).one_or_none()
        return None if row is None else tenant_deletion_of(row)

    async def rows_left(self, tenant_id: TenantId, *, at_most: int) -> int:
        left = 0
        async with self._db.transaction() as tx:
            for kind in self._deletion_sql.kinds:
                params = {"tenant_id": tenant_id, "limit": at_most - left}
                left += (await tx.execute(kind.count, params)).scalar_one()
        return left

    async def delete_rows(self, deletion: TenantDeletion, *, limit: int) -> int:
        """Of one kind in a transaction, so that no lock is held for long; kinds in which nothing is left are passed."""
        for kind in self._deletion_sql.kinds:
            async with self._db.transaction() as tx:
                removed = await self._delete_rows_of(tx, kind, deletion, limit)
            if removed:
                return removed
        return 0

    async def advance(self, deletion: TenantDeletion) -> TenantDeletion:
        named = {"tenant_key": deletion.tenant_key}
        async with self._db.transaction() as tx:
            is_left = deletion.rows_deleted_at is None and await self._has_rows_left(tx, deletion)
            for step in () if is_left else self._deletion_sql.stages:
                await tx.execute(step, {**named, **self._db.moment()})
            return tenant_deletion_of((await tx.execute(self._deletion_sql.find, named)).one())

    async def tenant_standings(self) -> list[TenantStanding]:
        async with self._db.single() as connection:
            return [
                TenantStanding(tenant_id=row.tenant_id, is_live=row.is_live, tokens_after=row.tokens_after)
                for row in (await connection.execute(_STANDINGS)).all()
            ]

    async def gone(self, tenant_ids: Sequence[TenantId]) -> list[TenantId]:
        listed = self._db.dialect.pack(("tenant_id",), [(each,) for each in tenant_ids])
        async with self._db.single() as connection:
            return sorted((await connection.execute(self._deletion_sql.gone, listed)).scalars())

    async def _has_rows_left(self, tx: AsyncConnection, deletion: TenantDeletion) -> bool:
        return bool((await tx.execute(self._deletion_sql.left, {"tenant_id": deletion.tenant_id})).scalar_one())

    async def _delete_rows_of(self, tx: AsyncConnection, kind: _Deleting, deletion: TenantDeletion, limit: int) -> int:
        """Under a lock on the record of the deletion: a control plane that was frozen finds it done."""
        found = tenant_deletion_of(
            (await tx.execute(self._deletion_sql.find, {"tenant_key": deletion.tenant_key})).one()
        )
        if found.rows_deleted_at is not None:
            return 0
        params = {"tenant_id": deletion.tenant_id, "limit": limit}
        if kind.waits is not None:
            await tx.execute(kind.waits, {**params, **self._db.moment()})
        changed = await tx.execute(kind.change, {**params, "tenant_key": deletion.tenant_key})
        removed: int = changed.scalar_one() if kind.is_function else len(changed.all())
        if removed:
            counts = {**found.removed, kind.name: found.removed.get(kind.name, 0) + removed}
            written = msgspec.json.encode(counts).decode()
            await tx.execute(self._deletion_sql.count, {"tenant_key": deletion.tenant_key, "removed": written})
        return removed


class SqlPayloadDeletions:
    """A batcher's part of deletions, on a `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        now = f"({database.dialect.now})"
        self._at_work = statement(
            f"INSERT INTO batchers (place, seen_at) VALUES (1, {now})"
            " ON CONFLICT (place) DO UPDATE SET seen_at = excluded.seen_at"
        )
        self._deleted = statement(
            f"UPDATE tenant_deletions SET payloads_deleted_at = {now} WHERE tenant_key = :tenant_key"
            " AND rows_deleted_at IS NOT NULL AND payloads_deleted_at IS NULL"
        )

    async def at_work(self) -> None:
        async with self._db.single() as connection:
            await connection.execute(self._at_work, self._db.moment())

    async def waiting(self) -> list[TenantDeletion]:
        async with self._db.single() as connection:
            return [tenant_deletion_of(row) for row in (await connection.execute(_WAITING)).all()]

    async def payloads_deleted(self, deletion: TenantDeletion) -> None:
        async with self._db.single() as connection:
            await connection.execute(self._deleted, {"tenant_key": deletion.tenant_key, **self._db.moment()})
