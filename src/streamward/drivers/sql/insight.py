"""Every port of batching on one database."""

from datetime import datetime

from streamward.drivers.sql.broadcasts import SqlBroadcasts, SqlRuleBook
from streamward.drivers.sql.database import Database
from streamward.drivers.sql.detections import SqlBatches, SqlDetections
from streamward.drivers.sql.insight_records import SqlAnalyses, SqlRecords
from streamward.drivers.sql.migrate import is_newest, migrate
from streamward.drivers.sql.tenant_deletions import SqlPayloadDeletions
from streamward.drivers.sql.zone_events import SqlZoneEvents
from streamward.insight.rules import Rules


class SqlInsight:
    """One process' way into what a database knows of detections and batches."""

    def __init__(self, database: Database, *, rules: Rules) -> None:
        self._db = database
        self.detections = SqlDetections(database)
        self.batches = SqlBatches(database)
        self.rules = SqlRuleBook(database, rules)
        self.records = SqlRecords(database)
        self.broadcasts = SqlBroadcasts(database)
        self.analyses = SqlAnalyses(database)
        self.zone_events = SqlZoneEvents(database)
        self.deletions = SqlPayloadDeletions(database)

    async def open(self) -> None:
        async with self._db.transaction() as tx:
            is_ready = await is_newest(tx)
        if not is_ready:
            await migrate(self._db.url)

    async def close(self) -> None:
        await self._db.engine.dispose()

    async def now(self) -> datetime:
        async with self._db.session(is_single=True) as session:
            return await self._db.now(session)
