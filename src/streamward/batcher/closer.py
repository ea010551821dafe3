"""The closer: seals what is due, writes it down, and only then lets the index forget it.

    due ─seal→ in hand ─close: batch, claims, outbox, one transaction→ written ─forget→ what it left is added again

Guaranteed: what is in hand and could not be closed stays there and is tried again; if we die, whoever looks for due
batches adopts it after its closing time. A batch that others close at the same moment is written once.
"""

import asyncio
from collections.abc import Callable, Sequence

from streamward.batcher.adding import Adder
from streamward.batcher.facts import BatchClosed
from streamward.batcher.in_hand import InHand
from streamward.batcher.parts import Parts
from streamward.insight.batch import Limits, Sealed
from streamward.insight.store import Closed
from streamward.model.ids import TenantId
from streamward.runtime import failpoints

SEALED = failpoints.declare("batch.after-seal")
CLOSED = failpoints.declare("batch.after-close")
FORGOTTEN = failpoints.declare("batch.after-forget")

CHECK_EVERY = 0.5  # seconds (S2-10)
AT_ONCE = 8  # transactions under way, and tenants that are asked about
MOST_SEALED = 200  # of one tenant at a time
ASK_WITHIN = 5.0  # seconds after which a tenant is asked about again that had nothing due before


class Closer:
    """A service runs its ticks."""

    def __init__(
        self,
        parts: Parts,
        *,
        in_hand: InHand,
        adder: Adder,
        on_closed: Callable[[Sealed], None],
        check_every: float = CHECK_EVERY,
    ) -> None:
        self._parts = parts
        self._in_hand = in_hand
        self._adder = adder
        self._on_closed = on_closed
        self._check_every = check_every
        self._again_at: dict[TenantId, float] = {}  # boot-time at which a tenant is asked about again

    async def tick(self) -> float:
        """Closes what others sealed and what is due; raises StoreUnavailable, IndexAway."""
        began = self._parts.clock.boot()
        await self.close_in_hand()
        rules, boot = await self._parts.rules.every(), self._parts.clock.boot()
        tenants = [each for each in rules if self._again_at.get(each, boot) <= boot]
        is_more = False
        for first in range(0, len(tenants), AT_ONCE):
            asked = tenants[first : first + AT_ONCE]
            is_more |= any(await asyncio.gather(*(self._seal(each, rules[each].limits) for each in asked)))
            await self.close_in_hand()
        return 0.0 if is_more else max(0.0, began + self._check_every - self._parts.clock.boot())

    async def close_in_hand(self) -> None:
        """Writes down what is sealed."""
        batches = self._in_hand.every()
        for first in range(0, len(batches), AT_ONCE):
            await self._close(batches[first : first + AT_ONCE])

    async def _seal(self, tenant_id: TenantId, limits: Limits) -> bool:
        """Returns whether there may be more."""
        now, boot = await self._parts.time.now(), self._parts.clock.boot()
        sealed = await self._parts.index.seal_due(tenant_id, now=now, limit=MOST_SEALED)
        self._in_hand.put(sealed)
        if sealed:
            failpoints.reach(SEALED)
        if len(sealed) == MOST_SEALED:
            return True
        due_at = await self._parts.index.next_due(tenant_id)
        wait = min(ASK_WITHIN, limits.idle, limits.window)  # others may open one meanwhile
        self._again_at[tenant_id] = boot + (wait if due_at is None else min(wait, (due_at - now).total_seconds()))
        return False

    async def _close(self, batches: Sequence[Sealed]) -> None:
        """In this order: what is forgotten before it is written is lost; what is added before, stays where it was."""
        closed = await asyncio.gather(*map(self._write, batches))
        by_tenant: dict[TenantId, list[Sealed]] = {}
        for batch in batches:
            by_tenant.setdefault(TenantId(batch.tenant_id), []).append(batch)
        for tenant_id, its in by_tenant.items():
            await self._parts.index.forget(tenant_id, its)
        failpoints.reach(FORGOTTEN)
        left = [loose for each in closed for loose in each.left]
        if left:
            await self._adder.add(left, now=await self._parts.time.now())
        self._in_hand.drop(batches)

    async def _write(self, batch: Sealed) -> Closed:
        closed = await self._parts.insight.batches.close_batch(batch)
        failpoints.reach(CLOSED)
        if closed.is_new:
            self._tell(closed.batch)
        return closed

    def _tell(self, batch: Sealed) -> None:
        self._parts.journal.record(
            BatchClosed(
                batch_id=batch.batch_id,
                tenant_id=batch.tenant_id,
                camera_id=batch.camera_id,
                detections=len(batch.detection_ids),
                reason=batch.reason,
            )
        )
        self._on_closed(batch)
