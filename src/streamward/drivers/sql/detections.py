"""Detections and closed batches in SQL."""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from streamward.drivers.sql.admission import Admission, Table, plain
from streamward.drivers.sql.database import Database
from streamward.drivers.sql.dialect import SqlDialect
from streamward.drivers.sql.statement import BATCH, Shape, statement
from streamward.insight.batch import BatchId, CloseReason, Sealed
from streamward.insight.store import Admitted, Closed, Loose, Seen, Stored, Waiting

_encode = msgspec.json.Encoder().encode
_LOOSE = Shape("d", "detection_id tenant_id camera_uuid made_at is_late")
_SWEEP = statement(
    f"SELECT {_LOOSE.columns} FROM detections AS d WHERE d.batch_id IS NULL AND d.detection_id > :detection_id"
    " AND d.stored_at < :stored_before ORDER BY d.detection_id LIMIT :limit",
    _LOOSE,
)
_OPEN = statement(
    "INSERT INTO batches"
    " (batch_id, tenant_id, camera_uuid, detection_ids, started_at, pipeline_start_time, closed_at, reason)"
    " VALUES (:batch_id, :tenant_id, :camera_uuid, '[]', :started_at, :pipeline_start_time, :closed_at, :reason)"
    " ON CONFLICT (batch_id) DO NOTHING RETURNING position",
    returns="position",
)
_FILL = statement("UPDATE batches SET detection_ids = :detection_ids WHERE batch_id = :batch_id")
_FIND = statement(f"SELECT {BATCH.columns} FROM batches AS b WHERE b.batch_id = :batch_id", BATCH)
_UNTOLD = statement(
    f"SELECT {BATCH.columns} FROM batches AS b WHERE b.told_at IS NULL ORDER BY b.position LIMIT :limit", BATCH
)


def _values(seen: Seen) -> tuple[object, ...]:
    what = seen.detection
    box = what.box
    return (
        plain(what.label),
        what.confidence,
        _encode((box.x1, box.y1, box.x2, box.y2)).decode(),
        what.track_id,
        _encode(what.zones).decode() if what.zones else "[]",
    )


def _new(_seen: Seen, detection_id: int, is_late: bool, made_at: datetime) -> Stored:
    return Stored(detection_id=detection_id, made_at=made_at, is_late=is_late, is_new=True, batch_id=None)


def _known(row: Any, is_new: bool) -> Stored:
    return Stored(
        detection_id=row.d_detection_id,
        made_at=row.d_made_at,
        is_late=row.d_is_late,
        is_new=is_new,
        batch_id=row.d_batch_id,
    )


_TABLE = Table(
    name="detections",
    number="detection_id",
    told=("label", "confidence", "box", "track_id", "zones"),
    values=_values,
    found=Shape("d", "detection_id event_id idx made_at is_late batch_id"),
    new=_new,
    known=_known,
)


class BatchStatements:
    """The statements with lists, times and locks, spelled for one database."""

    def __init__(self, dialect: SqlDialect) -> None:
        ours = "d.tenant_id = :tenant_id AND d.camera_uuid = :camera_uuid AND d.batch_id IS NULL"
        named = (
            f"FROM {dialect.listed('detection_id')} CROSS JOIN detections AS d WHERE d.detection_id = n.detection_id"
        )
        locked = f"ORDER BY d.detection_id {dialect.locking('d')}"
        self.claim = statement(
            f"WITH k AS MATERIALIZED (SELECT d.detection_id {named} AND {ours} {locked})"
            " UPDATE detections SET batch_id = :batch_id WHERE detection_id IN (SELECT k.detection_id FROM k)"
            " AND batch_id IS NULL RETURNING detection_id",
            returns="detection_id",
        )
        self.give_back = statement(
            f"WITH k AS MATERIALIZED (SELECT d.detection_id {named} AND d.batch_id = :batch_id {locked})"
            " UPDATE detections SET batch_id = NULL WHERE detection_id IN (SELECT k.detection_id FROM k)"
        )
        self.loose = statement(f"SELECT {_LOOSE.columns} {named} AND {ours}", _LOOSE)
        self.lock = statement(
            f"SELECT {BATCH.columns} FROM batches AS b WHERE b.batch_id = :batch_id {dialect.locking('b')}", BATCH
        )
        self.empty = statement(
            f"UPDATE batches SET detection_ids = '[]', told_at = coalesce(told_at, ({dialect.now}))"
            " WHERE batch_id = :batch_id"
        )
        self.told = statement(
            f"UPDATE batches SET told_at = ({dialect.now})"
            f" WHERE position IN (SELECT n.position FROM {dialect.listed('position')})"
        )


class SqlDetections:
    """The detection port on a `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._admission = Admission(database, _TABLE)

    async def admit(self, seen: Sequence[Seen]) -> Admitted:
        stored, at = await self._admission.admit(seen)
        return Admitted(stored=stored, at=at)

    async def loose(self, *, stored_before: datetime, after: int, limit: int) -> list[Loose]:
        params = {"stored_before": stored_before, "detection_id": after, "limit": limit}
        async with self._db.single() as connection:
            return [_loose_of(row) for row in (await connection.execute(_SWEEP, params)).all()]


class SqlBatches:
    """The batch port on a `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._sql = BatchStatements(database.dialect)

    async def close_batch(self, batch: Sealed) -> Closed:
        async with self._db.transaction() as tx:
            is_new = (await tx.execute(_OPEN, _row(batch))).one_or_none() is not None
            if not is_new:
                return await self._closed_before(tx, batch)
            claimed = await self._claim(tx, batch)
            own = replace(batch, detection_ids=tuple(dict.fromkeys(filter(claimed.__contains__, batch.detection_ids))))
            if claimed:
                await tx.execute(_FILL, {"batch_id": batch.batch_id, "detection_ids": _json(own.detection_ids)})
            else:
                await tx.rollback()
        return Closed(batch=own, is_new=bool(claimed))

    async def reopen(self, batch_id: BatchId) -> tuple[Loose, ...]:
        async with self._db.transaction() as tx:
            row = (await tx.execute(self._sql.lock, {"batch_id": batch_id})).one_or_none()
            if row is None:
                return ()
            batch = sealed_of(row)
            await tx.execute(self._sql.give_back, {**self._named(batch.detection_ids), "batch_id": batch_id})
            await tx.execute(self._sql.empty, {"batch_id": batch_id, **self._db.moment()})
            return await self._loose(tx, batch)

    async def untold(self, *, limit: int) -> list[Waiting]:
        async with self._db.single() as connection:
            rows = (await connection.execute(_UNTOLD, {"limit": limit})).all()
        return [Waiting(position=row.b_position, batch=sealed_of(row)) for row in rows]

    async def told(self, positions: Sequence[int]) -> None:
        listed = self._db.dialect.pack(("position",), [(position,) for position in positions])
        async with self._db.single() as connection:
            await connection.execute(self._sql.told, {**listed, **self._db.moment()})

    async def _closed_before(self, tx: AsyncConnection, batch: Sealed) -> Closed:
        row = (await tx.execute(_FIND, {"batch_id": batch.batch_id})).one()
        return Closed(batch=sealed_of(row), is_new=False, left=await self._loose(tx, batch))

    async def _claim(self, tx: AsyncConnection, batch: Sealed) -> set[int]:
        params = {**self._named(batch.detection_ids), **_whose(batch), "batch_id": batch.batch_id}
        return set((await tx.execute(self._sql.claim, params)).scalars())

    async def _loose(self, tx: AsyncConnection, batch: Sealed) -> tuple[Loose, ...]:
        """What is named in a batch and in no other, in its order."""
        rows = await tx.execute(self._sql.loose, {**self._named(batch.detection_ids), **_whose(batch)})
        found = {row.d_detection_id: _loose_of(row) for row in rows}
        return tuple(found[each] for each in batch.detection_ids if each in found)

    def _named(self, detection_ids: Iterable[int]) -> dict[str, Any]:
        return self._db.dialect.pack(("detection_id",), [(each,) for each in detection_ids])


def sealed_of(row: Any) -> Sealed:
    """A row of `batches` as the core's value."""
    return Sealed(
        batch_id=row.b_batch_id,
        tenant_id=row.b_tenant_id,
        camera_id=row.b_camera_uuid,
        detection_ids=msgspec.json.decode(row.b_detection_ids, type=tuple[int, ...]),
        started_at=row.b_started_at,
        pipeline_start_time=row.b_pipeline_start_time,
        closed_at=row.b_closed_at,
        reason=CloseReason(row.b_reason),
    )


def _loose_of(row: Any) -> Loose:
    stored = Stored(
        detection_id=row.d_detection_id, made_at=row.d_made_at, is_late=row.d_is_late, is_new=False, batch_id=None
    )
    return Loose(tenant_id=row.d_tenant_id, camera_id=row.d_camera_uuid, stored=stored)


def _row(batch: Sealed) -> dict[str, Any]:
    return {
        "batch_id": batch.batch_id,
        **_whose(batch),
        "started_at": batch.started_at,
        "pipeline_start_time": batch.pipeline_start_time,
        "closed_at": batch.closed_at,
        "reason": batch.reason,
    }


def _whose(batch: Sealed) -> dict[str, str]:
    return {"tenant_id": batch.tenant_id, "camera_uuid": batch.camera_id}


def _json(detection_ids: tuple[int, ...]) -> str:
    return msgspec.json.encode(detection_ids).decode()
