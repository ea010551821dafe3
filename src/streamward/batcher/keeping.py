"""Stores what was seen and puts it into open batches: the one way in, whoever brings it.

seen ─admit: fence, once, committed→ stored ─┬─ in a closed batch: nothing more to do
                                             ├─ urgent: a batch of one, over at once
                                             └─ the rest: into the open batch of its camera and lane
crossed ─admit: the same fence, once→ stored ── new and not late: told

What happened at zones is told as soon as it is stored: it is in no batch, and when it comes again it is not new.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from streamward.batcher.adding import Adder
from streamward.batcher.facts import DetectionsStored, ZoneEventsStored
from streamward.batcher.herald import Herald
from streamward.batcher.parts import Parts
from streamward.batcher.reading import Told
from streamward.insight.batch import BatchId, short
from streamward.insight.store import Admitted, Loose, Seen, Stored
from streamward.insight.urgency import Urgency
from streamward.insight.zone_events import Crossed, Noted
from streamward.model.ids import TenantId
from streamward.protocol.batches import DetectionNew, ZoneEventNew
from streamward.runtime import failpoints

ADMITTED = failpoints.declare("batch.after-admit")
ADDED = failpoints.declare("batch.after-add")

Kept = tuple[Seen, Stored, Urgency]
TenantKeys = dict[TenantId, str | None]  # the internal id of each tenant; None: there is no such tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """A group whose detections are stored, and are in no batch yet."""

    seen: Sequence[Seen]
    crossed: Sequence[Crossed]
    keys: TenantKeys
    admitted: Admitted | None  # None: there were no detections


class Keeper:
    """Keeps detections and zone events; all of it may be repeated."""

    def __init__(self, parts: Parts, *, adder: Adder, herald: Herald) -> None:
        self.rules = parts.rules
        self._parts = parts
        self._adder = adder
        self._herald = herald

    async def keep(self, told: Sequence[Told]) -> None:
        """Returns when all is stored or was refused, and each detection in a batch.

        Raises StoreUnavailable, IndexAway.
        """
        await self.batch(await self.admit(told))

    async def admit(self, told: Sequence[Told]) -> Admission:
        """The first half: returns when each detection is stored or was refused; raises StoreUnavailable."""
        seen = [each for one in told for each in one.seen]
        crossed = [each for one in told for each in one.crossed]
        tenants = {made.tenant_id for made in (*seen, *crossed)}
        keys = {each: await self.rules.key_of(each) for each in tenants}  # before anything is stored
        admitted = None
        if seen:
            admitted = await self._parts.insight.detections.admit(seen)
            failpoints.reach(ADMITTED)
            self._parts.time.saw(admitted.at)
            self._parts.journal.record(_counted(admitted))
        return Admission(seen=seen, crossed=crossed, keys=keys, admitted=admitted)

    async def batch(self, group: Admission) -> None:
        """The second half: each detection into a batch, and the zone events; raises StoreUnavailable, IndexAway."""
        if group.admitted is not None:
            await self._batch(group.seen, group.admitted, group.keys)
        if group.crossed:  # last, so that no detection waits for a database that cannot take these
            await self._note(group.crossed, group.keys)

    async def _note(self, crossed: Sequence[Crossed], keys: TenantKeys) -> None:
        noted = await self._parts.insight.zone_events.admit(crossed)
        self._parts.journal.record(_counted_at_zones(noted))
        for each, kept in zip(crossed, noted, strict=True):
            if kept is not None and kept.is_new and not kept.is_late:
                self._herald.tell(each.tenant_id, "zone.event", _told_of(each, kept), tenant_key=keys[each.tenant_id])

    async def _batch(self, seen: Sequence[Seen], admitted: Admitted, keys: TenantKeys) -> None:
        triggers = {each: (await self._parts.rules.of(each)).triggers for each in keys}
        kept = [
            (
                each,
                stored,
                triggers[each.tenant_id].judge(each.detection.label, each.detection.confidence, is_late=stored.is_late),
            )
            for each, stored in zip(seen, admitted.stored, strict=True)
            if stored is not None and stored.batch_id is None
        ]
        batch_ids = await self._add(kept, now=await self._parts.time.now())
        now = await self._parts.time.now()
        self._tell(kept, batch_ids, keys, alerts=await self._alerts(kept, now=now), now=now)

    async def _add(self, kept: Iterable[Kept], *, now: datetime) -> dict[int, BatchId]:
        """In which batch each is; the urgent ones first."""
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

    async def _alerts(self, kept: Iterable[Kept], *, now: datetime) -> set[int]:
        """The detections to alert of: the first of each tracked object, and every one that no tracker followed."""
        alerts: set[int] = set()
        tracks: dict[TenantId, list[tuple[str, int]]] = {}
        for seen, stored, urgency in kept:
            if urgency.alert and seen.track is not None:
                tracks.setdefault(seen.tenant_id, []).append((seen.track, stored.detection_id))
            elif urgency.alert:
                alerts.add(stored.detection_id)
        for tenant_id, offered in tracks.items():
            alerts |= await self._parts.index.claim_alerts(tenant_id, offered, now=now)
        return alerts

    def _tell(
        self,
        kept: Iterable[Kept],
        batch_ids: dict[int, BatchId],
        keys: TenantKeys,
        *,
        alerts: Collection[int],
        now: datetime,
    ) -> None:
        """Dated by when it is broadcast (S2-32); when the frame arrived is in the stored detection."""
        for seen, stored, _ in kept:
            body = DetectionNew(
                detection_id=stored.detection_id,
                batch_id=short(batch_ids[stored.detection_id]),
                camera_id=seen.camera_id,
                label=seen.detection.label,
                confidence=seen.detection.confidence,
                timestamp=now,
            )
            tenant_key = keys[seen.tenant_id]
            self._herald.tell(seen.tenant_id, "detection.new", body, tenant_key=tenant_key)
            if stored.detection_id in alerts:
                self._herald.tell(seen.tenant_id, "detection.alert", body, tenant_key=tenant_key)


def _counted(admitted: Admitted) -> DetectionsStored:
    stored = [each for each in admitted.stored if each is not None]
    new = [each for each in stored if each.is_new]
    return DetectionsStored(
        new=len(new),
        late=sum(each.is_late for each in new),
        known=len(stored) - len(new),
        refused=len(admitted.stored) - len(stored),
    )


def _counted_at_zones(noted: Sequence[Noted | None]) -> ZoneEventsStored:
    kept = [each for each in noted if each is not None]
    new = [each for each in kept if each.is_new]
    return ZoneEventsStored(
        new=len(new),
        late=sum(each.is_late for each in new),
        known=len(kept) - len(new),
        refused=len(noted) - len(kept),
    )


def _told_of(crossed: Crossed, noted: Noted) -> ZoneEventNew:
    return ZoneEventNew(
        event_id=crossed.event_id,
        type=crossed.kind.value,
        zone=crossed.zone,
        camera_id=crossed.camera_id,
        track_id=crossed.track_id,
        label=crossed.label,
        timestamp=noted.made_at,
        stayed_s=crossed.stayed,
    )
