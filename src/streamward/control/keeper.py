"""The reclaim keeper: marks what expired, and takes what its owner will not come back for.

Runs in every control plane; each step is one idempotent conditional statement, so there is no leader.
"""

from typing import Protocol

from streamward.leases import facts, reclaim
from streamward.leases.store import LeaseStore, RunnerStore
from streamward.runtime.journal import Journal

SCAN_EVERY = 1.0  # seconds at most between two looks


class KeeperStore(LeaseStore, RunnerStore, Protocol):
    """The two ports that the keeper needs."""


class ReclaimKeeper:
    """Keeps the store's marks true to its clock."""

    def __init__(self, store: KeeperStore, journal: Journal) -> None:
        self._store = store
        self._journal = journal

    async def tick(self) -> float:
        """One look; returns in how many seconds to look again."""
        lapse = await self._store.lapse()
        if lapse.clock_jumped:
            self._journal.record(facts.DatabaseClockJumped())
        for camera_id in lapse.orphaned:
            self._journal.record(facts.LeaseOrphaned(camera_id=camera_id))
        orphans = await self._store.orphans()
        loads = {
            site_id: await self._store.site_load(site_id) for site_id in sorted({each.site_id for each in orphans})
        }
        for action in reclaim.plan(orphans, loads):
            if await self._store.reclaim(action.camera_id, action.generation):
                self._journal.record(
                    facts.LeaseReclaimed(camera_id=action.camera_id, generation=action.generation, hard=action.hard)
                )
        return _rest(lapse.next_expiry_in)


def _rest(next_expiry_in: float | None) -> float:
    """Until the next lease can expire; one that has, but may not be judged yet, is worth no hurry."""
    if next_expiry_in is None or next_expiry_in <= 0:
        return SCAN_EVERY
    return min(SCAN_EVERY, next_expiry_in + 0.001)
