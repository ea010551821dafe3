"""The pruner: forgets batches, detections, analyses and zone events after their tenant's time, and old broadcasts."""

from streamward.batcher.parts import Parts

PRUNE_EVERY = 60.0  # seconds, when nothing is left to forget
SOME = 500  # batches at a time: nobody should wait for a long delete
SOME_CROSSED = 5_000  # zone events at a time
SOME_TOLD = 20_000  # broadcasts at a time: there is one of each detection
BROADCASTS_KEPT = 3600.0  # seconds in which a listener can come back and miss nothing


class Pruner:
    """A service runs its ticks."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def tick(self) -> float:
        """Forgets some of what has had its time; raises StoreUnavailable."""
        kept = {tenant_id: rules.detections_kept for tenant_id, rules in (await self._parts.rules.every()).items()}
        otherwise = self._parts.rules.otherwise.detections_kept
        insight = self._parts.insight
        gone = await insight.records.prune(kept, otherwise=otherwise, limit=SOME)
        crossed = await insight.zone_events.prune(kept, otherwise=otherwise, limit=SOME_CROSSED)
        told = await insight.broadcasts.prune(kept=BROADCASTS_KEPT, limit=SOME_TOLD)
        return PRUNE_EVERY if gone < SOME and crossed < SOME_CROSSED and told < SOME_TOLD else 1.0
