"""What Workers report of streams, in S0's spelling (S0-047, S0-048, S0-073)."""

from typing import Annotated, Literal

import msgspec

from streamward.model.ids import CameraId, Generation, RunnerId, ShardId
from streamward.model.status import StreamState, StreamStatus, Substate
from streamward.protocol.fields import Id, Instant, Message, Version, check_repeats, check_year

MAX_REPORTS = 2_000  # in one message
MAX_OF_ONE = 20  # of one camera in it: each is a statement of its own

LONGEST_DETAIL = 500  # characters

Measure = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
ErrorCode = Annotated[str, msgspec.Meta(pattern=r"^[A-Z0-9_]{1,64}$(?!\n)")]


class StreamReport(Message, frozen=True):
    """S0's `stream.status`, with what we add: version, substate, error_code and its sentence, and the next try."""

    camera_uuid: Id
    runner_id: Id
    state: StreamState
    ts: Instant
    shard_id: Id | None = None
    fps: Measure | None = None
    last_frame_ts: Instant | None = None
    last_frame_age_s: Measure | None = None
    version: Version | None = None
    substate: Substate | None = None
    error_code: ErrorCode | None = None
    error_detail: Annotated[str, msgspec.Meta(max_length=LONGEST_DETAIL)] | None = None
    retry_at: Instant | None = None
    type: Literal["stream.status"] = "stream.status"

    def __post_init__(self) -> None:
        check_year(self.ts, self.last_frame_ts, self.retry_at)


class StreamReports(Message, frozen=True):
    """Runner tells how its streams are, each at most 20 times; answered by ReportsAccepted."""

    items: Annotated[list[StreamReport], msgspec.Meta(max_length=MAX_REPORTS)]

    def __post_init__(self) -> None:
        check_repeats((each.camera_uuid for each in self.items), most=MAX_OF_ONE)


class ReportsAccepted(Message, frozen=True):
    """Control plane: so many were taken in; reports of cameras that the runner does not hold are left out."""

    accepted: int


def shown_detail(detail: str) -> str:
    """A sentence on one line of printable characters, cut to what a report may have."""
    return "".join(each if each.isprintable() else " " for each in detail)[:LONGEST_DETAIL]


def status(report: StreamReport) -> StreamStatus:
    """A report as the store keeps it."""
    return StreamStatus(
        camera_id=CameraId(report.camera_uuid),
        runner_id=RunnerId(report.runner_id),
        state=report.state,
        ts=report.ts,
        generation=None if report.version is None else Generation(report.version),
        shard_id=None if report.shard_id is None else ShardId(report.shard_id),
        substate=report.substate,
        error_code=report.error_code,
        error_detail=None if report.error_detail is None else shown_detail(report.error_detail),
        retry_at=report.retry_at,
        fps=report.fps,
        last_frame_ts=report.last_frame_ts,
        last_frame_age_s=report.last_frame_age_s,
    )
