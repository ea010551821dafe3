"""Deletes what deleted tenants have outside the database: stored payloads, open batches, dead letters.

It comes after the rows: by then the fence refuses everything of the tenant, so nothing of it is added again. What is
still on the bus is refused when it is taken from there. Any batcher may do this, and several at once.
Not guaranteed: that a batcher which is frozen meanwhile drops nothing of the next tenant of that name from the index or
the dead letters; the sweeper adds to the index again what is stored.
"""

from dataclasses import dataclass

from streamward.batcher.parts import Parts
from streamward.model.bus import Bus
from streamward.model.ids import TenantId
from streamward.model.objects import ObjectStore
from streamward.model.tenant import TenantDeletion
from streamward.model.topic import Topic
from streamward.protocol.events import DEAD

LOOK_EVERY = 2.0  # seconds
SOME = 1000  # objects at a time
TAKE_WITHIN = 1.0  # seconds for a dead letter that was counted


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadsDeleted:
    """Nothing of a deleted tenant is left in the object store, the index and the dead letters."""

    tenant_id: TenantId
    tenant_key: str
    objects: int
    dead_letters: int


class PayloadPurger:
    """A service runs its ticks."""

    def __init__(self, parts: Parts, bus: Bus, objects: ObjectStore) -> None:
        self._parts = parts
        self._bus = bus
        self._objects = objects

    async def tick(self) -> float:
        """Finishes what waits; raises StoreUnavailable, IndexAway, StoreAway, BusAway: then it is tried again."""
        deletions = self._parts.insight.deletions
        await deletions.at_work()
        for deletion in await deletions.waiting():
            await self._parts.index.drop_tenant(deletion.tenant_id)
            letters = await self._drop_dead_letters(deletion.tenant_id)
            objects = await self._delete_objects(deletion)
            await deletions.payloads_deleted(deletion)
            self._parts.journal.record(
                PayloadsDeleted(
                    tenant_id=deletion.tenant_id,
                    tenant_key=deletion.tenant_key,
                    objects=objects,
                    dead_letters=letters,
                )
            )
        return LOOK_EVERY

    async def _delete_objects(self, deletion: TenantDeletion) -> int:
        """Each part is listed before it is certain that the name is still the deleted tenant's, and deleted after."""
        deleted = 0
        while names := await self._objects.names(deletion.tenant_id, limit=SOME):
            if deletion.tenant_key not in {each.tenant_key for each in await self._parts.insight.deletions.waiting()}:
                break  # another batcher was quicker, and the name may be another tenant's
            await self._objects.delete(names)
            deleted += len(names)
        return deleted

    async def _drop_dead_letters(self, tenant_id: TenantId) -> int:
        """Looks at each that waits now: what is not the tenant's goes to the end of the queue."""
        await self._bus.declare(DEAD)
        dropped = 0
        consumer = self._bus.consume(DEAD.name, prefetch=1)
        try:
            for _ in range(await self._bus.waiting(DEAD.name)):
                taken = await consumer.take(at_most=1, within=TAKE_WITHIN)
                if not taken:
                    break  # others took some
                message = taken[0].message
                is_theirs = Topic.tenant_in(message.routing_key) == tenant_id
                if is_theirs:
                    dropped += 1
                else:
                    await self._bus.publish(message)
                await consumer.ack(taken)
        finally:
            await consumer.close()
        return dropped
