"""Zone events in memory: `leases.fence` applied to dictionaries."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from streamward.drivers.memory.database import MemoryDatabase
from streamward.drivers.memory.detections import is_wanted, judged
from streamward.insight.records import Recent
from streamward.insight.store import in_turn
from streamward.insight.zone_events import Crossed, Noted, ZoneEventRecord
from streamward.leases import fence
from streamward.leases.fence import Verdict
from streamward.model.ids import TenantId


class MemoryZoneEvents:
    """The zone events on a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._db = database

    async def admit(self, crossed: Sequence[Crossed]) -> tuple[Noted | None, ...]:
        now = self._db.now()
        noted = {place: self._store(crossed[place], now) for place in in_turn(crossed)}
        return tuple(noted[place] for place in range(len(crossed)))

    async def page(self, wanted: Recent) -> list[ZoneEventRecord]:
        found = [
            each
            for each in self._db.zone_events.values()
            if is_wanted(wanted, each.tenant_id, each.camera_id, each.zone_event_id)
        ]
        return found[::-1][: wanted.limit]

    async def prune(self, kept: Mapping[TenantId, float], *, otherwise: float, limit: int) -> int:
        now = self._db.now()
        due = [
            each
            for each in self._db.zone_events.values()
            if now - each.stored_at > timedelta(seconds=kept.get(each.tenant_id, otherwise))
        ][:limit]
        for each in due:
            del self._db.zone_events[each.zone_event_id]
            del self._db.zone_event_ids[each.event_id, each.index]
        return len(due)

    def _store(self, crossed: Crossed, now: datetime) -> Noted | None:
        known = self._db.zone_event_ids.get((crossed.event_id, crossed.index))
        if known is not None:
            return _noted(self._db.zone_events[known], is_new=False)
        verdict = judged(crossed, self._db, now)
        if verdict is Verdict.REFUSED:
            return None
        grant = self._db.grants[crossed.camera_id][crossed.generation]
        record = ZoneEventRecord(
            zone_event_id=self._db.number("zone event"),
            event_id=crossed.event_id,
            index=crossed.index,
            tenant_id=crossed.tenant_id,
            site_id=crossed.site_id,
            camera_id=crossed.camera_id,
            generation=crossed.generation,
            made_at=fence.dated(crossed.happened_at, grant, now=now),
            stamped_at=crossed.made_at,
            stored_at=now,
            is_late=verdict is Verdict.LATE,
            kind=crossed.kind,
            zone=crossed.zone,
            track_id=crossed.track_id,
            label=crossed.label,
            stayed=crossed.stayed,
        )
        self._db.zone_events[record.zone_event_id] = record
        self._db.zone_event_ids[crossed.event_id, crossed.index] = record.zone_event_id
        return _noted(record, is_new=True)


def _noted(record: ZoneEventRecord, *, is_new: bool) -> Noted:
    return Noted(zone_event_id=record.zone_event_id, made_at=record.made_at, is_late=record.is_late, is_new=is_new)
