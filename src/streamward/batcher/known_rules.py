"""What tenants want of batching, read again every few seconds and whenever a tenant is new."""

from collections.abc import Collection

from streamward.insight.rules import Rules
from streamward.insight.store import RuleBook
from streamward.model.ids import TenantId
from streamward.runtime.clock import Clock

READ_EVERY = 5.0  # seconds


class KnownRules:
    """The rules as they were read last; a tenant of whom only detections are known has the installation's."""

    def __init__(self, book: RuleBook, *, otherwise: Rules, clock: Clock) -> None:
        self.otherwise = otherwise
        self._book = book
        self._clock = clock
        self._known: dict[TenantId, Rules] = {}
        self._keys: dict[TenantId, str] = {}
        self._met: set[TenantId] = set()  # of whom there were detections
        self._read_at: float | None = None  # boot-time

    async def every(self) -> dict[TenantId, Rules]:
        """Of every tenant that there is or was met; raises StoreUnavailable."""
        if self._read_at is None or self._clock.boot() - self._read_at >= READ_EVERY:
            await self._read()
        return self._known

    async def of(self, tenant_id: TenantId) -> Rules:
        """Of one tenant, also one that was made a moment ago."""
        known = await self.every()
        if tenant_id not in known:
            self._met.add(tenant_id)
            await self._read()
        return self._known[tenant_id]

    async def key_of(self, tenant_id: TenantId) -> str | None:
        """The tenant's internal id, as it was read last; None: there is no such tenant.

        To be asked for before what happened to the tenant is stored: if the name goes to another tenant meanwhile, the
        id is the one of the tenant that it happened to.
        """
        await self.of(tenant_id)
        return self._keys.get(tenant_id)

    async def unknown(self, tenant_ids: Collection[TenantId]) -> set[TenantId]:
        """Which of these are no tenants now; raises StoreUnavailable."""
        await self.every()
        if any(each not in self._keys for each in tenant_ids):
            await self._read()
        return {each for each in tenant_ids if each not in self._keys}

    async def _read(self) -> None:
        self._keys = await self._book.tenant_keys()
        self._known = dict.fromkeys(self._met, self.otherwise) | await self._book.rules()
        self._read_at = self._clock.boot()
