"""Every port on one `MemoryDatabase`."""

from datetime import datetime

from streamward.drivers.memory.database import MemoryDatabase
from streamward.drivers.memory.fleet import MemoryCameras, MemoryRunners
from streamward.drivers.memory.handovers import MemoryHandovers
from streamward.drivers.memory.identities import MemoryIdentities
from streamward.drivers.memory.leases import MemoryLeaseRecords
from streamward.drivers.memory.logins import MemoryLogins
from streamward.drivers.memory.register import MemoryRegister
from streamward.drivers.memory.streams import MemoryDials, MemoryStatuses
from streamward.drivers.memory.tenant_deletions import MemoryTenantDeletions
from streamward.leases.policy import BY_NAME, Policies
from streamward.leases.store import KeyKind
from streamward.runtime.bell import Bell
from streamward.runtime.clock import Clock


class MemoryStore(
    MemoryHandovers,
    MemoryLeaseRecords,
    MemoryRunners,
    MemoryCameras,
    MemoryDials,
    MemoryLogins,
    MemoryStatuses,
    MemoryRegister,
    MemoryTenantDeletions,
    MemoryIdentities,
):
    """One control plane's way into a `MemoryDatabase`, which outlives it."""

    statements = 0

    def __init__(self, database: MemoryDatabase, *, clock: Clock, bell: Bell, policies: Policies = BY_NAME) -> None:
        self.database = database
        MemoryHandovers.__init__(self, database, clock=clock, bell=bell, policies=policies)
        MemoryLeaseRecords.__init__(self, database)
        MemoryRunners.__init__(self, database, bell=bell, clock_view=lambda: self._guard.view(clock.boot()))
        MemoryCameras.__init__(self, database, bell=bell)
        MemoryDials.__init__(self, database)
        MemoryLogins.__init__(self, database)
        MemoryStatuses.__init__(self, database)
        MemoryRegister.__init__(self, database)
        MemoryTenantDeletions.__init__(self, database)
        MemoryIdentities.__init__(self, database, bell=bell)

    async def open(self) -> None:
        """Nothing to open."""

    async def close(self) -> None:
        """Nothing to close."""

    async def agree_key(self, kind: KeyKind, key_id: str) -> str:
        return self.database.keys.setdefault(kind, key_id)

    async def find_key(self, kind: KeyKind) -> str | None:
        return self.database.keys.get(kind)

    async def record_key(self, kind: KeyKind, key_id: str) -> None:
        self.database.keys[kind] = key_id

    async def ping(self) -> datetime:
        now, _ = self._look()
        return now
