"""What the pipeline tells while it works: the engine hooks of S0-104, from which status, metrics and events are made.

    frame ─on_frame_decoded→ sampled ─on_model_inference_started→ detector ─on_model_prediction_ready→ event
    a state, or whatever went wrong ──on_status_update→

Hooks are called in the event loop, in the order in which things happened to one camera, and must not wait.
"""

from dataclasses import dataclass
from typing import Protocol

from streamward.model.ids import CameraId
from streamward.model.status import StreamState
from streamward.model.stream_error import StreamErrorCode
from streamward.model.zone import ZoneEvent
from streamward.vision.detections import Detections


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFrame:
    """One frame of a camera that the detector is shown."""

    camera_id: CameraId
    frame: int  # counted per epoch
    arrived_at: float  # boot-time


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the detector saw in one frame."""

    camera_id: CameraId
    frame: int  # counted per epoch
    arrived_at: float  # boot-time
    detections: Detections
    inference_s: float
    picture: int  # a sum over what the detector was shown: the same for the same picture
    zone_events: tuple[ZoneEvent, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusUpdate:
    """A camera's stream changed its state, or met an error."""

    camera_id: CameraId
    at: float  # boot-time
    what: StreamState | StreamErrorCode
    detail: str = ""  # for people; never a URL, user or password, and nothing of a picture

    @property
    def is_error(self) -> bool:
        return isinstance(self.what, StreamErrorCode)


class Watchdog(Protocol):
    """Hears what a pipeline does."""

    def on_frame_decoded(self, camera_id: CameraId, arrived_at: float) -> None:
        """A frame came out of the decoder, looked at or not."""
        ...

    def on_model_inference_started(self, shown: ShownFrame) -> None:
        """The detector is shown a frame."""
        ...

    def on_model_prediction_ready(self, seen: Seen) -> None:
        """The detector has answered."""
        ...

    def on_status_update(self, update: StatusUpdate) -> None:
        """How a stream stands, or what failed."""
        ...
