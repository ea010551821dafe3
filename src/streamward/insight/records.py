"""What can be read of detections, batches and analyses afterwards, newest first, a page at a time."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from streamward.insight.analysis import Analysis, Recorded
from streamward.insight.batch import BatchId, Sealed
from streamward.insight.store import Seen
from streamward.model.ids import CameraId, TenantId


@dataclass(frozen=True, slots=True, kw_only=True)
class Recent:
    """Which part of a listing, newest first, before the number named."""

    scope: TenantId | None  # the caller's tenant; None sees all
    camera_id: CameraId | None = None
    before: int | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionRecord:
    """A detection as it is kept."""

    detection_id: int
    seen: Seen  # dated as it is stored
    stamped_at: datetime  # as its maker dated it
    is_late: bool
    stored_at: datetime
    batch_id: BatchId | None

    @property
    def recorded(self) -> Recorded:
        """As analysts are shown it."""
        return Recorded(
            detection_id=self.detection_id,
            camera_id=self.seen.camera_id,
            made_at=self.seen.made_at,
            detection=self.seen.detection,
            is_late=self.is_late,
            batch_id=self.batch_id,
            track=self.seen.track,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRecord:
    """A closed batch as it is kept."""

    position: int
    batch: Sealed
    is_told: bool  # the analysis queue has it


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisRecord:
    """An analysis as it is kept."""

    position: int
    analysis: Analysis
    at: datetime


class Records(Protocol):
    """Detections and closed batches. A batch that was taken back is in none of these."""

    async def detections(self, wanted: Recent) -> list[DetectionRecord]:
        """By detection id."""
        ...

    async def batches(self, wanted: Recent) -> list[BatchRecord]:
        """By position."""
        ...

    async def find_batch(self, batch_id: BatchId, *, scope: TenantId | None) -> BatchRecord | None: ...
    async def batch_ids(self, prefix: str, *, scope: TenantId | None, limit: int) -> list[BatchId]:
        """The ids that begin so, in their order; the prefix is the beginning of an id (`insight.batch.is_prefix`)."""
        ...

    async def detections_of(self, batch_id: BatchId, *, scope: TenantId | None) -> list[DetectionRecord]:
        """All of a closed batch, in the order of their arrival."""
        ...

    async def prune(self, kept: Mapping[TenantId, float], *, otherwise: float, limit: int) -> int:
        """Forgets batches that were closed more than so many seconds ago, with their detections and analyses.

        `otherwise` is for tenants that are not named. At most `limit` batches go; returns how many did.
        """
        ...

    async def size(self) -> int | None:
        """Bytes in use by the whole database, without free pages; None: no size limit applies to it."""
        ...

    async def age(self, *, batches: int) -> float | None:
        """Seconds since the newest of so many oldest batches was closed; None: no batch is stored."""
        ...


class Analyses(Protocol):
    """What analysts said: of each batch once."""

    async def save(self, analysis: Analysis) -> bool:
        """Keeps the first of a batch that is stored; returns whether this is it."""
        ...

    async def find(self, batch_id: BatchId, *, scope: TenantId | None) -> AnalysisRecord | None: ...
    async def page(self, wanted: Recent) -> list[AnalysisRecord]:
        """By position."""
        ...
