"""The pruner: removes batches, detections, analyses and zone events after their tenant's time, and old broadcasts.

An embedded database also has a size limit. Above it the oldest batches of all tenants are removed before their time,
with everything that is as old, some at each tick, until the database is within the limit again.
"""

import math

from streamward.batcher.facts import RetentionShortened
from streamward.batcher.parts import Parts

PRUNE_EVERY = 60.0  # seconds, when nothing is left to remove
SOME = 500  # batches at a time: no other transaction should wait for a long delete
SOME_OVER_SIZE = 100  # the same, of a database above its limit
SOME_CROSSED = 5_000  # zone events at a time
SOME_TOLD = 20_000  # broadcasts at a time: there is one of each detection
BROADCASTS_KEPT = 3600.0  # seconds in which a listener can come back and miss nothing
REPORT_EVERY = 3600.0  # seconds in which a shortened retention is recorded once


class Pruner:
    """A service runs its ticks."""

    def __init__(self, parts: Parts, *, max_bytes: int | None = None) -> None:
        self._parts = parts
        self._max_bytes = max_bytes
        self._reported_at = -math.inf  # boot-time

    async def tick(self) -> float:
        """Removes some of what has had its time; raises StoreUnavailable."""
        insight = self._parts.insight
        longest = await self._longest()
        kept = {
            tenant_id: min(rules.detections_kept, longest)
            for tenant_id, rules in (await self._parts.rules.every()).items()
        }
        otherwise = min(self._parts.rules.otherwise.detections_kept, longest)
        gone = await insight.records.prune(kept, otherwise=otherwise, limit=SOME)
        crossed = await insight.zone_events.prune(kept, otherwise=otherwise, limit=SOME_CROSSED)
        told = await insight.broadcasts.prune(kept=min(BROADCASTS_KEPT, longest), limit=SOME_TOLD)
        is_done = math.isinf(longest) and gone < SOME and crossed < SOME_CROSSED and told < SOME_TOLD
        return PRUNE_EVERY if is_done else 1.0

    async def _longest(self) -> float:
        """Seconds for which the size allows anything to stay: no limit, or the age of the batches to remove next."""
        used = await self._parts.insight.records.size()
        if used is None or self._max_bytes is None or used <= self._max_bytes:
            return math.inf
        age = await self._parts.insight.records.age(batches=SOME_OVER_SIZE)
        if age is None:
            return math.inf
        now = self._parts.clock.boot()
        if now - self._reported_at >= REPORT_EVERY:
            self._reported_at = now
            self._parts.journal.record(RetentionShortened(used_bytes=used, max_bytes=self._max_bytes, kept_s=age))
        return age
