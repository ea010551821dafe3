"""Carries the deletion of tenants on: their rows are deleted a part at a time until none is left.

Every control plane does this. They take turns by the record of the deletion, which is locked while a part is deleted;
one that was frozen meanwhile finds it done. A batcher deletes what is not in the database.
"""

from dataclasses import dataclass

from streamward.model.ids import TenantId
from streamward.model.tenant import TenantDeletion, TenantDeletions
from streamward.runtime.journal import Journal

LOOK_EVERY = 1.0  # seconds
PAUSE = 0.02  # seconds between two parts: others write meanwhile
PART = 500  # rows of one transaction: other writers wait for that long at most


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantDataDeleted:
    """Nothing is left of a tenant that was deleted, and its name can be used again."""

    tenant_id: TenantId
    tenant_key: str
    rows: int


class TenantPurger:
    """A service runs its ticks."""

    def __init__(self, store: TenantDeletions, journal: Journal, *, part: int = PART) -> None:
        self._store = store
        self._journal = journal
        self._part = part

    async def tick(self) -> float:
        """Deletes a part of what every deleted tenant had; raises StoreUnavailable."""
        is_busy = [await self._carry_on(each) for each in await self._store.deletions()]
        return PAUSE if any(is_busy) else LOOK_EVERY

    async def _carry_on(self, deletion: TenantDeletion) -> bool:
        """Returns whether more rows may be left."""
        if deletion.rows_deleted_at is None and await self._store.delete_rows(deletion, limit=self._part):
            return True
        now = await self._store.advance(deletion)
        if now.finished_at is not None:
            rows = sum(now.removed.values())
            self._journal.record(TenantDataDeleted(tenant_id=now.tenant_id, tenant_key=now.tenant_key, rows=rows))
        return False
