"""What the database knows of ownership, present and past."""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from dataclasses import asdict
from typing import Any

from sqlalchemy.engine import Row

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.rows import lease_of, status_of
from streamward.drivers.sql.statement import IN_SCOPE, LEASE, STATUS, statement
from streamward.leases.lease import Grant, Lease, Owner
from streamward.leases.store import EVERY, LeaseCounts, LeaseFilter, PlacedLease
from streamward.model.ids import CameraId

_FIND = statement(f"SELECT {LEASE.columns} FROM stream_leases AS l WHERE l.camera_uuid = :camera_uuid", LEASE)
_HISTORY = statement(
    "SELECT generation, runner_id, incarnation, granted_at FROM lease_grants"
    " WHERE camera_uuid = :camera_uuid ORDER BY generation DESC LIMIT :limit",
    returns="generation runner_id incarnation granted_at",
)
# From the cameras, in their order: `stream_leases` must have no index on what a renewal writes.
_LIST = statement(
    f"SELECT c.tenant_id, c.site_id, {LEASE.columns}, {STATUS.columns} FROM cameras AS c"
    " JOIN stream_leases AS l ON l.camera_uuid = c.camera_uuid"
    " LEFT JOIN stream_status AS u ON u.camera_uuid = c.camera_uuid"
    f" WHERE {IN_SCOPE.format('c')} AND c.site_id = coalesce(:site_id, c.site_id)"
    " AND (CAST(:runner_id AS text) IS NULL OR l.runner_id = :runner_id)"
    " AND l.state = coalesce(:state, l.state) AND c.camera_uuid > coalesce(:after, '')"
    " ORDER BY c.camera_uuid LIMIT :limit",
    LEASE,
    STATUS,
    returns="tenant_id site_id",
)
_COUNTS = statement(
    "SELECT count(*) FILTER (WHERE state IN ('ACTIVE', 'PAUSED')) AS leased,"
    " count(*) FILTER (WHERE state = 'PENDING') AS free,"
    " count(*) FILTER (WHERE state = 'ORPHANED') AS orphaned FROM stream_leases",
    returns="leased free orphaned",
)


class SqlLeaseRecords:
    """The record port on a `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def find(self, camera_id: CameraId) -> Lease | None:
        async with self._db.single() as connection:
            row = (await connection.execute(_FIND, {"camera_uuid": camera_id})).one_or_none()
        return None if row is None else lease_of(row)

    async def leases(self, wanted: LeaseFilter) -> list[PlacedLease]:
        async with self._db.single() as connection:
            rows = (await connection.execute(_LIST, asdict(wanted))).all()
        return [_placed(row) for row in rows]

    async def history(self, camera_id: CameraId, *, newest: int = EVERY) -> list[Grant]:
        async with self._db.single() as connection:
            rows = (await connection.execute(_HISTORY, {"camera_uuid": camera_id, "limit": newest})).all()
        return [
            Grant(
                camera_id=camera_id,
                generation=row.generation,
                owner=Owner(row.runner_id, row.incarnation),
                granted_at=row.granted_at,
            )
            for row in reversed(rows)
        ]

    async def counts(self) -> LeaseCounts:
        async with self._db.single() as connection:
            row = (await connection.execute(_COUNTS)).one()
        return LeaseCounts(leased=row.leased, free=row.free, orphaned=row.orphaned)


def _placed(row: Row[Any]) -> PlacedLease:
    return PlacedLease(
        lease=lease_of(row),
        tenant_id=row.tenant_id,
        site_id=row.site_id,
        status=None if row.u_camera_uuid is None else status_of(row),
    )
