"""Cameras in SQL; a camera's lease row follows it by triggers."""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from collections.abc import Sequence
from typing import Any

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.edit_statements import TABLES, row_of
from streamward.drivers.sql.rows import camera_of
from streamward.drivers.sql.statement import CAMERA, IN_SCOPE, statement
from streamward.leases.store import CameraFilter
from streamward.model.camera import Camera
from streamward.model.ids import CameraId, TenantId
from streamward.model.vault import Sealed

_PAGE = statement(
    f"SELECT {CAMERA.columns} FROM cameras AS c WHERE {IN_SCOPE.format('c')}"
    " AND c.tenant_id = coalesce(:tenant_id, c.tenant_id) AND c.site_id = coalesce(:site_id, c.site_id)"
    " AND c.enabled = coalesce(:enabled, c.enabled)"
    " AND (CAST(:name AS text) IS NULL OR c.name = :name) AND c.camera_uuid > coalesce(:after, '')"
    " ORDER BY c.camera_uuid LIMIT :limit",
    CAMERA,
)
_FIND = statement(
    f"SELECT {CAMERA.columns} FROM cameras AS c WHERE c.camera_uuid = :camera_uuid AND {IN_SCOPE.format('c')}", CAMERA
)
_CHUNK = 1000  # ids of one statement
_RESEAL = statement(
    "UPDATE cameras SET sealed_credential = :new WHERE camera_uuid = :camera_uuid AND sealed_credential = :old"
    " RETURNING camera_uuid",
    returns="camera_uuid",
)


class SqlCameras:
    """The camera port on a `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        table = TABLES[Camera]
        given = (*table.fixed, *table.written)
        set_to = ", ".join(f"{name} = excluded.{name}" for name in (*given, "updated_at"))
        self._save_sql = statement(
            f"INSERT INTO cameras AS c (camera_uuid, {', '.join(given)}, updated_at)"
            f" VALUES (:camera_uuid, {', '.join(f':{name}' for name in given)}, ({database.dialect.now}))"
            f" ON CONFLICT (camera_uuid) DO UPDATE SET {set_to}, revision = c.revision + 1"
        )
        self._find_many_sql = statement(
            f"SELECT {CAMERA.columns} FROM cameras AS c WHERE {IN_SCOPE.format('c')}"
            f" AND c.camera_uuid IN (SELECT n.camera_uuid FROM {database.dialect.listed('camera_uuid')})",
            CAMERA,
        )

        self._find_named_sql = statement(
            f"SELECT {CAMERA.columns} FROM cameras AS c WHERE c.tenant_id = :tenant_id"
            f" AND c.name IN (SELECT n.name FROM {database.dialect.listed('name')})",
            CAMERA,
        )

    async def page(self, wanted: CameraFilter) -> list[Camera]:
        params = {
            "scope": wanted.scope,
            "tenant_id": wanted.tenant_id,
            "site_id": wanted.site_id,
            "enabled": wanted.enabled,
            "name": wanted.name,
            "after": wanted.after,
            "limit": wanted.limit,
        }
        async with self._db.single() as connection:
            return [camera_of(row) for row in (await connection.execute(_PAGE, params)).all()]

    async def find_camera(self, camera_id: CameraId, *, scope: TenantId | None) -> Camera | None:
        async with self._db.single() as connection:
            row = (await connection.execute(_FIND, {"camera_uuid": camera_id, "scope": scope})).one_or_none()
        return None if row is None else camera_of(row)

    async def find_cameras(self, camera_ids: Sequence[CameraId], *, scope: TenantId | None) -> list[Camera]:
        found: list[Camera] = []
        for start in range(0, len(camera_ids), _CHUNK):
            part = [(camera_id,) for camera_id in camera_ids[start : start + _CHUNK]]
            params = {**self._db.dialect.pack(("camera_uuid",), part), "scope": scope}
            async with self._db.single() as connection:
                found += [camera_of(row) for row in (await connection.execute(self._find_many_sql, params)).all()]
        return found

    async def find_named_cameras(self, names: Sequence[str], *, tenant_id: TenantId) -> list[Camera]:
        found: list[Camera] = []
        for start in range(0, len(names), _CHUNK):
            part = [(name,) for name in names[start : start + _CHUNK]]
            params = {**self._db.dialect.pack(("name",), part), "tenant_id": tenant_id}
            async with self._db.single() as connection:
                found += [camera_of(row) for row in (await connection.execute(self._find_named_sql, params)).all()]
        return found

    async def save_camera(self, camera: Camera) -> None:
        async with self._db.single() as connection:
            await connection.execute(self._save_sql, {**_saved(camera), **self._db.moment()})
        self._db.ring()

    async def reseal(self, camera_id: CameraId, *, old: Sealed, new: Sealed) -> bool:
        async with self._db.single() as connection:
            changed = await connection.execute(_RESEAL, {"camera_uuid": camera_id, "old": old, "new": new})
            return changed.one_or_none() is not None


def _saved(camera: Camera) -> dict[str, Any]:
    """Its row without its state: that is the store's."""
    return {name: value for name, value in row_of(camera).items() if name not in ("updated_at", "revision")}
