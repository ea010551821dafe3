"""Stores what was seen and puts it into open batches: the one way in, whoever brings it.

seen ─admit: fence, once, committed→ stored ─┬─ in a closed batch: nothing more to do
                                             ├─ urgent: a batch of one, over at once
                                             └─ the rest: into the open batch of its camera and lane
"""

from collections.abc import Iterable, Sequence

from streamward.batcher.adding import Adder
from streamward.batcher.facts import DetectionsStored
from streamward.batcher.herald import Herald
from streamward.batcher.parts import Parts
from streamward.insight.batch import BatchId, short
from streamward.insight.store import Admitted, Loose, Seen, Stored
from streamward.insight.urgency import Urgency
from streamward.protocol.batches import DetectionNew
from streamward.runtime import failpoints

ADMITTED = failpoints.declare("batch.after-admit")
ADDED = failpoints.declare("batch.after-add")

Kept = tuple[Seen, Stored, Urgency]


class Keeper:
    """Keeps detections; all of it may be repeated."""

    def __init__(self, parts: Parts, *, adder: Adder, herald: Herald) -> None:
        self._parts = parts
        self._adder = adder
        self._herald = herald

    async def keep(self, seen: Sequence[Seen]) -> None:
        """Returns when each is in a batch or was refused; raises StoreUnavailable, IndexAway."""
        if not seen:
            return
        admitted = await self._parts.insight.detections.admit(seen)
        failpoints.reach(ADMITTED)
        self._parts.time.saw(admitted.at)
        self._parts.journal.record(_counted(admitted))
        kept = [
            (
                each,
                stored,
                (await self._parts.rules.of(each.tenant_id)).triggers.judge(
                    each.detection.label, each.detection.confidence, is_late=stored.is_late
                ),
            )
            for each, stored in zip(seen, admitted.stored, strict=True)
            if stored is not None and stored.batch_id is None
        ]
        self._tell(kept, await self._add(kept))

    async def _add(self, kept: Iterable[Kept]) -> dict[int, BatchId]:
        """In which batch each is; the urgent ones first."""
        now = await self._parts.time.now()
        batch_ids: dict[int, BatchId] = {}
        waiting: list[Loose] = []
        for seen, stored, urgency in kept:
            loose = Loose(tenant_id=seen.tenant_id, camera_id=seen.camera_id, stored=stored)
            if urgency.analyse:
                batch_ids[stored.detection_id] = await self._adder.add_urgent(loose, now=now)
            else:
                waiting.append(loose)
        batch_ids |= await self._adder.add(waiting, now=now)
        failpoints.reach(ADDED)
        return batch_ids

    def _tell(self, kept: Iterable[Kept], batch_ids: dict[int, BatchId]) -> None:
        for seen, stored, urgency in kept:
            body = DetectionNew(
                detection_id=stored.detection_id,
                batch_id=short(batch_ids[stored.detection_id]),
                camera_id=seen.camera_id,
                label=seen.detection.label,
                confidence=seen.detection.confidence,
                timestamp=stored.made_at,
            )
            self._herald.tell(seen.tenant_id, "detection.new", body)
            if urgency.alert:
                self._herald.tell(seen.tenant_id, "detection.alert", body)


def _counted(admitted: Admitted) -> DetectionsStored:
    stored = [each for each in admitted.stored if each is not None]
    new = [each for each in stored if each.is_new]
    return DetectionsStored(
        new=len(new),
        late=sum(each.is_late for each in new),
        known=len(stored) - len(new),
        refused=len(admitted.stored) - len(stored),
    )
