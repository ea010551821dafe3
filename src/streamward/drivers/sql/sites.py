"""Sites of a fleet that is made up, in SQL, each with its tenant and its dial budget."""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

import secrets

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.edit_statements import BUDGETED, RecordStatements, row_of
from streamward.drivers.sql.statement import statement
from streamward.model.camera import Site
from streamward.model.tenant import tenant_key


class SqlSites:
    """The part of the camera port that is about sites, on a `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        now = f"({database.dialect.now})"
        self._site_sql = statement(
            "INSERT INTO sites AS s (site_id, tenant_id, policy, address_policy, updated_at)"
            f" VALUES (:site_id, :tenant_id, :policy, :address_policy, {now})"
            " ON CONFLICT (site_id) DO UPDATE SET tenant_id = excluded.tenant_id, policy = excluded.policy,"
            " address_policy = excluded.address_policy, updated_at = excluded.updated_at, revision = s.revision + 1"
        )
        self._tenant_sql = statement(
            "INSERT INTO tenants (tenant_id, tenant_key, name, updated_at)"
            f" VALUES (:tenant_id, :tenant_key, '', {now}) ON CONFLICT DO NOTHING"
        )
        self._budget_sql = RecordStatements(database.dialect).budget

    async def save_site(self, site: Site) -> None:
        row = row_of(site)
        moment = self._db.moment()
        described = {name: row[name] for name in ("site_id", "tenant_id", "policy", "address_policy")}
        budget = self._db.dialect.pack(BUDGETED, [[row[name] for name in BUDGETED]])
        async with self._db.transaction() as tx:
            fresh = {"tenant_id": site.tenant_id, "tenant_key": tenant_key(secrets.token_hex(16))}
            await tx.execute(self._tenant_sql, {**fresh, **moment})
            await tx.execute(self._site_sql, {**described, **moment})
            await tx.execute(self._budget_sql, {**budget, **moment})
