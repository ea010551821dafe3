"""The herald: writes down what whoever listens is told, beside the detections and not with them.

Guaranteed: a broadcast that fails fails no detection, and nobody waits for one. Not guaranteed: that all is told. What
waits is bounded: while the database is away, what does not fit is left out. What happened to a tenant that was deleted
meanwhile is left out too, whatever has its name by now.
"""

import asyncio
from collections.abc import Callable

from streamward.batcher.facts import BroadcastsDropped
from streamward.insight.broadcasts import Broadcasts
from streamward.model.ids import TenantId
from streamward.protocol import codec
from streamward.protocol.batches import DetectionBatch, DetectionNew, Kind, ZoneEventNew
from streamward.runtime.journal import Journal

MOST_WAITING = 20_000  # broadcasts
AT_ONCE = 1000
LINGER = 0.1  # seconds for what comes right after the first
LOOK_EVERY = 60.0  # seconds, unless something is told

Body = DetectionNew | DetectionBatch | ZoneEventNew


class Herald:
    """What waits to be written; a service runs its ticks."""

    def __init__(self, broadcasts: Broadcasts, *, journal: Journal) -> None:
        self.ring: Callable[[], None] = lambda: None  # called when there is something
        self._broadcasts = broadcasts
        self._journal = journal
        self._waiting: dict[tuple[TenantId, str, Kind], list[Body]] = {}  # by tenant, its internal id, and kind
        self._count = 0
        self._dropped = 0

    def tell(self, tenant_id: TenantId, kind: Kind, body: Body, *, tenant_key: str | None) -> None:
        """Hands over what others should hear; without an internal id there is no tenant that could."""
        if tenant_key is None:
            return
        if self._count >= MOST_WAITING:
            self._dropped += 1
            return
        self._count += 1
        self._waiting.setdefault((tenant_id, tenant_key, kind), []).append(body)
        self.ring()

    async def tick(self) -> float:
        """Writes what waits, together what is alike; raises StoreUnavailable, and then it waits on."""
        if 0 < self._count < AT_ONCE:
            await asyncio.sleep(LINGER)
        await self.write()
        if self._dropped:
            self._journal.record(BroadcastsDropped(count=self._dropped))
            self._dropped = 0
        return LOOK_EVERY

    async def write(self) -> None:
        """Leaves nothing that waits."""
        while self._waiting:
            named, bodies = next(iter(self._waiting.items()))
            tenant_id, tenant_key, kind = named
            some = [codec.encode(body).decode() for body in bodies[:AT_ONCE]]
            await self._broadcasts.append(tenant_id, kind, some, tenant_key=tenant_key)
            del bodies[: len(some)]
            self._count -= len(some)
            if not bodies:
                del self._waiting[named]
