"""What the database knows of ownership, present and past."""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from dataclasses import asdict, replace
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
    "SELECT generation, runner_id, incarnation, tenant_id, site_id, granted_at, ended_at, made_until FROM lease_grants"
    " WHERE camera_uuid = :camera_uuid ORDER BY generation DESC LIMIT :limit",
    returns="generation runner_id incarnation tenant_id site_id granted_at ended_at made_until",
)
# From the cameras, in their order: `stream_leases` must have no index on what a renewal writes.
_LIST = statement(
    "SELECT c.tenant_id, c.site_id, g.tenant_id IS NOT NULL AS is_granted,"
    f" {LEASE.columns}, {STATUS.columns} FROM cameras AS c JOIN stream_leases AS l ON l.camera_uuid = c.camera_uuid"
    " LEFT JOIN lease_grants AS g ON g.camera_uuid = l.camera_uuid AND g.generation = l.generation"
    " AND g.tenant_id = c.tenant_id"
    " LEFT JOIN stream_status AS u ON u.camera_uuid = c.camera_uuid"
    f" WHERE {IN_SCOPE.format('c')} AND c.site_id = coalesce(:site_id, c.site_id)"
    " AND (CAST(:runner_id AS text) IS NULL OR l.runner_id = :runner_id AND g.tenant_id IS NOT NULL)"
    " AND l.state = coalesce(:state, l.state) AND c.camera_uuid > coalesce(:after, '')"
    " ORDER BY c.camera_uuid LIMIT :limit",
    LEASE,
    STATUS,
    returns="tenant_id site_id is_granted",
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
                tenant_id=row.tenant_id,
                site_id=row.site_id,
                granted_at=row.granted_at,
                ended_at=row.ended_at,
                made_until=row.made_until,
            )
            for row in reversed(rows)
        ]

    async def counts(self) -> LeaseCounts:
        async with self._db.single() as connection:
            row = (await connection.execute(_COUNTS)).one()
        return LeaseCounts(leased=row.leased, free=row.free, orphaned=row.orphaned)


def _placed(row: Row[Any]) -> PlacedLease:
    lease = lease_of(row)
    return PlacedLease(
        lease=lease if row.is_granted else replace(lease, owner=None),
        tenant_id=row.tenant_id,
        site_id=row.site_id,
        status=None if row.u_camera_uuid is None else status_of(row),
    )
