"""What can be read of detections, batches and analyses in SQL, and how it is forgotten."""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.detections import sealed_of
from streamward.drivers.sql.dialect import SqlDialect
from streamward.drivers.sql.engine import FILE_SIZE
from streamward.drivers.sql.listing import Listing, forgotten, tenants_in
from streamward.drivers.sql.statement import ANALYSIS, BATCH, DETECTION, IN_SCOPE, Shape, Statement, statement
from streamward.insight.analysis import Analysis
from streamward.insight.batch import BatchId
from streamward.insight.records import AnalysisRecord, BatchRecord, DetectionRecord, Recent
from streamward.insight.store import Seen
from streamward.model.detection import Box, Detection
from streamward.model.ids import TenantId

_STEP = 20  # batches of one transaction: nobody should wait long for what it has locked
_CHUNK = 1000  # detections of one statement, which must end within a statement's time
_GRANT = Shape("g", "runner_id incarnation")
_DETECTIONS = (
    f"SELECT {DETECTION.columns}, {_GRANT.columns} FROM detections AS d"
    " JOIN lease_grants AS g ON g.camera_uuid = d.camera_uuid AND g.generation = d.generation"
)
_BATCHES = f"SELECT b.told_at IS NOT NULL AS is_told, {BATCH.columns} FROM batches AS b"
_TAKEN_BACK = "b.detection_ids = '[]'"
_ANALYSES = f"SELECT {ANALYSIS.columns} FROM analyses AS a"
_FIND_BATCH = statement(
    f"{_BATCHES} WHERE b.batch_id = :batch_id AND NOT {_TAKEN_BACK} AND {IN_SCOPE.format('b')}",
    BATCH,
    returns="is_told",
)
# A range of the index: hexadecimal digits end before the letter g.
_BATCH_IDS = statement(
    f"SELECT b.batch_id FROM batches AS b WHERE b.batch_id >= :after AND b.batch_id < :before AND NOT {_TAKEN_BACK}"
    f" AND {IN_SCOPE.format('b')} ORDER BY b.batch_id LIMIT :limit",
    returns="batch_id",
)
_FIND_ANALYSIS = statement(f"{_ANALYSES} WHERE a.batch_id = :batch_id AND {IN_SCOPE.format('a')}", ANALYSIS)
_TENANTS = tenants_in("batches")
_SIZE = statement(FILE_SIZE, returns="size")


_DETECTION_LIST = Listing(_DETECTIONS, "d.detection_id", DETECTION, _GRANT)
_BATCH_LIST = Listing(_BATCHES, "b.position", BATCH, returns="is_told", where=f"NOT {_TAKEN_BACK}")
_ANALYSIS_LIST = Listing(_ANALYSES, "a.position", ANALYSIS)


class _Forgetting:
    """How old batches go, spelled for one database."""

    def __init__(self, dialect: SqlDialect) -> None:
        oldest = "SELECT x.position FROM batches AS x WHERE x.tenant_id = :tenant_id ORDER BY x.position LIMIT :limit"
        self.due = statement(
            f"WITH t AS MATERIALIZED ({dialect.now}) SELECT {BATCH.columns} FROM batches AS b CROSS JOIN t"
            f" WHERE b.position IN ({oldest}) AND b.closed_at < {dialect.later('t.now', '-:kept')}"
            f" ORDER BY b.position {dialect.locking('b', skip=True)}",
            BATCH,
        )
        self.newest_of_oldest = statement(
            f"WITH t AS MATERIALIZED ({dialect.now}) SELECT t.now, x.closed_at FROM"
            " (SELECT b.closed_at, b.position FROM batches AS b ORDER BY b.position LIMIT :limit) AS x CROSS JOIN t"
            " ORDER BY x.position DESC LIMIT 1",
            returns="now closed_at",
        )
        self.detections = _delete("detections", "detection_id", dialect)
        self.analyses = _delete("analyses", "batch_id", dialect)
        self.batches = _delete("batches", "position", dialect)


class SqlRecords:
    """The record port on a `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._forgetting = _Forgetting(database.dialect)
        self._of_batch = statement(
            f"{_DETECTIONS} WHERE d.detection_id IN (SELECT n.detection_id FROM"
            f" {database.dialect.listed('detection_id')})",
            DETECTION,
            _GRANT,
        )

    async def detections(self, wanted: Recent) -> list[DetectionRecord]:
        async with self._db.single() as connection:
            return [_detection_of(row) for row in await _DETECTION_LIST.rows(connection, wanted)]

    async def batches(self, wanted: Recent) -> list[BatchRecord]:
        async with self._db.single() as connection:
            return [_batch_of(row) for row in await _BATCH_LIST.rows(connection, wanted)]

    async def find_batch(self, batch_id: BatchId, *, scope: TenantId | None) -> BatchRecord | None:
        async with self._db.single() as connection:
            row = (await connection.execute(_FIND_BATCH, {"batch_id": batch_id, "scope": scope})).one_or_none()
        return None if row is None else _batch_of(row)

    async def batch_ids(self, prefix: str, *, scope: TenantId | None, limit: int) -> list[BatchId]:
        params = {"after": prefix, "before": f"{prefix}g", "scope": scope, "limit": limit}
        async with self._db.single() as connection:
            return list((await connection.execute(_BATCH_IDS, params)).scalars())

    async def detections_of(self, batch_id: BatchId, *, scope: TenantId | None) -> list[DetectionRecord]:
        found = await self.find_batch(batch_id, scope=scope)
        if found is None:
            return []
        listed = self._db.dialect.pack(("detection_id",), [(each,) for each in found.batch.detection_ids])
        async with self._db.single() as connection:
            rows = (await connection.execute(self._of_batch, listed)).all()
        by_id = {row.d_detection_id: _detection_of(row) for row in rows}
        return [by_id[each] for each in found.batch.detection_ids if each in by_id]

    async def prune(self, kept: Mapping[TenantId, float], *, otherwise: float, limit: int) -> int:
        async with self._db.single() as connection:
            tenants = (await connection.execute(_TENANTS)).scalars().all()
        return await forgotten(tenants, partial(self._forget, kept, otherwise), limit=limit, step=_STEP)

    async def size(self) -> int | None:
        if self._db.is_postgres:
            return None
        async with self._db.single() as connection:
            return int((await connection.execute(_SIZE)).scalar_one())

    async def age(self, *, batches: int) -> float | None:
        params = {"limit": batches, **self._db.moment()}
        async with self._db.single() as connection:
            row = (await connection.execute(self._forgetting.newest_of_oldest, params)).one_or_none()
        return None if row is None else float((row.now - row.closed_at).total_seconds())

    async def _forget(self, kept: Mapping[TenantId, float], otherwise: float, tenant_id: TenantId, limit: int) -> int:
        params = {"tenant_id": tenant_id, "kept": kept.get(tenant_id, otherwise), "limit": limit, **self._db.moment()}
        async with self._db.transaction() as tx:
            batches = (await tx.execute(self._forgetting.due, params)).all()
            if not batches:
                return 0
            ids = [each for row in batches for each in sealed_of(row).detection_ids]
            for start in range(0, len(ids), _CHUNK):
                await self._delete(tx, self._forgetting.detections, "detection_id", ids[start : start + _CHUNK])
            await self._delete(tx, self._forgetting.analyses, "batch_id", [row.b_batch_id for row in batches])
            await self._delete(tx, self._forgetting.batches, "position", [row.b_position for row in batches])
        return len(batches)

    async def _delete(self, tx: AsyncConnection, delete: Statement, column: str, values: Sequence[object]) -> None:
        await tx.execute(delete, self._db.dialect.pack((column,), [(value,) for value in values]))


class SqlAnalyses:
    """The analyses on a `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._save_sql = statement(
            "INSERT INTO analyses (batch_id, tenant_id, camera_uuid, body, at)"
            f" SELECT b.batch_id, b.tenant_id, b.camera_uuid, :body, ({database.dialect.now}) FROM ("
            "SELECT x.* FROM batches AS x WHERE x.batch_id = :batch_id AND x.tenant_id = :tenant_id"
            f" {database.dialect.keeping('x')}) AS b WHERE true"
            " ON CONFLICT (batch_id) DO NOTHING RETURNING position",
            returns="position",
        )

    async def save(self, analysis: Analysis) -> bool:
        params = {
            "batch_id": analysis.batch_id,
            "tenant_id": analysis.tenant_id,
            "body": msgspec.json.encode(analysis).decode(),
        }
        async with self._db.single() as connection:
            saved = await connection.execute(self._save_sql, {**params, **self._db.moment()})
            return saved.one_or_none() is not None

    async def find(self, batch_id: BatchId, *, scope: TenantId | None) -> AnalysisRecord | None:
        async with self._db.single() as connection:
            row = (await connection.execute(_FIND_ANALYSIS, {"batch_id": batch_id, "scope": scope})).one_or_none()
        return None if row is None else _analysis_of(row)

    async def page(self, wanted: Recent) -> list[AnalysisRecord]:
        async with self._db.single() as connection:
            return [_analysis_of(row) for row in await _ANALYSIS_LIST.rows(connection, wanted)]


def _delete(table: str, column: str, dialect: SqlDialect) -> Statement:
    return statement(f"DELETE FROM {table} WHERE {column} IN (SELECT n.{column} FROM {dialect.listed(column)})")


def _detection_of(row: Any) -> DetectionRecord:
    box = Box(*msgspec.json.decode(row.d_box, type=tuple[float, float, float, float]))
    zones = msgspec.json.decode(row.d_zones, type=tuple[str, ...])
    seen = Seen(
        event_id=row.d_event_id,
        index=row.d_idx,
        tenant_id=row.d_tenant_id,
        site_id=row.d_site_id,
        camera_id=row.d_camera_uuid,
        runner_id=row.g_runner_id,
        incarnation=row.g_incarnation,
        generation=row.d_generation,
        made_at=row.d_made_at,
        detection=Detection(row.d_label, row.d_confidence, box, track_id=row.d_track_id, zones=zones),
    )
    return DetectionRecord(
        detection_id=row.d_detection_id,
        seen=seen,
        stamped_at=row.d_stamped_at,
        is_late=row.d_is_late,
        stored_at=row.d_stored_at,
        batch_id=row.d_batch_id,
    )


def _batch_of(row: Any) -> BatchRecord:
    return BatchRecord(position=row.b_position, batch=sealed_of(row), is_told=row.is_told)


def _analysis_of(row: Any) -> AnalysisRecord:
    return AnalysisRecord(position=row.a_position, analysis=msgspec.json.decode(row.a_body, type=Analysis), at=row.a_at)
