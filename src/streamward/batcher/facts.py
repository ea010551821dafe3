"""What happens in a batcher, as facts in the past tense: log line, metric and test read the same ones."""

from dataclasses import dataclass
from typing import ClassVar

from streamward.insight.batch import BatchId, CloseReason
from streamward.insight.pressure import Pressure
from streamward.model.errors import StreamwardError
from streamward.model.ids import RunnerId, ShardId, TenantId


class MessageUnusable(StreamwardError):
    """A message that nobody can make detections of."""

    def __init__(self, message_id: str, why: str) -> None:
        super().__init__(message_id, why)
        self.message_id = message_id
        self.why = why

    def __str__(self) -> str:
        return f"the message {self.message_id[:100]!r} is set aside: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionsStored:
    """What became of detections that were offered together."""

    new: int
    late: int  # of the new ones
    known: int  # they had come before
    refused: int  # by the fence


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneEventsStored:
    """What became of zone events that were offered together."""

    new: int
    late: int  # of the new ones
    known: int  # they had come before
    refused: int  # by the fence


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSetAside:
    """A message went to the dead letters."""

    message_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesUnusable:
    """So many messages were set aside since this was last said; this is why with the newest."""

    error: MessageUnusable
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionsMissing:
    """A Worker's spool was full for a while: so many events gave way, and nobody ever gets them."""

    tenant_id: TenantId
    runner_id: RunnerId
    shard_id: ShardId
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedTenantsDropped:
    """So many messages were of tenants that do not exist any more, and were dropped unread."""

    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchClosed:
    """A batch was written down."""

    batch_id: BatchId
    tenant_id: str
    camera_id: str
    detections: int
    reason: CloseReason


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTold:
    """The analysis queue has a batch."""

    batch_id: BatchId


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisHeld:
    """So many batches wait for an analyst that no more are told for now."""

    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionsAddedAgain:
    """Stored detections were in no batch long after they came: the index had lost them, or a batcher died."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BroadcastsDropped:
    """So many broadcasts gave way because the database was away or slow; no detection did."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionShortened:
    """The embedded database is above its size limit: what is older than this is removed before its days are over."""

    is_warning: ClassVar[bool] = True

    used_bytes: int
    max_bytes: int
    kept_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PressureChanged:
    """Something that everybody shares is nearly used up, or no longer is; while it is, nothing is taken in."""

    level: Pressure
    sources: str  # what is critical
