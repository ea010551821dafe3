"""How a stream does."""

from streamward.model.status import StreamState, Substate
from streamward.vision.stream import STALL_AFTER, STEADY_AFTER, StreamWatch


def streaming(until: float, *, fps: int = 10) -> StreamWatch:
    watch = StreamWatch()
    watch.dialing()
    watch.connected()
    for number in range(int(until * fps) + 1):
        watch.frame(number / fps)
    return watch


def test_a_stream_streams_with_its_first_frame():
    watch = StreamWatch()
    watch.dialing()
    assert watch.condition(0.0).state is StreamState.CONNECTING
    watch.connected()
    assert watch.condition(0.0).substate is Substate.WAITING_FOR_KEYFRAME
    watch.frame(1.0)
    condition = watch.condition(1.0)
    assert (condition.state, condition.substate, condition.last_frame_at) == (StreamState.STREAMING, None, 1.0)


def test_a_stream_without_frames_is_stalled():
    watch = streaming(10)
    assert not watch.is_stalled(10 + STALL_AFTER - 0.1)
    assert watch.is_stalled(10 + STALL_AFTER)
    watch.lost("FRAME_STALL", substate=Substate.STALLED)
    assert not watch.is_stalled(20)
    condition = watch.condition(20)
    assert (condition.state, condition.substate) == (StreamState.DISCONNECTED, Substate.STALLED)
    assert condition.error_code == "FRAME_STALL"


def test_a_stream_that_never_had_a_frame_is_not_stalled_but_connecting():
    watch = StreamWatch()
    watch.dialing()
    assert not watch.is_stalled(100)


def test_frames_a_second_are_those_of_the_last_seconds():
    watch = streaming(20)
    assert 9.5 <= watch.condition(20).fps <= 10.5
    assert watch.condition(22.5).fps < 6
    assert watch.condition(26).fps == 0


def test_failures_are_forgotten_after_steady_frames():
    watch = streaming(1)
    assert not watch.is_steady(STEADY_AFTER - 1)
    assert watch.is_steady(STEADY_AFTER)
    watch.lost("TCP_REFUSED")
    assert not watch.is_steady(1000)


def test_changes_are_told_at_once_and_the_rest_every_few_seconds():
    watch = StreamWatch()
    watch.dialing()
    assert watch.due(0.0) is not None
    assert watch.due(4.9) is None
    assert watch.due(5.0) is not None
    watch.frame(5.1)
    told = watch.due(5.1)
    assert told is not None
    assert told.state is StreamState.STREAMING
    watch.frame(5.2)
    assert watch.due(5.2) is None
    watch.lost("TCP_REFUSED")
    assert watch.due(5.3) is not None
