"""Every port on one database."""

from datetime import datetime

from streamward.drivers.sql.cameras import SqlCameras
from streamward.drivers.sql.database import Database, unavailable_on_failure
from streamward.drivers.sql.dials import SqlDials
from streamward.drivers.sql.handovers import SqlHandovers
from streamward.drivers.sql.identities import SqlIdentities
from streamward.drivers.sql.listener import Listener
from streamward.drivers.sql.logins import SqlLogins
from streamward.drivers.sql.migrate import is_newest, migrate
from streamward.drivers.sql.records import SqlLeaseRecords
from streamward.drivers.sql.register import SqlRegister
from streamward.drivers.sql.runners import SqlRunners
from streamward.drivers.sql.sites import SqlSites
from streamward.drivers.sql.statement import statement
from streamward.drivers.sql.statuses import SqlStatuses
from streamward.drivers.sql.tenant_deletions import SqlTenantDeletions
from streamward.leases.policy import BY_NAME, Policies
from streamward.leases.store import KeyKind
from streamward.runtime.bell import Bell
from streamward.runtime.clock import Clock

_INSERT_KEY = "INSERT INTO installation_keys (kind, key_id) VALUES (:kind, :key_id) ON CONFLICT (kind)"
_RECORD_FIRST = statement(f"{_INSERT_KEY} DO NOTHING")
_RECORD_KEY = statement(f"{_INSERT_KEY} DO UPDATE SET key_id = excluded.key_id")
_FIND_KEY = statement("SELECT key_id FROM installation_keys WHERE kind = :kind", returns="key_id")


class SqlStore(
    SqlHandovers,
    SqlLeaseRecords,
    SqlRunners,
    SqlCameras,
    SqlSites,
    SqlDials,
    SqlLogins,
    SqlStatuses,
    SqlRegister,
    SqlTenantDeletions,
    SqlIdentities,
):
    """One control plane's way into `postgresql://…` or `sqlite:///…`."""

    def __init__(self, url: str, *, clock: Clock, bell: Bell, policies: Policies = BY_NAME) -> None:
        self.database = database = Database(url, clock=clock, bell=bell, policies=policies)
        for part in SqlStore.__bases__:
            part.__init__(self, database)  # type: ignore[misc]  # each takes the database
        self._listener = Listener(url, clock=clock, bell=bell) if database.is_postgres else None

    async def open(self) -> None:
        async with self._db.transaction() as tx:
            is_ready = await is_newest(tx)
        if not is_ready:
            await migrate(self._db.url)
        if self._listener is not None:
            with unavailable_on_failure():
                await self._listener.start()

    async def close(self) -> None:
        if self._listener is not None:
            await self._listener.stop()
        await self._renewals.close()
        await self._releases.close()
        await self._db.engine.dispose()

    async def agree_key(self, kind: KeyKind, key_id: str) -> str:
        async with self._db.transaction() as tx:
            await tx.execute(_RECORD_FIRST, {"kind": kind, "key_id": key_id})
            return str((await tx.execute(_FIND_KEY, {"kind": kind})).one().key_id)

    async def find_key(self, kind: KeyKind) -> str | None:
        async with self._db.single() as connection:
            row = (await connection.execute(_FIND_KEY, {"kind": kind})).one_or_none()
        return None if row is None else str(row.key_id)

    async def record_key(self, kind: KeyKind, key_id: str) -> None:
        async with self._db.single() as connection:
            await connection.execute(_RECORD_KEY, {"kind": kind, "key_id": key_id})

    @property
    def statements(self) -> int:
        return self._db.tally.count

    async def ping(self) -> datetime:
        look = self._watch.look()
        async with self._db.session(is_single=True) as session:
            now = await self._db.now(session)
        self._watch.saw(look, now)
        return now
