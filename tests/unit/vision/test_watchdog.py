"""What the hooks are told."""

from streamward.model.ids import CameraId
from streamward.model.status import StreamState
from streamward.model.stream_error import StreamErrorCode
from streamward.vision.watchdog import StatusUpdate


def test_a_state_is_no_error_and_a_code_is_one():
    def is_error(what: StreamState | StreamErrorCode) -> bool:
        return StatusUpdate(camera_id=CameraId("cam-1"), at=1.0, what=what).is_error

    assert not is_error(StreamState.STREAMING)
    assert is_error(StreamErrorCode.DETECTOR_FAILED)
