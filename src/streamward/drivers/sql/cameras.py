"""Cameras and sites in SQL; a camera's lease row follows it by triggers."""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.rows import camera_of, policy_of
from streamward.drivers.sql.statement import CAMERA, statement
from streamward.leases.store import CameraFilter
from streamward.model.camera import Camera, Site
from streamward.model.ids import CameraId, SiteId, TenantId

_IN_SCOPE = "(CAST(:scope AS text) IS NULL OR {}.tenant_id = :scope)"
_PAGE = statement(
    f"SELECT {CAMERA.columns} FROM cameras AS c WHERE {_IN_SCOPE.format('c')}"
    " AND c.tenant_id = coalesce(:tenant_id, c.tenant_id) AND c.site_id = coalesce(:site_id, c.site_id)"
    " AND c.enabled = coalesce(:enabled, c.enabled) AND c.camera_uuid > coalesce(:after, '')"
    " ORDER BY c.camera_uuid LIMIT :limit",
    CAMERA,
)
_FIND = statement(
    f"SELECT {CAMERA.columns} FROM cameras AS c WHERE c.camera_uuid = :camera_uuid AND {_IN_SCOPE.format('c')}", CAMERA
)
_REMOVE = statement(
    f"DELETE FROM cameras WHERE camera_uuid = :camera_uuid AND {_IN_SCOPE.format('cameras')} RETURNING camera_uuid",
    returns="camera_uuid",
)
_SAVE_SITE = statement(
    "INSERT INTO sites (site_id, tenant_id, policy) VALUES (:site_id, :tenant_id, :policy)"
    " ON CONFLICT (site_id) DO UPDATE SET tenant_id = excluded.tenant_id, policy = excluded.policy"
)
_FIND_SITE = statement(
    f"SELECT tenant_id, policy FROM sites WHERE site_id = :site_id AND {_IN_SCOPE.format('sites')}",
    returns="tenant_id policy",
)


class SqlCameras:
    """The camera port on a `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        now = f"({database.dialect.now})"
        self._save = statement(
            "INSERT INTO cameras (camera_uuid, tenant_id, site_id, rtsp_url, enabled, do_not_process, updated_at)"
            f" VALUES (:camera_uuid, :tenant_id, :site_id, :rtsp_url, :enabled, :do_not_process, {now})"
            " ON CONFLICT (camera_uuid) DO UPDATE SET tenant_id = excluded.tenant_id, site_id = excluded.site_id,"
            " rtsp_url = excluded.rtsp_url, enabled = excluded.enabled, do_not_process = excluded.do_not_process,"
            " updated_at = excluded.updated_at"
        )
        self._save_budget = statement(
            "INSERT INTO site_start_budget"
            " (site_id, tokens, capacity, refill_rate, reserve, reserve_size, updated_at)"
            f" VALUES (:site_id, :capacity, :capacity, :refill_rate, 0, 0, {now})"
            " ON CONFLICT (site_id) DO UPDATE SET capacity = excluded.capacity, refill_rate = excluded.refill_rate"
        )

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
        params = {
            "camera_uuid": camera.camera_id,
            "tenant_id": camera.tenant_id,
            "site_id": camera.site_id,
            "rtsp_url": camera.rtsp_url,
            "enabled": camera.enabled,
            "do_not_process": camera.do_not_process,
        }
        async with self._db.single() as connection:
            await connection.execute(self._save, {**params, **self._db.moment()})
        self._db.ring()

    async def remove_camera(self, camera_id: CameraId, *, scope: TenantId | None) -> bool:
        async with self._db.single() as connection:
            removed = (await connection.execute(_REMOVE, {"camera_uuid": camera_id, "scope": scope})).all()
        if removed:
            self._db.ring()
        return bool(removed)

    async def save_site(self, site: Site, *, capacity: int, per_minute: float) -> None:
        async with self._db.transaction() as tx:
            await tx.execute(_SAVE_SITE, {"site_id": site.site_id, "tenant_id": site.tenant_id, "policy": site.policy})
            budget = {"site_id": site.site_id, "capacity": capacity, "refill_rate": per_minute}
            await tx.execute(self._save_budget, {**budget, **self._db.moment()})

    async def find_site(self, site_id: SiteId, *, scope: TenantId | None) -> Site | None:
        async with self._db.single() as connection:
            row = (await connection.execute(_FIND_SITE, {"site_id": site_id, "scope": scope})).one_or_none()
        return None if row is None else Site(site_id=site_id, tenant_id=row.tenant_id, policy=policy_of(row.policy))
