"""Deleted tenants in memory, by the rules of `drivers.sql.tenant_deletions`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from streamward.drivers.memory.database import MemoryDatabase
from streamward.insight.batch import BatchId
from streamward.insight.records import DetectionRecord
from streamward.insight.zone_events import ZoneEventRecord
from streamward.model.ids import TenantId
from streamward.model.tenant import HOLD_NAME_FOR, TenantDeletion, TenantStanding

Found = tuple[str, Callable[[], object]]  # the kind of a row, and what deletes it or takes the tenant's name out of it


class MemoryTenantDeletions:
    """The port of deleted tenants on a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._db = database

    async def deletions(self) -> list[TenantDeletion]:
        unfinished = [each for each in self._db.deletions.values() if each.finished_at is None]
        return sorted(unfinished, key=lambda each: (each.requested_at, each.tenant_key))

    async def find_deletion(self, tenant_id: TenantId) -> TenantDeletion | None:
        found = [each for each in self._db.deletions.values() if each.tenant_id == tenant_id]
        return max(found, key=lambda each: each.requested_at, default=None)

    async def rows_left(self, tenant_id: TenantId, *, at_most: int) -> int:
        return min(at_most, sum(1 for _ in self._rows_of_tenant(tenant_id, "")))

    async def delete_rows(self, deletion: TenantDeletion, *, limit: int) -> int:
        known = self._db.deletions[deletion.tenant_key]
        rows = (
            [] if known.rows_deleted_at is not None else list(self._rows_of_tenant(known.tenant_id, known.tenant_key))
        )
        some = [row for row in rows if row[0] == rows[0][0]][:limit]
        for _, remove in some:
            remove()
        if some:
            kind = some[0][0]
            removed = {**known.removed, kind: known.removed.get(kind, 0) + len(some)}
            self._db.deletions[known.tenant_key] = replace(known, removed=removed)
        return len(some)

    async def advance(self, deletion: TenantDeletion) -> TenantDeletion:
        known, now = self._db.deletions[deletion.tenant_key], self._db.now()
        if known.rows_deleted_at is None and not any(self._rows_of_tenant(known.tenant_id, known.tenant_key)):
            known = replace(known, rows_deleted_at=now)
        if known.rows_deleted_at is not None and known.payloads_deleted_at is None and not self._db.has_batchers:
            known = replace(known, payloads_deleted_at=now)
        is_free = known.requested_at + timedelta(seconds=HOLD_NAME_FOR) <= now and known.tokens_after < now
        if known.payloads_deleted_at is not None and known.finished_at is None and is_free:
            known = replace(known, finished_at=now)
        self._db.deletions[known.tenant_key] = known
        return known

    async def tenant_standings(self) -> list[TenantStanding]:
        return standings(self._db)

    async def gone(self, tenant_ids: Sequence[TenantId]) -> list[TenantId]:
        deleted = {each.tenant_id for each in self._db.deletions.values()}
        return sorted(each for each in set(tenant_ids) if each in deleted and each not in self._db.tenants)

    def _rows_of_tenant(self, tenant_id: TenantId, key: str) -> Iterator[Found]:
        """Every row of a tenant, kind by kind in the order in which they are deleted."""
        yield from self._tenant_grants(tenant_id)
        yield from self._tenant_records(tenant_id)
        yield from (
            ("logins", partial(self._db.logins.pop, login)) for login in list(self._db.logins) if login[0] == tenant_id
        )
        for kind, rows in (("runners", self._db.runners), ("invitations", self._db.invitations)):
            table: dict[Any, Any] = rows
            yield from (
                (kind, partial(table.pop, name)) for name, row in list(table.items()) if row.tenant_id == tenant_id
            )
        yield from self._tenant_identities(tenant_id, key)
        yield from (
            ("creations", partial(self._db.created.pop, name))
            for name in list(self._db.created)
            if name[0].startswith(f"{tenant_id}/")
        )
        yield from (
            ("announcements", partial(self._db.outbox.remove, told))
            for told in list(self._db.outbox)
            if told[0] == tenant_id
        )
        yield from self._tenant_audit(tenant_id, key)

    def _tenant_grants(self, tenant_id: TenantId) -> Iterator[Found]:
        for by_generation in self._db.grants.values():
            for generation, grant in list(by_generation.items()):
                if grant.tenant_id == tenant_id:
                    yield "grants", partial(by_generation.pop, generation)

    def _tenant_records(self, tenant_id: TenantId) -> Iterator[Found]:
        db = self._db
        detections = [each for each in db.detections.values() if each.seen.tenant_id == tenant_id]
        yield from (("detections", partial(self._remove_tenant_detection, each)) for each in detections)
        crossed = [each for each in db.zone_events.values() if each.tenant_id == tenant_id]
        yield from (("zone_events", partial(self._remove_tenant_zone_event, each)) for each in crossed)
        batches = [batch_id for batch_id, each in db.batches.items() if each.batch.tenant_id == tenant_id]
        yield from (("batches", partial(self._remove_tenant_batch, batch_id)) for batch_id in batches)
        analyses = [batch_id for batch_id, each in db.analyses.items() if each.analysis.tenant_id == tenant_id]
        yield from (("analyses", partial(db.analyses.pop, batch_id)) for batch_id in analyses)
        told = [each for each in db.broadcasts if each.tenant_id == tenant_id]
        yield from (("broadcasts", partial(db.broadcasts.remove, each)) for each in told)

    def _remove_tenant_detection(self, record: DetectionRecord) -> None:
        del self._db.detections[record.detection_id]
        del self._db.detection_ids[record.seen.event_id, record.seen.index]

    def _remove_tenant_zone_event(self, record: ZoneEventRecord) -> None:
        del self._db.zone_events[record.zone_event_id]
        del self._db.zone_event_ids[record.event_id, record.index]

    def _remove_tenant_batch(self, batch_id: BatchId) -> None:
        del self._db.batches[batch_id]
        self._db.reopened.discard(batch_id)

    def _tenant_identities(self, tenant_id: TenantId, key: str) -> Iterator[Found]:
        rows = self._db.identities
        for name, identity in list(rows.items()):
            if identity.tenant_id == tenant_id:
                kept = replace(identity, tenant_id=TenantId(key), revision=identity.revision + 1)
                yield "identities", partial(rows.__setitem__, name, kept)

    def _tenant_audit(self, tenant_id: TenantId, key: str) -> Iterator[Found]:
        rows = self._db.audit
        for place, row in enumerate(rows):
            if row.tenant_id == tenant_id:
                is_theirs = row.author.tenant_id == tenant_id
                author = replace(row.author, tenant_id=TenantId(key)) if is_theirs else row.author
                kept = replace(row, tenant_id=TenantId(key), before=None, after=None, author=author)
                yield "audit", partial(rows.__setitem__, place, kept)


class MemoryPayloadDeletions:
    """A batcher's part of deletions, on a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._db = database

    async def at_work(self) -> None:
        self._db.has_batchers[:] = [self._db.now()]

    async def waiting(self) -> list[TenantDeletion]:
        found = [
            each
            for each in self._db.deletions.values()
            if each.rows_deleted_at is not None and each.payloads_deleted_at is None
        ]
        return sorted(found, key=lambda each: each.requested_at)

    async def payloads_deleted(self, deletion: TenantDeletion) -> None:
        known = self._db.deletions[deletion.tenant_key]
        if known.rows_deleted_at is not None and known.payloads_deleted_at is None:
            self._db.deletions[known.tenant_key] = replace(known, payloads_deleted_at=self._db.now())


def standings(database: MemoryDatabase) -> list[TenantStanding]:
    """Every name that is or was a tenant's."""
    ended: dict[TenantId, datetime] = {}
    for each in database.deletions.values():
        ended[each.tenant_id] = max(each.tokens_after, ended.get(each.tenant_id, each.tokens_after))
    return [
        TenantStanding(tenant_id=name, is_live=name in database.tenants, tokens_after=ended.get(name))
        for name in {*database.tenants, *ended}
    ]
