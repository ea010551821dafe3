"""What becomes of closed batches at their analyst, as facts."""

from dataclasses import dataclass

from streamward.insight.batch import BatchId
from streamward.model.errors import StreamwardError


class DeadLetterRefused(StreamwardError):
    """The queue of the dead did not take a batch that nobody could analyse."""

    def __init__(self, batch_id: str, why: str) -> None:
        super().__init__(batch_id, why)
        self.batch_id = batch_id
        self.why = why

    def __str__(self) -> str:
        return f"the dead letters did not take {self.batch_id[:100]}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchAnalysed:
    """Something was said of a batch."""

    batch_id: BatchId
    tenant_id: str
    camera_id: str
    risk: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisRepeated:
    """A batch came again of which something was said already."""

    batch_id: BatchId


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisPostponed:
    """An analyst failed, and is asked again."""

    batch_id: BatchId
    why: str
    retry_in: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchGivenUp:
    """Nobody could analyse a batch; an urgent one is reopened, another is in the dead letters."""

    batch_id: BatchId
    tenant_id: str
    camera_id: str
    is_reopened: bool
    why: str
