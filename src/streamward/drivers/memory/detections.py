"""Detections and closed batches in memory: `leases.fence` and the claims of batches applied to dictionaries."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from streamward.drivers.memory.database import MemoryDatabase
from streamward.insight.batch import BatchId, Sealed
from streamward.insight.records import BatchRecord, DetectionRecord, Recent
from streamward.insight.store import Admitted, Closed, Loose, Made, Seen, Stored, Waiting, in_turn
from streamward.leases import fence
from streamward.leases.fence import StampedRecord, Verdict
from streamward.leases.lease import Owner
from streamward.model.ids import TenantId


class MemoryDetections:
    """The detection port on a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._db = database

    async def admit(self, seen: Sequence[Seen]) -> Admitted:
        now = self._db.now()
        stored = {place: self._store(seen[place], now) for place in in_turn(seen)}
        return Admitted(stored=tuple(stored[place] for place in range(len(seen))), at=now)

    async def loose(self, *, stored_before: datetime, after: int, limit: int) -> list[Loose]:
        found = (each for each in self._db.detections.values() if each.batch_id is None and each.detection_id > after)
        return [_loose(each) for each in found if each.stored_at < stored_before][:limit]

    def _store(self, seen: Seen, now: datetime) -> Stored | None:
        known = self._db.detection_ids.get((seen.event_id, seen.index))
        if known is not None:
            return _stored(self._db.detections[known], is_new=False)
        verdict = judged(seen, self._db, now)
        if verdict is Verdict.REFUSED:
            return None
        grant = self._db.grants[seen.camera_id][seen.generation]
        record = DetectionRecord(
            detection_id=self._db.number("detection"),
            seen=replace(seen, made_at=fence.dated(seen.made_at, grant, now=now)),
            stamped_at=seen.made_at,
            is_late=verdict is Verdict.LATE,
            stored_at=now,
            batch_id=None,
        )
        self._db.detections[record.detection_id] = record
        self._db.detection_ids[seen.event_id, seen.index] = record.detection_id
        return _stored(record, is_new=True)


class MemoryBatches:
    """The batch port on a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._db = database

    async def close_batch(self, batch: Sealed) -> Closed:
        loose = [each for each in batch.detection_ids if self._is_loose(each, batch)]
        known = self._db.batches.get(batch.batch_id)
        if known is not None:
            return Closed(
                batch=known.batch, is_new=False, left=tuple(_loose(self._db.detections[each]) for each in loose)
            )
        own = replace(batch, detection_ids=tuple(dict.fromkeys(loose)))
        if loose:
            self._put(loose, batch.batch_id)
            self._db.batches[batch.batch_id] = BatchRecord(position=self._db.number("batch"), batch=own, is_told=False)
        return Closed(batch=own, is_new=bool(loose))

    async def reopen(self, batch_id: BatchId) -> tuple[Loose, ...]:
        known = self._db.batches.get(batch_id)
        if known is None:
            return ()
        self._put(known.batch.detection_ids, None)
        empty = replace(known.batch, detection_ids=())
        self._db.batches[batch_id] = replace(known, batch=empty, is_told=True)
        self._db.reopened.add(batch_id)
        return tuple(_loose(self._db.detections[each]) for each in known.batch.detection_ids)

    async def untold(self, *, limit: int) -> list[Waiting]:
        found = (each for each in self._db.batches.values() if not each.is_told)
        return [Waiting(position=each.position, batch=each.batch) for each in found][:limit]

    async def told(self, positions: Sequence[int]) -> None:
        for batch_id, each in self._db.batches.items():
            if each.position in positions:
                self._db.batches[batch_id] = replace(each, is_told=True)

    def _is_loose(self, detection_id: int, batch: Sealed) -> bool:
        known = self._db.detections.get(detection_id)
        place = (batch.tenant_id, batch.camera_id)
        return known is not None and known.batch_id is None and (known.seen.tenant_id, known.seen.camera_id) == place

    def _put(self, detection_ids: Iterable[int], batch_id: BatchId | None) -> None:
        for each in detection_ids:
            self._db.detections[each] = replace(self._db.detections[each], batch_id=batch_id)


class MemoryRecords:
    """The record port on a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._db = database

    async def detections(self, wanted: Recent) -> list[DetectionRecord]:
        found = [
            each
            for each in self._db.detections.values()
            if is_wanted(wanted, each.seen.tenant_id, each.seen.camera_id, each.detection_id)
        ]
        return found[::-1][: wanted.limit]

    async def batches(self, wanted: Recent) -> list[BatchRecord]:
        found = [
            each
            for each in self._closed()
            if is_wanted(wanted, each.batch.tenant_id, each.batch.camera_id, each.position)
        ]
        return found[::-1][: wanted.limit]

    async def find_batch(self, batch_id: BatchId, *, scope: TenantId | None) -> BatchRecord | None:
        return next(
            (
                each
                for each in self._closed()
                if each.batch.batch_id == batch_id and scope in (None, each.batch.tenant_id)
            ),
            None,
        )

    async def batch_ids(self, prefix: str, *, scope: TenantId | None, limit: int) -> list[BatchId]:
        batches = [each.batch for each in self._closed() if scope in (None, each.batch.tenant_id)]
        return sorted(each.batch_id for each in batches if each.batch_id.startswith(prefix))[:limit]

    async def detections_of(self, batch_id: BatchId, *, scope: TenantId | None) -> list[DetectionRecord]:
        found = await self.find_batch(batch_id, scope=scope)
        return [] if found is None else [self._db.detections[each] for each in found.batch.detection_ids]

    async def prune(self, kept: Mapping[TenantId, float], *, otherwise: float, limit: int) -> int:
        now = self._db.now()
        due = [
            each
            for each in self._db.batches.values()
            if now - each.batch.closed_at > timedelta(seconds=kept.get(TenantId(each.batch.tenant_id), otherwise))
        ][:limit]
        for each in due:
            self._forget(each.batch)
        return len(due)

    async def size(self) -> int | None:
        return None

    async def age(self, *, batches: int) -> float | None:
        oldest = list(self._db.batches.values())[:batches]
        return (self._db.now() - oldest[-1].batch.closed_at).total_seconds() if oldest else None

    def _forget(self, batch: Sealed) -> None:
        del self._db.batches[batch.batch_id]
        self._db.reopened.discard(batch.batch_id)
        self._db.analyses.pop(batch.batch_id, None)
        for detection_id in batch.detection_ids:
            seen = self._db.detections.pop(detection_id).seen
            del self._db.detection_ids[seen.event_id, seen.index]

    def _closed(self) -> Iterable[BatchRecord]:
        return (each for batch_id, each in self._db.batches.items() if batch_id not in self._db.reopened)


def judged(made: Made, database: MemoryDatabase, now: datetime) -> Verdict:
    """What the fence says."""
    record = StampedRecord(
        camera_id=made.camera_id,
        generation=made.generation,
        owner=Owner(made.runner_id, made.incarnation),
        tenant_id=made.tenant_id,
        site_id=made.site_id,
        made_at=made.made_at,
    )
    return fence.admit(record, database.grants.get(made.camera_id, {}), now=now)


def is_wanted(wanted: Recent, tenant_id: str, camera_id: str, number: int) -> bool:
    return (
        wanted.scope in (None, tenant_id)
        and wanted.camera_id in (None, camera_id)
        and (wanted.before is None or number < wanted.before)
    )


def _stored(record: DetectionRecord, *, is_new: bool) -> Stored:
    return Stored(
        detection_id=record.detection_id,
        made_at=record.seen.made_at,
        is_late=record.is_late,
        is_new=is_new,
        batch_id=record.batch_id,
    )


def _loose(record: DetectionRecord) -> Loose:
    return Loose(tenant_id=record.seen.tenant_id, camera_id=record.seen.camera_id, stored=_stored(record, is_new=False))
