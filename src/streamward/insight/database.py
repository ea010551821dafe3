"""Everything that one database holds of detections and batches, for the wiring; services take the port they use."""

from datetime import datetime
from typing import Protocol

from streamward.insight.broadcasts import Broadcasts
from streamward.insight.records import Analyses, Records
from streamward.insight.store import BatchStore, DetectionStore, RuleBook
from streamward.insight.zone_events import ZoneEvents
from streamward.model.tenant import PayloadDeletions


class Insight(Protocol):
    """One process' way into the database."""

    @property
    def detections(self) -> DetectionStore: ...
    @property
    def batches(self) -> BatchStore: ...
    @property
    def rules(self) -> RuleBook: ...
    @property
    def records(self) -> Records: ...
    @property
    def broadcasts(self) -> Broadcasts: ...
    @property
    def analyses(self) -> Analyses: ...
    @property
    def zone_events(self) -> ZoneEvents: ...
    @property
    def deletions(self) -> PayloadDeletions: ...

    async def open(self) -> None: ...
    async def close(self) -> None: ...
    async def now(self) -> datetime:
        """The database's time."""
        ...
