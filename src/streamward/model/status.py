"""What a Worker reports of one stream."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from streamward.model.ids import CameraId, Generation, RunnerId, ShardId


class StreamState(StrEnum):
    """S0-047: the three states on the wire."""

    CONNECTING = "CONNECTING"
    STREAMING = "STREAMING"
    DISCONNECTED = "DISCONNECTED"


class Substate(StrEnum):
    """Why a stream is not simply one of the three."""

    STALLED = "STALLED"  # connected, no frames
    PARKED = "PARKED"  # its login was refused too often
    DEGRADED = "DEGRADED"  # its process or its detector keeps failing, or most of its frames are corrupt
    WAITING_FOR_KEYFRAME = "WAITING_FOR_KEYFRAME"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamStatus:
    """The newest report of a stream."""

    camera_id: CameraId
    runner_id: RunnerId
    state: StreamState
    ts: datetime
    generation: Generation | None = None
    shard_id: ShardId | None = None
    substate: Substate | None = None
    error_code: str | None = None
    error_detail: str | None = None  # the runner's sentence to that code
    retry_at: datetime | None = None  # when the runner tries again
    fps: float | None = None
    last_frame_ts: datetime | None = None
    last_frame_age_s: float | None = None
    streamed_at: datetime | None = None  # set by the store: when it last was STREAMING, and
    streamed_generation: Generation | None = None  # under which generation
