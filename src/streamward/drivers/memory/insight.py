"""Every port of batching on one `MemoryDatabase`."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from streamward.drivers.memory.database import MemoryDatabase
from streamward.drivers.memory.detections import MemoryBatches, MemoryDetections, MemoryRecords, is_wanted
from streamward.drivers.memory.tenant_deletions import MemoryPayloadDeletions
from streamward.drivers.memory.zone_events import MemoryZoneEvents
from streamward.insight.analysis import Analysis
from streamward.insight.batch import BatchId
from streamward.insight.broadcasts import Broadcast
from streamward.insight.records import AnalysisRecord, Recent
from streamward.insight.rules import Rules, Wishes
from streamward.model.ids import TenantId
from streamward.model.register import Note


class MemoryRuleBook:
    """The rule book on a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase, rules: Rules) -> None:
        self._db = database
        self._rules = rules

    async def rules(self) -> dict[TenantId, Rules]:
        return {each: self._db.wishes.get(each, Wishes()).applied(self._rules) for each in self._db.tenants}

    async def tenant_keys(self) -> dict[TenantId, str]:
        return {each.tenant_id: each.tenant_key for each in self._db.tenants.values()}

    async def find_wishes(self, tenant_id: TenantId, *, scope: TenantId | None) -> Wishes | None:
        is_there = tenant_id in self._db.tenants and scope in (None, tenant_id)
        return self._db.wishes.get(tenant_id, Wishes()) if is_there else None

    async def save_wishes(self, tenant_id: TenantId, wishes: Wishes, *, note: Note) -> bool:
        if tenant_id not in self._db.tenants:
            return False
        self._db.wishes[tenant_id] = wishes
        self._db.note(note)
        return True


class MemoryBroadcasts:
    """The broadcasts on a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._db = database

    async def append(self, tenant_id: TenantId, kind: str, bodies: Sequence[str], *, tenant_key: str) -> bool:
        known = self._db.tenants.get(tenant_id)
        if bodies and (known is None or known.tenant_key != tenant_key):
            return False
        now = self._db.now()
        self._db.broadcasts += [
            Broadcast(seq=self._db.number("broadcast"), tenant_id=tenant_id, kind=kind, body=body, at=now)
            for body in bodies
        ]
        return True

    async def after(self, seq: int, *, scope: TenantId | None, limit: int) -> list[Broadcast]:
        told = [each for each in self._db.broadcasts if each.seq > seq and scope in (None, each.tenant_id)]
        return told[:limit]

    async def newest(self) -> int:
        return self._db.broadcasts[-1].seq if self._db.broadcasts else 0

    async def oldest(self) -> int:
        return self._db.broadcasts[0].seq if self._db.broadcasts else 0

    async def prune(self, *, kept: float, limit: int) -> int:
        now = self._db.now()
        old = sum(now - each.at > timedelta(seconds=kept) for each in self._db.broadcasts[:limit])
        del self._db.broadcasts[:old]
        return old


class MemoryAnalyses:
    """The analyses on a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._db = database

    async def save(self, analysis: Analysis) -> bool:
        batch = self._db.batches.get(BatchId(analysis.batch_id))
        if batch is None or batch.batch.tenant_id != analysis.tenant_id or analysis.batch_id in self._db.analyses:
            return False
        self._db.analyses[analysis.batch_id] = AnalysisRecord(
            position=self._db.number("analysis"), analysis=analysis, at=self._db.now()
        )
        return True

    async def find(self, batch_id: BatchId, *, scope: TenantId | None) -> AnalysisRecord | None:
        known = self._db.analyses.get(batch_id)
        return known if known is not None and scope in (None, known.analysis.tenant_id) else None

    async def page(self, wanted: Recent) -> list[AnalysisRecord]:
        found = [
            each
            for each in self._db.analyses.values()
            if is_wanted(wanted, each.analysis.tenant_id, each.analysis.camera_id, each.position)
        ]
        return found[::-1][: wanted.limit]


class MemoryInsight:
    """One process' way into what a `MemoryDatabase` knows of detections and batches."""

    def __init__(self, database: MemoryDatabase, *, rules: Rules) -> None:
        self._db = database
        self.detections = MemoryDetections(database)
        self.batches = MemoryBatches(database)
        self.rules = MemoryRuleBook(database, rules)
        self.records = MemoryRecords(database)
        self.broadcasts = MemoryBroadcasts(database)
        self.analyses = MemoryAnalyses(database)
        self.zone_events = MemoryZoneEvents(database)
        self.deletions = MemoryPayloadDeletions(database)

    async def open(self) -> None:
        """Nothing to open."""

    async def close(self) -> None:
        """Nothing to close."""

    async def now(self) -> datetime:
        return self._db.now()
