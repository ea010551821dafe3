"""When trouble is told."""

from streamward.model.stream_error import StreamErrorCode, StreamFailure
from streamward.vision.trouble import TELL_EVERY, Troubles

LOSS = StreamFailure(code=StreamErrorCode.CORRUPT_STREAM, detail="3 packets were lost")
JUMP = StreamFailure(code=StreamErrorCode.TIMESTAMP_JUMP, detail="the camera's timestamps jumped by 3600.0 s")


def test_the_first_is_told_at_once_and_each_code_for_itself():
    troubles = Troubles()
    assert troubles.heard(LOSS, 0.0) == LOSS
    assert troubles.heard(JUMP, 0.0) == JUMP


def test_what_comes_again_soon_is_counted_and_told_later():
    troubles = Troubles()
    troubles.heard(LOSS, 0.0)
    assert [troubles.heard(LOSS, at) for at in (1.0, 2.0, TELL_EVERY - 0.1)] == [None, None, None]
    told = troubles.heard(LOSS, TELL_EVERY)
    assert told is not None
    assert told.detail == "3 packets were lost, and 3 times since last told"
    assert troubles.heard(LOSS, 2 * TELL_EVERY) == LOSS
