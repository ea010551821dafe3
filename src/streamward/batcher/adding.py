"""Adds stored detections to the index of open batches, whoever found them; what is over by that is to be closed."""

from collections.abc import Sequence
from datetime import datetime

from streamward.batcher.in_hand import InHand
from streamward.batcher.parts import Parts
from streamward.insight.batch import BatchId, Lane
from streamward.insight.store import Addition, Loose
from streamward.model.ids import CameraId, TenantId


class Adder:
    """The way into the index."""

    def __init__(self, parts: Parts, in_hand: InHand) -> None:
        self._index = parts.index
        self._rules = parts.rules
        self._in_hand = in_hand

    async def add(self, found: Sequence[Loose], *, now: datetime) -> dict[int, BatchId]:
        """In which batch each is now, by its id; raises IndexAway, and then all may be added again."""
        additions = await self._additions(found)
        batch_ids: dict[int, BatchId] = {}
        placed = await self._index.add_all(additions, now=now) if additions else []
        for addition, each in zip(additions, placed, strict=True):
            batch_ids.update(zip((s.detection_id for s in addition.sightings), each.batch_ids, strict=True))
            self._in_hand.put(each.sealed)
        return batch_ids

    async def add_urgent(self, loose: Loose, *, now: datetime) -> BatchId:
        """A batch of one that is over at once."""
        placed = await self._index.add_urgent(loose.tenant_id, loose.camera_id, loose.stored.sighting, now=now)
        self._in_hand.put(placed.sealed)
        return placed.batch_ids[0]

    async def _additions(self, found: Sequence[Loose]) -> list[Addition]:
        """What is of one camera and lane goes together, in the order in which it came."""
        groups: dict[tuple[TenantId, CameraId, Lane], list[Loose]] = {}
        for each in found:
            groups.setdefault((each.tenant_id, each.camera_id, each.stored.lane), []).append(each)
        return [
            Addition(
                tenant_id=tenant_id,
                camera_id=camera_id,
                sightings=tuple(each.stored.sighting for each in group),
                lane=lane,
                limits=(await self._rules.of(tenant_id)).limits,
            )
            for (tenant_id, camera_id, lane), group in groups.items()
        ]
