"""People's edits in SQL: each list one transaction, with its audit and its announcements."""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy.engine import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.dialect import SqlDialect
from streamward.drivers.sql.edit_statements import (
    ANNOUNCED,
    AUDITED,
    BUDGETED,
    TABLES,
    EditStatements,
    RecordStatements,
    audited_row,
    lock_rows,
    noted,
    row_of,
    signed,
)
from streamward.drivers.sql.session import EngineSession
from streamward.drivers.sql.statement import Statement, statement
from streamward.model import announcement
from streamward.model.camera import Camera, Site
from streamward.model.identity import Author, Identity, Role
from streamward.model.ids import CameraId, TenantId
from streamward.model.register import (
    NOUNS,
    REMEMBERED_FOR,
    TOLD_FOR,
    Edit,
    Edited,
    Hindrance,
    Note,
    NotEdited,
    Once,
    Repeated,
    Thing,
    Verb,
    key_of,
    name_clash,
    name_of,
    names_given,
    note,
)
from streamward.model.tenant import CLOCKS_APART, Tenant

T = TypeVar("T")

_CHUNK = 500  # rows of one statement: each must end within a statement's time, and others get their turn in between
_KNOWN = statement(
    "SELECT object_id, made_at, digest FROM created_once WHERE subject = :subject AND once_key = :once_key",
    returns="object_id made_at digest",
)
_REMEMBER = statement(
    "INSERT INTO created_once (subject, once_key, digest, object_id, made_at)"
    " VALUES (:subject, :once_key, :digest, :object_id, :made_at) ON CONFLICT DO NOTHING RETURNING object_id",
    returns="object_id",
)
# Who announces holds this until the commit: positions come to light in their order, so that a reader misses none.
_IN_TURN = statement("SELECT pg_advisory_xact_lock(21335)")
# Who names cameras of a tenant holds this until the commit, before any row: a name that is free stays so.
_NAMING = statement("SELECT pg_advisory_xact_lock(21336, hashtext(:tenant_id))")
_HELD = statement(
    "SELECT tenant_id FROM tenant_deletions WHERE tenant_id = :tenant_id AND finished_at IS NULL", returns="tenant_id"
)
_DELETED = statement(
    "INSERT INTO tenant_deletions (tenant_key, tenant_id, requested_at, tokens_after)"
    " VALUES (:tenant_key, :tenant_id, :requested_at, :tokens_after)"
)
_SILENCE = statement("UPDATE runners SET incarnation = NULL WHERE runner_id = :runner_id")


class SqlEdits:
    """The writing half of the register on a `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        dialect = database.dialect
        self._edit_sql = {noun: EditStatements(table, dialect) for noun, table in TABLES.items()}
        self._lock_sql = {noun: lock_rows(table, dialect) for noun, table in TABLES.items() if table.children}
        self._record_sql = RecordStatements(dialect)
        self._forget_sql = _forgetting(dialect)
        self._end_sql = statement(
            f"UPDATE incarnations SET ended_at = ({dialect.now}) WHERE runner_id = :runner_id AND ended_at IS NULL"
        )

    async def write_note(self, note: Note) -> None:
        async with self._db.transaction() as tx:
            params = {**noted(note, self._db.dialect), **self._db.moment()}
            await tx.execute(self._record_sql.audit, params)

    async def edit(
        self, edits: Sequence[Edit], *, author: Author, once: Once | None = None
    ) -> Edited | NotEdited | Repeated:
        async with self._db.transaction() as tx:
            await self._forget(tx)
            if known := await _known(tx, once):
                return known
            outcome = await self.apply(tx, edits, author=author)
            is_first = isinstance(outcome, Edited) and await _remembered(tx, outcome, once)
            if not is_first:
                await tx.rollback()
        if isinstance(outcome, Edited) and not is_first:  # somebody was quicker with the same name
            async with self._db.single() as connection:
                return await _known(connection, once) or NotEdited(edits[0], Hindrance.TAKEN)
        if is_first:
            self._db.ring()
        return outcome

    async def apply(self, tx: AsyncConnection, edits: Sequence[Edit], *, author: Author) -> Edited | NotEdited:
        """Makes these edits and writes them down, in a transaction that somebody else ends."""
        things: dict[str, Thing | None] = {}
        if (named := await self._name_taken(tx, edits)) is not None:
            return named
        for batch in _batches(edits):
            if hindered := await self._hindrance(tx, batch):
                return hindered
            for part in _parts(batch):
                stamps = await self._write(tx, part)
                if missed := next((edit for edit in part if key_of(edit.thing) not in stamps), None):
                    return NotEdited(missed, _reason(missed))
                things |= {name_of(edit): _stamped(edit, stamps[key_of(edit.thing)]) for edit in part}
            if hindered := await self._name_held(tx, batch):
                return hindered
            await self._follow(tx, batch)
        await self._record(tx, edits, things, author=author)
        return Edited(tuple(things[name_of(edit)] for edit in edits))

    async def _write(self, tx: AsyncConnection, batch: Sequence[Edit]) -> dict[str, Row[Any]]:
        """Makes edits of one noun and verb; returns what became of each by its key."""
        sql = self._edit_sql[type(batch[0].thing)]
        change, columns = {
            Verb.CREATED: (sql.add, sql.given),
            Verb.UPDATED: (sql.change, sql.changed),
            Verb.DELETED: (sql.remove, sql.stamps.names),
        }[batch[0].verb]
        written = await self._list(tx, change, columns, map(_wanted, batch))
        return {getattr(row, f"x_{sql.table.key}"): row for row in written}

    async def _hindrance(self, tx: AsyncConnection, batch: Sequence[Edit]) -> NotEdited | None:
        """What keeps edits of one noun and verb from being made; locks the rows that this rests on."""
        noun, verb = type(batch[0].thing), batch[0].verb
        sql = self._edit_sql[noun]
        if verb is Verb.DELETED and sql.in_use is not None:
            keys = [{sql.table.key: key_of(edit.thing)} for edit in batch]
            await self._list(tx, self._lock_sql[noun], (sql.table.key,), keys)
            used = {row[0] for row in await self._list(tx, sql.in_use, (sql.table.key,), keys)}
            return next((NotEdited(edit, Hindrance.IN_USE) for edit in batch if key_of(edit.thing) in used), None)
        parent = sql.table.parent
        placed = [edit for edit in batch if edit.moves or verb is Verb.CREATED]
        if parent is None or not placed:
            return None
        key = TABLES[parent].key
        places = dict.fromkeys(getattr(edit.thing, key) for edit in placed)
        found = await self._list(tx, self._lock_sql[parent], (key,), [{key: place} for place in places])
        known = {(getattr(row, key), row.tenant_id) for row in found}
        lost = (edit for edit in placed if (getattr(edit.thing, key), edit.thing.tenant_id) not in known)
        return next((NotEdited(edit, Hindrance.NO_PLACE) for edit in lost), None)

    async def _name_taken(self, tx: AsyncConnection, edits: Sequence[Edit]) -> NotEdited | None:
        given = names_given(edits)
        if self._db.is_postgres:
            for tenant_id in sorted({tenant_id for tenant_id, _ in given}):
                await tx.execute(_NAMING, {"tenant_id": tenant_id})
        columns = ("tenant_id", "name")
        rows = await self._list(
            tx, self._record_sql.named, columns, [dict(zip(columns, each, strict=True)) for each in given]
        )
        clash = name_clash(edits, {(TenantId(row.tenant_id), row.name): CameraId(row.camera_uuid) for row in rows})
        return None if clash is None else NotEdited(clash, Hindrance.NAME_TAKEN)

    async def _name_held(self, tx: AsyncConnection, batch: Sequence[Edit]) -> NotEdited | None:
        """A new tenant whose name still has data of a deleted one; after the insert, which waits for a deletion."""
        tenants = [edit for edit in batch if isinstance(edit.after, Tenant) and edit.verb is Verb.CREATED]
        for edit in tenants:
            if (await tx.execute(_HELD, {"tenant_id": key_of(edit.thing)})).one_or_none() is not None:
                return NotEdited(edit, Hindrance.DELETING)
        return None

    async def _follow(self, tx: AsyncConnection, batch: Sequence[Edit]) -> None:
        """What else an edit means: a site's budget, the end of an untrusted runner, a tenant's deletion."""
        for edit in batch:
            if isinstance(edit.before, Tenant) and edit.after is None:
                named = {"tenant_id": edit.before.tenant_id, "tenant_key": edit.before.tenant_key}
                now = await self._db.now(EngineSession(tx))
                after = max(now, self._db.clock.wall()) + timedelta(seconds=CLOCKS_APART)
                await tx.execute(_DELETED, {**named, "requested_at": now, "tokens_after": after})
            if isinstance(edit.after, Identity) and edit.after.role is Role.RUNNER and not edit.after.is_live:
                ended = {"runner_id": edit.after.subject, **self._db.moment()}
                await tx.execute(self._end_sql, ended)
                await tx.execute(_SILENCE, ended)
        sites = [row_of(edit.after) for edit in batch if isinstance(edit.after, Site)]
        if sites:
            await self._list(tx, self._record_sql.budget, BUDGETED, sites)

    async def _record(
        self, tx: AsyncConnection, edits: Sequence[Edit], things: dict[str, Thing | None], *, author: Author
    ) -> None:
        audited = (audited_row(note(edit, author)) for edit in edits)
        await self._list(tx, self._record_sql.audit, AUDITED, audited, **signed(author))
        now = await self._db.now(EngineSession(tx))
        changed = ((each.verb, things[name_of(each)] or each.before) for each in edits)
        announced = (_announced(camera, verb, now) for verb, camera in changed if isinstance(camera, Camera))
        if self._db.is_postgres and any(isinstance(each.thing, Camera) for each in edits):
            await tx.execute(_IN_TURN)
        await self._list(tx, self._record_sql.announce, ANNOUNCED, announced)

    async def _forget(self, tx: AsyncConnection) -> None:
        for forget in self._forget_sql:
            await tx.execute(forget, self._db.moment())

    async def _list(
        self,
        tx: AsyncConnection,
        change: Statement,
        columns: Sequence[str],
        rows: Iterable[dict[str, Any]],
        **same: object,
    ) -> list[Row[Any]]:
        """Runs a statement on a list of any length, a part at a time."""
        found: list[Row[Any]] = []
        for some in _parts(rows):
            part = [[row[name] for name in columns] for row in some]
            result = await tx.execute(change, {**self._db.dialect.pack(columns, part), **same, **self._db.moment()})
            found += result.all() if result.returns_rows else []
        return found


def _forgetting(dialect: SqlDialect) -> tuple[Statement, ...]:
    now = f"({dialect.now})"
    return tuple(
        statement(f"DELETE FROM {table} WHERE {dialect.later(dated, str(kept))} <= {now}")
        for table, dated, kept in (("created_once", "made_at", REMEMBERED_FOR), ("outbox", "at", TOLD_FOR))
    )


def _batches(edits: Sequence[Edit]) -> Iterator[list[Edit]]:
    """Edits of one noun and verb at a time: what is needed first, what needs it later, and removals the other way."""
    nouns = list(NOUNS)
    alike: dict[tuple[Verb, type[Thing]], list[Edit]] = {}
    for edit in edits:
        alike.setdefault((edit.verb, type(edit.thing)), []).append(edit)
    for verb, order in ((Verb.CREATED, nouns), (Verb.UPDATED, nouns), (Verb.DELETED, nouns[::-1])):
        yield from (alike[verb, noun] for noun in order if (verb, noun) in alike)


def _parts(things: Iterable[T]) -> Iterator[list[T]]:
    """The same, so many at a time; none is made before its part is wanted."""
    coming = iter(things)
    while part := list(islice(coming, _CHUNK)):
        yield part


def _wanted(edit: Edit) -> dict[str, Any]:
    """What shall be, in the state that was read."""
    row = row_of(edit.thing)
    if edit.before is None:
        return row
    before = row_of(edit.before)
    return {**row, **{name: before[name] for name in ("updated_at", "revision") if name in before}}


def _stamped(edit: Edit, row: Row[Any]) -> Thing | None:
    if edit.after is None:
        return None
    stamps: dict[str, Any] = {"revision": row.x_revision}
    if hasattr(row, "x_updated_at"):
        stamps["updated_at"] = row.x_updated_at
    return replace(edit.after, **stamps)


def _announced(camera: Camera, verb: Verb, at: datetime) -> dict[str, Any]:
    made = announcement.of_camera(camera, verb, event_id=str(uuid.uuid4()), at=at)
    return {
        "event_id": made.event_id,
        "tenant_id": camera.tenant_id,
        "routing_key": made.routing_key,
        "body": made.body,
    }


def _reason(edit: Edit) -> Hindrance:
    return Hindrance.TAKEN if edit.verb is Verb.CREATED else Hindrance.CHANGED


async def _known(connection: AsyncConnection, once: Once | None) -> Repeated | None:
    if once is None:
        return None
    found = await connection.execute(_KNOWN, {"subject": once.subject, "once_key": once.key})
    row = found.one_or_none()
    return None if row is None else Repeated(object_id=row.object_id, made_at=row.made_at, digest=row.digest)


async def _remembered(tx: AsyncConnection, edited: Edited, once: Once | None) -> bool:
    """Whether this creation is the first of its name, or has none."""
    made = edited.things[0]
    if once is None or made is None:
        return True
    name = {"subject": once.subject, "once_key": once.key, "digest": once.digest}
    what = {"object_id": key_of(made), "made_at": getattr(made, "updated_at", None)}
    return (await tx.execute(_REMEMBER, {**name, **what})).one_or_none() is not None
