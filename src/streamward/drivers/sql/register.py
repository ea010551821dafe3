"""Tenants, sites, the audit and the announcements in SQL."""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from collections.abc import Sequence

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.rows import announcement_of, audit_row_of, site_of, tenant_of
from streamward.drivers.sql.statement import ANNOUNCEMENT, AUDIT, IN_SCOPE, SITE, TENANT, statement
from streamward.model.announcement import Announcement
from streamward.model.camera import DEFAULT_DIALS, DEFAULT_DIALS_PER_MINUTE, Site
from streamward.model.ids import SiteId, TenantId
from streamward.model.register import AuditFilter, AuditRow, Page
from streamward.model.tenant import Tenant

_SITES = (
    f"(SELECT t.*, coalesce(b.capacity, {DEFAULT_DIALS}) AS capacity,"
    f" coalesce(b.refill_rate, {DEFAULT_DIALS_PER_MINUTE}) AS refill_rate"
    " FROM sites AS t LEFT JOIN site_start_budget AS b ON b.site_id = t.site_id) AS s"
)
_FIND_SITE = statement(
    f"SELECT {SITE.columns} FROM {_SITES} WHERE s.site_id = :site_id AND {IN_SCOPE.format('s')}", SITE
)
_LIST_SITES = statement(
    f"SELECT {SITE.columns} FROM {_SITES} WHERE {IN_SCOPE.format('s')} AND s.site_id > coalesce(:after, '')"
    " ORDER BY s.site_id LIMIT :limit",
    SITE,
)
_FIND_TENANT = statement(
    f"SELECT {TENANT.columns} FROM tenants AS e WHERE e.tenant_id = :tenant_id AND {IN_SCOPE.format('e')}", TENANT
)
_LIST_TENANTS = statement(
    f"SELECT {TENANT.columns} FROM tenants AS e WHERE {IN_SCOPE.format('e')} AND e.tenant_id > coalesce(:after, '')"
    " ORDER BY e.tenant_id LIMIT :limit",
    TENANT,
)
_AUDIT = statement(
    f"SELECT {AUDIT.columns} FROM audit AS a WHERE {IN_SCOPE.format('a')}"
    " AND (CAST(:tenant_id AS text) IS NULL OR a.tenant_id = :tenant_id)"
    " AND a.object_id = coalesce(:object_id, a.object_id) AND a.subject = coalesce(:subject, a.subject)"
    " AND a.action = coalesce(:action, a.action) AND a.at >= coalesce(:since, a.at)"
    " AND a.position < coalesce(:position, 9223372036854775807) ORDER BY a.position DESC LIMIT :limit",
    AUDIT,
)
_PENDING = statement(
    f"SELECT {ANNOUNCEMENT.columns} FROM outbox AS o WHERE o.published_at IS NULL ORDER BY o.position LIMIT :limit",
    ANNOUNCEMENT,
)
_ANNOUNCED = statement(
    f"SELECT {ANNOUNCEMENT.columns} FROM outbox AS o WHERE {IN_SCOPE.format('o')} AND o.position > :position"
    " ORDER BY o.position LIMIT :limit",
    ANNOUNCEMENT,
)
_NEWEST = statement("SELECT coalesce(max(position), 0) AS position FROM outbox", returns="position")


class SqlRegister:
    """The reading half of the register, and the outbox, on a `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._publish_sql = statement(
            f"UPDATE outbox SET published_at = ({database.dialect.now})"
            f" WHERE position IN (SELECT n.position FROM {database.dialect.listed('position')})"
        )

    async def find_tenant(self, tenant_id: TenantId, *, scope: TenantId | None) -> Tenant | None:
        async with self._db.single() as connection:
            row = (await connection.execute(_FIND_TENANT, {"tenant_id": tenant_id, "scope": scope})).one_or_none()
        return None if row is None else tenant_of(row)

    async def tenants(self, page: Page) -> list[Tenant]:
        async with self._db.single() as connection:
            return [tenant_of(row) for row in (await connection.execute(_LIST_TENANTS, paged(page))).all()]

    async def find_site(self, site_id: SiteId, *, scope: TenantId | None) -> Site | None:
        async with self._db.single() as connection:
            row = (await connection.execute(_FIND_SITE, {"site_id": site_id, "scope": scope})).one_or_none()
        return None if row is None else site_of(row)

    async def sites(self, page: Page) -> list[Site]:
        async with self._db.single() as connection:
            return [site_of(row) for row in (await connection.execute(_LIST_SITES, paged(page))).all()]

    async def audit(self, wanted: AuditFilter) -> list[AuditRow]:
        params = {
            "scope": wanted.scope,
            "tenant_id": wanted.tenant_id,
            "object_id": wanted.object_id,
            "subject": wanted.subject,
            "action": wanted.action,
            "since": wanted.since,
            "position": wanted.before,
            "limit": wanted.limit,
        }
        async with self._db.single() as connection:
            return [audit_row_of(row) for row in (await connection.execute(_AUDIT, params)).all()]

    async def pending(self, *, limit: int) -> list[Announcement]:
        async with self._db.single() as connection:
            return [announcement_of(row) for row in (await connection.execute(_PENDING, {"limit": limit})).all()]

    async def published(self, positions: Sequence[int]) -> None:
        listed = self._db.dialect.pack(("position",), [(position,) for position in positions])
        async with self._db.single() as connection:
            await connection.execute(self._publish_sql, {**listed, **self._db.moment()})

    async def announced(self, *, scope: TenantId | None, after: int, limit: int) -> list[Announcement]:
        params = {"scope": scope, "position": after, "limit": limit}
        async with self._db.single() as connection:
            return [announcement_of(row) for row in (await connection.execute(_ANNOUNCED, params)).all()]

    async def newest(self) -> int:
        async with self._db.single() as connection:
            position: int = (await connection.execute(_NEWEST)).scalar_one()
        return position


def paged(page: Page) -> dict[str, object]:
    """A page as parameters."""
    return {"scope": page.scope, "after": page.after, "limit": page.limit}
