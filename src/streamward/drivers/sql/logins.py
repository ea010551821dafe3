"""Refused logins in SQL: the rows are locked in order, `leases.logins` decides, and the result is written back.

A record is one text: nobody but the rule reads it.
"""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.dialect import SqlDialect
from streamward.drivers.sql.lease_statements import heir
from streamward.drivers.sql.statement import IN_SCOPE, statement
from streamward.leases.login_talk import LoginKey, LoginPlace, LoginsJudged, LoginTalk, judge, keys
from streamward.leases.logins import LoginId, LoginRecord, retried
from streamward.model.ids import CameraId, TenantId

REMEMBERED_FOR = 30 * 86_400.0  # seconds: long after that a credential is proven anew
_KEY = ("tenant_id", "login")
_ROW = (*_KEY, "record", "updated_at")
_NAMED = "o.tenant_id = n.tenant_id AND o.login = n.login"


class LoginStatements:
    """The statements, in one database's spelling."""

    def __init__(self, dialect: SqlDialect) -> None:
        now = f"t AS MATERIALIZED ({dialect.now})"
        self.places = statement(
            f"WITH {now} SELECT c.camera_uuid, c.tenant_id,"
            " coalesce(l.runner_id = :runner_id AND l.incarnation = :incarnation, false)"
            f" OR {heir(dialect)} AS is_held"
            f" FROM {dialect.listed('camera_uuid')} CROSS JOIN t JOIN cameras AS c ON c.camera_uuid = n.camera_uuid"
            f" JOIN stream_leases AS l ON l.camera_uuid = c.camera_uuid WHERE {IN_SCOPE.format('c')}",
            returns="camera_uuid tenant_id is_held",
        )
        self.begin = statement(
            f"WITH {now} INSERT INTO logins (tenant_id, login, record, updated_at)"
            f" SELECT n.tenant_id, n.login, '{{}}', t.now FROM {dialect.listed(*_KEY)} CROSS JOIN t"
            " ORDER BY n.tenant_id, n.login ON CONFLICT (tenant_id, login) DO NOTHING RETURNING login",
            returns="login",
        )
        self.forget = statement(
            f"WITH {now} DELETE FROM logins"
            f" WHERE updated_at < (SELECT {dialect.later('t.now', str(-REMEMBERED_FOR))} FROM t)"
        )
        self.lock = statement(
            f"WITH k AS MATERIALIZED (SELECT o.tenant_id, o.login, o.record FROM {dialect.listed(*_KEY)}"
            f" JOIN logins AS o ON {_NAMED} ORDER BY o.tenant_id, o.login {dialect.locking('o')}),"
            f" t AS MATERIALIZED ({dialect.now_after_locks})"
            " SELECT t.now, k.tenant_id, k.login, k.record FROM k CROSS JOIN t",
            returns="now tenant_id login record",
        )
        self.find = statement(
            f"SELECT o.login, o.record FROM {dialect.listed(*_KEY)} JOIN logins AS o ON {_NAMED}",
            returns="login record",
        )
        self.save = statement(
            "UPDATE logins AS o SET record = n.record, updated_at = n.updated_at"
            f" FROM {dialect.listed(*_ROW)} WHERE {_NAMED}"
        )


class SqlLogins:
    """The login port on a `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._login_sql = LoginStatements(database.dialect)

    async def judge_logins(self, talk: LoginTalk, *, scope: TenantId | None) -> LoginsJudged:
        async with self._db.transaction() as tx:
            places = await self._places(tx, talk, scope)
            named = keys(talk, places)
            if not named:
                return LoginsJudged()
            await self._begin(tx, named)
            before, now = await self._lock(tx, named)
            after, judged = judge(talk, places, before, now=now.timestamp())
            await self._save(tx, {key: record for key, record in after.items() if record != before[key]}, now)
            return judged

    async def find_login(self, tenant_id: TenantId, names: Sequence[LoginId]) -> LoginRecord | None:
        listed = self._db.dialect.pack(_KEY, [(tenant_id, each) for each in names])
        async with self._db.single() as connection:
            rows = (await connection.execute(self._login_sql.find, listed)).all()
        records = {row.login: _decoded(row.record) for row in rows}
        found = (records.get(each, LoginRecord()) for each in names)
        return next((record for record in found if record != LoginRecord()), None)

    async def retry_login(self, tenant_id: TenantId, names: Sequence[LoginId]) -> bool:
        async with self._db.transaction() as tx:
            before, now = await self._lock(tx, [(tenant_id, each) for each in sorted(names)])
            after = {key: retried(record, now.timestamp()) for key, record in before.items()}
            changed = {key: record for key, record in after.items() if record != before[key]}
            await self._save(tx, changed, now)
        return bool(changed)

    async def _places(self, tx: AsyncConnection, talk: LoginTalk, scope: TenantId | None) -> dict[CameraId, LoginPlace]:
        listed = self._db.dialect.pack(["camera_uuid"], [(each,) for each in talk.camera_ids])
        owner = {"runner_id": talk.owner.runner_id, "incarnation": talk.owner.incarnation}
        found = await tx.execute(self._login_sql.places, {**listed, **owner, "scope": scope, **self._db.moment()})
        return {row.camera_uuid: LoginPlace(tenant_id=row.tenant_id, is_held=row.is_held) for row in found}

    async def _begin(self, tx: AsyncConnection, named: list[LoginKey]) -> None:
        listed = self._db.dialect.pack(_KEY, named)
        begun = await tx.execute(self._login_sql.begin, {**listed, **self._db.moment()})
        if begun.all():  # seldom: a new credential
            await tx.execute(self._login_sql.forget, self._db.moment())

    async def _lock(self, tx: AsyncConnection, named: list[LoginKey]) -> tuple[dict[LoginKey, LoginRecord], datetime]:
        listed = self._db.dialect.pack(_KEY, named)
        rows = (await tx.execute(self._login_sql.lock, {**listed, **self._db.moment()})).all()
        records = {(row.tenant_id, row.login): _decoded(row.record) for row in rows}
        now: datetime = rows[0].now if rows else self._db.clock.wall()
        return records, now.astimezone(UTC)

    async def _save(self, tx: AsyncConnection, changed: dict[LoginKey, LoginRecord], now: datetime) -> None:
        if changed:
            rows = [(*key, msgspec.json.encode(record).decode(), now) for key, record in changed.items()]
            await tx.execute(self._login_sql.save, self._db.dialect.pack(_ROW, rows))


def _decoded(record: str) -> LoginRecord:
    return msgspec.json.decode(record, type=LoginRecord)
