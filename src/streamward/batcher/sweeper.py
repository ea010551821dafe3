"""The sweeper: what is stored and in no batch long after it came is added to the index again.

    age of a detection without a batch:   0 … fresh: whoever stored it is just adding it
                                          … open: it is in a batch that can still grow
                                          longest window + idle time + margin … : the index lost it, or a batcher died

When the index may have lost everything (it is memory and we began; Redis began anew) nothing is waited for: whatever
was stored before that is added, as soon as nobody can be just adding it. Adding again what is there changes nothing.
"""

from datetime import datetime, timedelta

from streamward.batcher.adding import Adder
from streamward.batcher.facts import DetectionsAddedAgain
from streamward.batcher.parts import Parts
from streamward.runtime import failpoints

SWEPT = failpoints.declare("batch.after-sweep")

SWEEP_EVERY = 15.0  # seconds
FRESH = timedelta(seconds=5)  # whoever stored it is adding it
MARGIN = timedelta(seconds=30)  # after the end of the longest batch: it is being closed
PAGE = 1000


class Sweeper:
    """A service runs its ticks."""

    def __init__(self, parts: Parts, adder: Adder) -> None:
        self._parts = parts
        self._adder = adder
        self._began: str | None = None
        self._lost_at: datetime | None = None  # what was stored before then may be in no batch

    async def tick(self) -> float:
        """Adds what is in no batch; raises StoreUnavailable, IndexAway."""
        began, now = await self._parts.index.began(), await self._parts.time.now()
        if began != self._began:
            self._began, self._lost_at = began, now
        if self._lost_at is None:
            if found := await self._sweep(now - await self._longest() - MARGIN):
                self._parts.journal.record(DetectionsAddedAgain(count=found))
            return SWEEP_EVERY
        await self._sweep(min(self._lost_at, now - FRESH))
        if now - FRESH < self._lost_at:
            return FRESH.total_seconds()
        self._lost_at = None
        return SWEEP_EVERY

    async def _sweep(self, before: datetime) -> int:
        after = found = 0
        while page := await self._parts.insight.detections.loose(stored_before=before, after=after, limit=PAGE):
            await self._adder.add(page, now=await self._parts.time.now())
            failpoints.reach(SWEPT)
            after, found = page[-1].stored.detection_id, found + len(page)
        return found

    async def _longest(self) -> timedelta:
        """How long a detection can be in a batch that grows."""
        rules = self._parts.rules
        limits = [each.limits for each in (rules.otherwise, *(await rules.every()).values())]
        return timedelta(seconds=max(each.window + each.idle for each in limits))
