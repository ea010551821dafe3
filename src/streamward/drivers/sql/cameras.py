"""Cameras in SQL; a camera's lease row follows it by triggers."""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.dialect import SqlDialect
from streamward.drivers.sql.rows import camera_of
from streamward.drivers.sql.statement import CAMERA, IN_SCOPE, statement
from streamward.leases.store import REMEMBERED_FOR, CameraFilter, Once, Repeated
from streamward.model.camera import Camera
from streamward.model.ids import CameraId, TenantId
from streamward.model.vault import Sealed

_PAGE = statement(
    f"SELECT {CAMERA.columns} FROM cameras AS c WHERE {IN_SCOPE.format('c')}"
    " AND c.tenant_id = coalesce(:tenant_id, c.tenant_id) AND c.site_id = coalesce(:site_id, c.site_id)"
    " AND c.enabled = coalesce(:enabled, c.enabled) AND c.camera_uuid > coalesce(:after, '')"
    " ORDER BY c.camera_uuid LIMIT :limit",
    CAMERA,
)
_FIND = statement(
    f"SELECT {CAMERA.columns} FROM cameras AS c WHERE c.camera_uuid = :camera_uuid AND {IN_SCOPE.format('c')}", CAMERA
)
_REMOVE = statement(
    f"DELETE FROM cameras WHERE camera_uuid = :camera_uuid AND {IN_SCOPE.format('cameras')} RETURNING camera_uuid",
    returns="camera_uuid",
)
_RESEAL = statement(
    "UPDATE cameras SET sealed_credential = :new WHERE camera_uuid = :camera_uuid AND sealed_credential = :old"
    " RETURNING camera_uuid",
    returns="camera_uuid",
)
_KNOWN = statement(
    "SELECT camera_uuid, made_at, digest FROM created_once WHERE subject = :subject AND once_key = :once_key",
    returns="camera_uuid made_at digest",
)
_REMEMBER = statement(
    "INSERT INTO created_once (subject, once_key, digest, camera_uuid, made_at)"
    " VALUES (:subject, :once_key, :digest, :camera_uuid, :made_at) ON CONFLICT DO NOTHING RETURNING camera_uuid",
    returns="camera_uuid",
)


class CameraStatements:
    """The statements that tell the time."""

    def __init__(self, dialect: SqlDialect) -> None:
        now = f"({dialect.now})"
        written = ("site_id", "rtsp_url", "enabled", "do_not_process", "credential_version")
        given = ("tenant_id", *written, "sealed_credential")
        insert = (
            f"INSERT INTO cameras AS c (camera_uuid, {', '.join(given)}, updated_at)"
            f" VALUES (:camera_uuid, {', '.join(f':{name}' for name in given)}, {now})"
        )
        self.save = statement(
            f"{insert} ON CONFLICT (camera_uuid) DO UPDATE SET"
            f" {', '.join(f'{name} = excluded.{name}' for name in (*given, 'updated_at'))}, revision = c.revision + 1"
        )
        camera = dialect.returning("c", *CAMERA.names)
        self.add = statement(f"{insert} ON CONFLICT DO NOTHING {camera}", CAMERA)
        self.change = statement(
            f"UPDATE cameras AS c SET {', '.join(f'{name} = :{name}' for name in written)}, updated_at = {now},"
            " sealed_credential = CASE WHEN c.credential_version = :credential_version THEN c.sealed_credential"
            " ELSE :sealed_credential END, revision = c.revision + 1 WHERE c.camera_uuid = :camera_uuid"
            f" AND c.tenant_id = :tenant_id AND c.revision = :revision AND c.updated_at = :updated_at {camera}",
            CAMERA,
        )
        self.forget = statement(
            f"DELETE FROM created_once WHERE {dialect.later('made_at', str(REMEMBERED_FOR))} <= {now}"
        )


class SqlCameras:
    """The camera port on a `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._camera_sql = CameraStatements(database.dialect)

    async def page(self, wanted: CameraFilter) -> list[Camera]:
        params = {
            "scope": wanted.scope,
            "tenant_id": wanted.tenant_id,
            "site_id": wanted.site_id,
            "enabled": wanted.enabled,
            "after": wanted.after,
            "limit": wanted.limit,
        }
        async with self._db.single() as connection:
            return [camera_of(row) for row in (await connection.execute(_PAGE, params)).all()]

    async def find_camera(self, camera_id: CameraId, *, scope: TenantId | None) -> Camera | None:
        async with self._db.single() as connection:
            row = (await connection.execute(_FIND, {"camera_uuid": camera_id, "scope": scope})).one_or_none()
        return None if row is None else camera_of(row)

    async def save_camera(self, camera: Camera) -> None:
        async with self._db.single() as connection:
            await connection.execute(self._camera_sql.save, {**_row(camera), **self._db.moment()})
        self._db.ring()

    async def add_camera(self, camera: Camera, *, once: Once | None = None) -> Camera | Repeated | None:
        async with self._db.transaction() as tx:
            await tx.execute(self._camera_sql.forget, self._db.moment())
            if known := await _known(tx, once):
                return known
            row = (await tx.execute(self._camera_sql.add, {**_row(camera), **self._db.moment()})).one_or_none()
            added = None if row is None else camera_of(row)
            if added is None or not await _remembered(tx, added, once):
                await tx.rollback()
                added = None
        if added is None:  # somebody was quicker, perhaps with the same name for it
            async with self._db.single() as connection:
                return await _known(connection, once)
        self._db.ring()
        return added

    async def change_camera(self, camera: Camera) -> Camera | None:
        params = {**_row(camera), "revision": camera.revision, "updated_at": camera.updated_at, **self._db.moment()}
        async with self._db.single() as connection:
            row = (await connection.execute(self._camera_sql.change, params)).one_or_none()
        if row is None:
            return None
        self._db.ring()
        return camera_of(row)

    async def reseal(self, camera_id: CameraId, *, old: Sealed, new: Sealed) -> bool:
        async with self._db.single() as connection:
            changed = await connection.execute(_RESEAL, {"camera_uuid": camera_id, "old": old, "new": new})
            return changed.one_or_none() is not None

    async def remove_camera(self, camera_id: CameraId, *, scope: TenantId | None) -> bool:
        async with self._db.single() as connection:
            removed = (await connection.execute(_REMOVE, {"camera_uuid": camera_id, "scope": scope})).all()
        if removed:
            self._db.ring()
        return bool(removed)


def _row(camera: Camera) -> dict[str, Any]:
    return {
        "camera_uuid": camera.camera_id,
        "tenant_id": camera.tenant_id,
        "site_id": camera.site_id,
        "rtsp_url": camera.rtsp_url,
        "sealed_credential": camera.sealed,
        "credential_version": camera.credential_version,
        "enabled": camera.enabled,
        "do_not_process": camera.do_not_process,
    }


async def _known(connection: AsyncConnection, once: Once | None) -> Repeated | None:
    if once is None:
        return None
    found = await connection.execute(_KNOWN, {"subject": once.subject, "once_key": once.key})
    row = found.one_or_none()
    return None if row is None else Repeated(camera_id=row.camera_uuid, made_at=row.made_at, digest=row.digest)


async def _remembered(tx: AsyncConnection, camera: Camera, once: Once | None) -> bool:
    """Whether this creation is the first of its name, or has none."""
    if once is None:
        return True
    name = {"subject": once.subject, "once_key": once.key, "digest": once.digest}
    made = {"camera_uuid": camera.camera_id, "made_at": camera.updated_at}
    return (await tx.execute(_REMEMBER, {**name, **made})).one_or_none() is not None
