"""Sites in SQL, each with its dial budget."""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from typing import Any

from sqlalchemy import Executable

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.dialect import SqlDialect
from streamward.drivers.sql.rows import addresses_text, site_of
from streamward.drivers.sql.statement import IN_SCOPE, SITE, statement
from streamward.model.camera import Site
from streamward.model.ids import SiteId, TenantId

_FIND = statement(f"SELECT {SITE.columns} FROM sites AS s WHERE s.site_id = :site_id AND {IN_SCOPE.format('s')}", SITE)


class SiteStatements:
    """The statements that tell the time, or what they changed."""

    def __init__(self, dialect: SqlDialect) -> None:
        site = dialect.returning("s", *SITE.names)
        insert = (
            "INSERT INTO sites AS s (site_id, tenant_id, policy, address_policy)"
            " VALUES (:site_id, :tenant_id, :policy, :address_policy)"
        )
        self.save = statement(
            f"{insert} ON CONFLICT (site_id) DO UPDATE SET tenant_id = excluded.tenant_id, policy = excluded.policy,"
            f" address_policy = excluded.address_policy, revision = s.revision + 1 {site}",
            SITE,
        )
        self.add = statement(f"{insert} ON CONFLICT DO NOTHING {site}", SITE)
        self.change = statement(
            "UPDATE sites AS s SET policy = :policy, address_policy = :address_policy, revision = s.revision + 1"
            f" WHERE s.site_id = :site_id AND s.tenant_id = :tenant_id AND s.revision = :revision {site}",
            SITE,
        )
        self.save_budget = statement(
            "INSERT INTO site_start_budget"
            " (site_id, tokens, capacity, refill_rate, reserve, reserve_size, updated_at)"
            f" VALUES (:site_id, :capacity, :capacity, :refill_rate, 0, 0, ({dialect.now}))"
            " ON CONFLICT (site_id) DO UPDATE SET capacity = excluded.capacity, refill_rate = excluded.refill_rate"
        )


class SqlSites:
    """The site port on a `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._site_sql = SiteStatements(database.dialect)

    async def find_site(self, site_id: SiteId, *, scope: TenantId | None) -> Site | None:
        async with self._db.single() as connection:
            row = (await connection.execute(_FIND, {"site_id": site_id, "scope": scope})).one_or_none()
        return None if row is None else site_of(row)

    async def save_site(self, site: Site, *, capacity: int, per_minute: float) -> None:
        await self._write(self._site_sql.save, site, capacity=capacity, per_minute=per_minute)

    async def add_site(self, site: Site, *, capacity: int, per_minute: float) -> Site | None:
        return await self._write(self._site_sql.add, site, capacity=capacity, per_minute=per_minute)

    async def change_site(self, site: Site, *, capacity: int, per_minute: float) -> Site | None:
        return await self._write(self._site_sql.change, site, capacity=capacity, per_minute=per_minute)

    async def _write(self, change: Executable, site: Site, *, capacity: int, per_minute: float) -> Site | None:
        async with self._db.transaction() as tx:
            row = (await tx.execute(change, _row(site))).one_or_none()
            if row is None:
                return None
            budget = {"site_id": site.site_id, "capacity": capacity, "refill_rate": per_minute}
            await tx.execute(self._site_sql.save_budget, {**budget, **self._db.moment()})
            return site_of(row)


def _row(site: Site) -> dict[str, Any]:
    return {
        "site_id": site.site_id,
        "tenant_id": site.tenant_id,
        "policy": site.policy,
        "address_policy": addresses_text(site.addresses),
        "revision": site.revision,
    }
