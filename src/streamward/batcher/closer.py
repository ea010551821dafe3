"""The closer: seals what is due, writes it down, and only then lets the index forget it.

    due ─seal→ in hand ─close: batch, claims, outbox, one transaction→ written ─forget→ what it left is added again

A window that has ended is sealed within a second: nothing that arrives could keep such a batch open. The idle time is
judged by a check every `Limits.check_every` (S2-10), at the same moments of the database's time in every batcher, so
that several of them do not check more often than one.

Guaranteed: what is in hand and could not be closed stays there and is tried again; if we die, whoever looks for due
batches adopts it after its closing time. A batch that others close at the same moment is written once.
"""

import asyncio
import math
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

LOOK_EVERY = 0.5  # seconds between two ticks: how late the end of a window is seen
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
        on_closed: Callable[[Sealed, str | None], None],
    ) -> None:
        self._parts = parts
        self._in_hand = in_hand
        self._adder = adder
        self._on_closed = on_closed
        self._checked: int | None = None  # number of the last check, counted from the epoch
        self._again_at: dict[TenantId, float] = {}  # boot-time at which a tenant is asked about again

    async def tick(self) -> float:
        """Closes what others sealed and what is due; raises StoreUnavailable, IndexAway."""
        began = self._parts.clock.boot()
        await self.close_in_hand()
        rules, boot = await self._parts.rules.every(), self._parts.clock.boot()
        every = self._parts.rules.otherwise.limits.check_every
        check = math.floor((await self._parts.time.now()).timestamp() / every)
        is_check = check != self._checked
        tenants = [each for each in rules if is_check or self._again_at.get(each, boot) <= boot]
        is_more = False
        for first in range(0, len(tenants), AT_ONCE):
            asked = tenants[first : first + AT_ONCE]
            sealing = (self._seal(each, rules[each].limits, is_check=is_check) for each in asked)
            is_more |= any(await asyncio.gather(*sealing))
            await self.close_in_hand()
        if is_more:
            return 0.0
        self._checked = check
        return max(0.0, began + min(LOOK_EVERY, every) - self._parts.clock.boot())

    async def close_in_hand(self) -> None:
        """Writes down what is sealed."""
        batches = self._in_hand.every()
        for first in range(0, len(batches), AT_ONCE):
            await self._close(batches[first : first + AT_ONCE])

    async def _seal(self, tenant_id: TenantId, limits: Limits, *, is_check: bool) -> bool:
        """Returns whether there may be more."""
        now, boot = await self._parts.time.now(), self._parts.clock.boot()
        sealed = await self._parts.index.seal_due(tenant_id, now=now, limit=MOST_SEALED, is_check=is_check)
        self._in_hand.put(sealed)
        if sealed:
            failpoints.reach(SEALED)
        if len(sealed) == MOST_SEALED:
            return True
        ends_at = await self._parts.index.next_window_end(tenant_id)
        wait = min(ASK_WITHIN, limits.window)  # others may open one meanwhile
        self._again_at[tenant_id] = boot + (wait if ends_at is None else min(wait, (ends_at - now).total_seconds()))
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
        tenant_key = await self._parts.rules.key_of(TenantId(batch.tenant_id))
        closed = await self._parts.insight.batches.close_batch(batch)
        failpoints.reach(CLOSED)
        if closed.is_new:
            self._tell(closed.batch, tenant_key)
        return closed

    def _tell(self, batch: Sealed, tenant_key: str | None) -> None:
        self._parts.journal.record(
            BatchClosed(
                batch_id=batch.batch_id,
                tenant_id=batch.tenant_id,
                camera_id=batch.camera_id,
                detections=len(batch.detection_ids),
                reason=batch.reason,
            )
        )
        self._on_closed(batch, tenant_key)
