"""Stream reports in SQL: a report counts if its runner holds the lease, in the generation that it names.

The lease must be for the tenant that has the camera now: the id of a deleted camera may be another tenant's.
"""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from collections.abc import Sequence

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.dialect import SqlDialect
from streamward.drivers.sql.rows import status_of
from streamward.drivers.sql.statement import STATUS, Statement, statement
from streamward.drivers.sql.waves import waves
from streamward.model.ids import CameraId
from streamward.model.status import StreamStatus

_REPORTED = STATUS.names[:-2]  # all but what the store adds: when the stream last ran, and in which generation
_FIND = statement(f"SELECT {STATUS.columns} FROM stream_status AS u WHERE u.camera_uuid = :camera_uuid", STATUS)


class SqlStatuses:
    """The status port on a `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._record_status = _record(database.dialect)

    async def record(self, reports: Sequence[StreamStatus]) -> int:
        recorded = 0
        async with self._db.transaction() as tx:
            for wave in waves(reports, key=lambda report: report.camera_id):
                rows = self._db.dialect.pack(_REPORTED, [_row(report) for report in wave])
                recorded += len((await tx.execute(self._record_status, {**rows, **self._db.moment()})).all())
        return recorded

    async def find_status(self, camera_id: CameraId) -> StreamStatus | None:
        async with self._db.single() as connection:
            row = (await connection.execute(_FIND, {"camera_uuid": camera_id})).one_or_none()
        return None if row is None else status_of(row)


def _row(report: StreamStatus) -> tuple[object, ...]:
    return (
        report.camera_id,
        report.runner_id,
        report.state,
        report.ts,
        report.generation,
        report.shard_id,
        report.substate,
        report.error_code,
        report.error_detail,
        report.retry_at,
        report.fps,
        report.last_frame_ts,
        report.last_frame_age_s,
    )


def _record(dialect: SqlDialect) -> Statement:
    streaming = "CASE WHEN n.state = 'STREAMING' THEN {} END"
    changed = ", ".join(f"{name} = excluded.{name}" for name in _REPORTED[1:])
    kept = ", ".join(
        f"{name} = coalesce(excluded.{name}, stream_status.{name})" for name in STATUS.names[len(_REPORTED) :]
    )
    return statement(
        f"WITH t AS MATERIALIZED ({dialect.now}) INSERT INTO stream_status ({', '.join(STATUS.names)})"
        f" SELECT {', '.join(f'n.{name}' for name in _REPORTED)},"
        f" {streaming.format('t.now')}, {streaming.format('l.generation')}"
        f" FROM {dialect.listed(*_REPORTED)} CROSS JOIN t JOIN stream_leases AS l ON l.camera_uuid = n.camera_uuid"
        " JOIN cameras AS c ON c.camera_uuid = l.camera_uuid JOIN lease_grants AS g ON g.camera_uuid = l.camera_uuid"
        " AND g.generation = l.generation AND g.tenant_id = c.tenant_id"
        " WHERE l.runner_id = n.runner_id AND (n.generation IS NULL OR n.generation = l.generation)"
        f" ORDER BY n.camera_uuid ON CONFLICT (camera_uuid) DO UPDATE SET {changed}, {kept} RETURNING camera_uuid",
        returns="camera_uuid",
    )
