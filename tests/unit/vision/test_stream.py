"""How a stream does."""

import pytest

from streamward.model.status import StreamState, Substate
from streamward.model.stream_error import StreamErrorCode, StreamFailure
from streamward.vision.stream import (
    BLIND,
    BROKEN,
    FIRST_FRAME_WITHIN,
    FROZEN,
    FROZEN_AFTER,
    LATE,
    LONGEST_STALL,
    MENDED_WITHIN,
    REMEMBERED_FOR,
    REPEATED_WITHIN,
    SECOND_UNIT_WITHIN,
    SEEN_FOR,
    SILENT,
    STALL_AFTER,
    STALL_INTERVALS,
    UNREADABLE,
    StallLimit,
    StreamWatch,
)

FPS = 10


def failure(code: StreamErrorCode) -> StreamFailure:
    return StreamFailure(code=code, detail=f"a sentence about {code}")


def playing(watch: StreamWatch | None = None, *, at: float = 0.0) -> StreamWatch:
    watch = watch or StreamWatch()
    watch.dialing()
    watch.connected(at)
    return watch


def show(watch: StreamWatch, since: float, until: float, *, picture: int | None = None) -> StreamWatch:
    """Frames from one moment to another, each with a picture of its own unless told."""
    for number in range(int(since * FPS), int(until * FPS) + 1):
        now = number / FPS
        watch.unit(now)
        watch.frame(now, now)
        watch.looked(number if picture is None else picture, now)
    return watch


def streaming(until: float) -> StreamWatch:
    return show(playing(), 0.0, until)


def test_a_stream_streams_with_its_first_frame():
    watch = StreamWatch()
    watch.dialing()
    assert watch.condition(0.0).state is StreamState.CONNECTING
    watch.connected(0.5)
    assert watch.condition(0.5).substate is None
    watch.unit(0.9)
    assert watch.condition(0.9).substate is Substate.WAITING_FOR_KEYFRAME
    watch.frame(1.0, 1.1)
    condition = watch.condition(1.1)
    assert (condition.state, condition.substate, condition.last_frame_at) == (StreamState.STREAMING, None, 1.0)


def test_a_stream_to_which_nothing_comes_any_more_is_stalled():
    watch = streaming(10)
    assert watch.stall(10 + STALL_AFTER - 0.1) is None
    assert watch.stall(10 + STALL_AFTER) is SILENT
    watch.lost(failure(StreamErrorCode.FRAME_STALL), substate=Substate.STALLED)
    assert watch.stall(20) is None
    condition = watch.condition(20)
    assert (condition.state, condition.substate) == (StreamState.DISCONNECTED, Substate.STALLED)
    assert condition.error_code == "FRAME_STALL"


def test_a_camera_that_plays_and_sends_nothing_is_stalled():
    watch = playing(at=3.0)
    assert watch.stall(3 + STALL_AFTER - 0.1) is None
    assert watch.stall(3 + STALL_AFTER) is SILENT


def test_a_camera_that_is_being_dialed_is_not_stalled():
    watch = StreamWatch()
    watch.dialing()
    watch.unit(1.0)
    watch.troubled(failure(StreamErrorCode.CORRUPT_STREAM), 1.0)
    watch.looked(1, 1.0)
    assert watch.stall(100) is None


def waiting(until: float) -> StreamWatch:
    """Pictures come, but none to begin with, which was told."""
    watch = playing()
    for second in range(int(until) + 1):
        watch.unit(second)
    assert watch.stall(STALL_AFTER) is LATE
    return watch


def test_pictures_without_one_to_begin_with_are_borne_for_longer():
    watch = waiting(FIRST_FRAME_WITHIN)
    assert watch.stall(FIRST_FRAME_WITHIN - 0.1) is None
    assert watch.stall(FIRST_FRAME_WITHIN) is BLIND


def test_with_damage_they_are_borne_a_little_longer():
    watch = waiting(MENDED_WITHIN)
    watch.troubled(failure(StreamErrorCode.CORRUPT_STREAM), MENDED_WITHIN)
    assert watch.stall(MENDED_WITHIN - 0.1) is None
    assert watch.stall(MENDED_WITHIN) is BROKEN


def test_a_wait_for_a_picture_to_begin_with_is_told_once_when_others_would_be_stalled():
    watch = playing()
    watch.unit(0.0)
    watch.unit(STALL_AFTER)
    assert watch.stall(STALL_AFTER - 0.1) is None
    assert watch.condition(STALL_AFTER).error_code is None
    assert watch.stall(STALL_AFTER) is LATE
    assert watch.stall(STALL_AFTER + 1) is None
    condition = watch.condition(STALL_AFTER + 1)
    assert (condition.state, condition.substate) == (StreamState.CONNECTING, Substate.WAITING_FOR_KEYFRAME)
    assert condition.error_code == "NO_KEYFRAME"
    watch.frame(9.0, 9.0)
    assert watch.condition(9.0).error_code is None


def test_pictures_that_cannot_be_decoded_are_a_stall():
    watch = streaming(10)
    for second in range(10, 10 + int(STALL_AFTER) + 1):
        watch.unit(second)
    assert watch.stall(10 + STALL_AFTER) is UNREADABLE


@pytest.mark.parametrize("came_at", [10, 10 + STALL_AFTER])
def test_a_stall_amid_damage_is_told_as_damage(came_at: float):
    watch = streaming(10)
    watch.troubled(failure(StreamErrorCode.CORRUPT_STREAM), 11)
    watch.unit(came_at)
    assert watch.stall(10 + STALL_AFTER) is BROKEN


def test_damage_long_before_is_not_blamed():
    watch = streaming(10)
    watch.troubled(failure(StreamErrorCode.CORRUPT_STREAM), 8)
    assert watch.stall(10 + STALL_AFTER) is SILENT


def test_a_picture_that_does_not_change_is_frozen():
    watch = show(streaming(5), 5, 5 + FROZEN_AFTER - 0.1, picture=7)
    assert watch.stall(5 + FROZEN_AFTER - 0.1) is None
    show(watch, 5 + FROZEN_AFTER, 5 + FROZEN_AFTER, picture=7)
    assert watch.stall(5 + FROZEN_AFTER) is FROZEN


def test_what_nobody_looked_at_is_not_frozen():
    watch = show(streaming(5), 5, 6, picture=7)
    for at in range(7, 100):
        watch.unit(at)
        watch.frame(at, at)
        assert watch.stall(at) is None
    watch.looked(8, 100)  # it looks once in a long while, and sees another picture each time
    assert watch.stall(100) is None


def test_a_picture_that_is_frozen_after_another_dial_too_is_told_and_left_alone():
    watch = show(playing(), 0, FROZEN_AFTER, picture=7)
    assert watch.stall(FROZEN_AFTER) is FROZEN
    watch.lost(FROZEN, substate=Substate.STALLED)
    show(playing(watch, at=30), 30, 90, picture=7)
    assert watch.stall(90) is None
    condition = watch.condition(90)
    assert (condition.state, condition.substate) == (StreamState.STREAMING, Substate.STALLED)
    assert condition.error_code == "FRAME_STALL"
    show(watch, 91, 92)
    assert watch.condition(92).substate is None


def test_a_picture_that_froze_in_another_connection_is_given_its_time_anew():
    watch = show(playing(), 0, FROZEN_AFTER - 1, picture=7)
    watch.lost(failure(StreamErrorCode.TCP_REFUSED))
    show(playing(watch, at=30), 30, 40, picture=7)
    assert watch.stall(40) is None


def test_frames_a_second_are_those_of_the_last_seconds():
    watch = streaming(20)
    assert 9.5 <= watch.condition(20).fps <= 10.5
    assert watch.condition(22.5).fps < 6
    assert watch.condition(26).fps == 0


def test_how_long_it_ran_is_known_when_it_is_lost():
    assert streaming(12).lost(failure(StreamErrorCode.TCP_REFUSED)) == 12
    assert playing().lost(failure(StreamErrorCode.TCP_REFUSED)) == 0
    assert StreamWatch().lost(failure(StreamErrorCode.TCP_REFUSED)) == 0


def test_a_frame_of_a_connection_that_was_lost_changes_nothing():
    watch = streaming(1)
    watch.lost(failure(StreamErrorCode.TCP_REFUSED))
    watch.frame(1.1, 1.2)
    assert watch.condition(1.2).state is StreamState.DISCONNECTED


def test_changes_are_told_at_once_and_the_rest_every_few_seconds():
    watch = playing()
    assert watch.due(0.0) is not None
    assert watch.due(4.9) is None
    assert watch.due(5.0) is not None
    watch.frame(5.1, 5.1)
    told = watch.due(5.1)
    assert told is not None
    assert told.state is StreamState.STREAMING
    watch.frame(5.2, 5.2)
    assert watch.due(5.2) is None
    watch.lost(failure(StreamErrorCode.TCP_REFUSED))
    assert watch.due(5.3) is not None


def test_a_stream_whose_detector_fails_runs_on_degraded_until_it_has_worked_for_a_while():
    watch = streaming(1)
    watch.troubled(failure(StreamErrorCode.DETECTOR_FAILED), 1.0)
    for now in (1.0, 1.0 + SEEN_FOR - 0.1):
        watch.frame(now, now)
        watch.looked(7, now)
        told = watch.condition(now)
        assert (told.state, told.substate) == (StreamState.STREAMING, Substate.DEGRADED)
        assert told.error_code == StreamErrorCode.DETECTOR_FAILED
    watch.looked(8, 1.0 + SEEN_FOR)
    watch.frame(6.1, 6.1)
    assert (watch.condition(6.1).substate, watch.condition(6.1).error_code) == (None, None)


def test_what_a_detector_does_between_two_connections_is_remembered_for_the_next():
    watch = playing()
    watch.unit(0.0)
    watch.troubled(failure(StreamErrorCode.DETECTOR_FAILED), 0.0)
    watch.troubled(failure(StreamErrorCode.TIMESTAMP_JUMP), 0.0)
    assert watch.condition(0.0).substate is Substate.WAITING_FOR_KEYFRAME
    watch.frame(0.1, 0.1)
    assert watch.condition(0.1).substate is Substate.DEGRADED


def test_the_end_of_a_stream_is_announced_once_and_what_follows_anew():
    watch = streaming(3.0)
    assert watch.due(3.0) is not None
    ended = watch.ended(3.1)
    assert ended is not None
    assert (ended.state, ended.substate, ended.error_code) == (StreamState.DISCONNECTED, None, None)
    assert ended.last_frame_at == watch.condition(3.1).last_frame_at
    assert watch.ended(3.2) is None
    resumed = watch.due(3.3)
    assert resumed is not None
    assert resumed.state is StreamState.STREAMING


def test_a_stream_that_was_told_as_disconnected_has_no_other_end():
    watch = streaming(3.0)
    watch.lost(failure(StreamErrorCode.TCP_REFUSED))
    assert watch.due(3.0) is not None
    assert watch.ended(3.1) is None


def test_a_stream_of_which_nothing_was_told_ends_too():
    assert StreamWatch().ended(0.0) is not None


def test_a_wait_amid_corrupt_frames_is_reported_as_corrupt_and_not_as_a_missing_keyframe():
    watch = playing()
    watch.unit(0.0)
    watch.unit(STALL_AFTER)
    watch.troubled(failure(StreamErrorCode.CORRUPT_STREAM), STALL_AFTER)
    assert watch.stall(STALL_AFTER) is None
    condition = watch.condition(STALL_AFTER)
    assert (condition.state, condition.error_code) == (StreamState.CONNECTING, StreamErrorCode.CORRUPT_STREAM)


def test_a_stream_of_which_half_of_the_frames_are_corrupt_is_degraded_until_fewer_are():
    watch = playing()
    for number in range(20):
        watch.frame(number / FPS, number / FPS)
        if number % 2:
            watch.troubled(failure(StreamErrorCode.CORRUPT_STREAM), number / FPS)
    degraded = watch.condition(2.0)
    assert (degraded.state, degraded.substate) == (StreamState.STREAMING, Substate.DEGRADED)
    assert degraded.error_code == StreamErrorCode.CORRUPT_STREAM
    show(watch, 2, 3)
    assert (watch.condition(3.0).substate, watch.condition(3.0).error_code) == (None, None)


@pytest.mark.parametrize("interval", [3.0, 5.0, 10.0, 20.0])
def test_a_slow_camera_is_stalled_after_some_of_its_own_intervals(interval: float):
    watch = playing()
    for number in range(4):
        at = number * interval
        assert watch.stall(at) is None
        watch.unit(at)
        watch.frame(at, at)
    assert watch.condition(at).fps == pytest.approx(1 / interval, rel=0.5)
    limit = STALL_INTERVALS * interval
    assert watch.stall(at + limit - 0.1) is None
    assert watch.stall(at + limit) is SILENT


def test_no_camera_is_silent_for_longer_than_the_longest_stall():
    limit = StallLimit()
    limit.arrived(1000.0, 0.0)
    assert limit.seconds == LONGEST_STALL


def test_a_camera_of_which_one_access_unit_arrived_has_time_for_the_second():
    watch = playing()
    watch.unit(0.0)
    watch.frame(0.0, 0.0)
    assert watch.stall(SECOND_UNIT_WITHIN - 0.1) is None
    assert watch.stall(SECOND_UNIT_WITHIN) is SILENT


def test_a_camera_that_sends_nothing_after_play_has_twice_the_time_each_time_until_it_sends_something():
    watch, limits = StreamWatch(), []
    for _ in range(6):
        playing(watch)
        limits.append(next(at for at in range(1, 100) if watch.stall(at) is SILENT))
    assert limits == [4, 8, 16, 32, 60, 4]
    playing(watch)
    watch.unit(3.0)
    playing(watch)
    assert watch.stall(STALL_AFTER) is SILENT


def test_a_silence_that_a_new_connection_does_not_end_is_an_interval_of_the_camera():
    watch = streaming(10)
    assert watch.stall(10 + STALL_AFTER) is SILENT
    playing(watch, at=15)
    watch.unit(20)
    show(watch, 20, 30)
    assert watch.stall(30 + STALL_INTERVALS * 10 - 0.1) is None
    assert watch.stall(30 + STALL_INTERVALS * 10) is SILENT


@pytest.mark.parametrize(("began_at", "unit_at"), [(15.0, 15.1), (190.0, 193.0)])
def test_the_time_without_a_connection_is_no_interval(began_at: float, unit_at: float):
    watch = streaming(10)
    playing(watch, at=began_at)
    watch.unit(unit_at)
    assert watch.stall(unit_at + STALL_AFTER) is SILENT


def test_the_time_in_which_something_was_lost_is_no_interval():
    watch = streaming(10)
    watch.troubled(failure(StreamErrorCode.CORRUPT_STREAM), 11)
    watch.unit(13)
    assert watch.stall(13 + STALL_AFTER) is SILENT


def test_the_limit_doubles_when_stalls_follow_each_other_and_is_short_again_later():
    limit = StallLimit()
    limit.stalled(0.0, has_unit=True)
    assert limit.seconds == STALL_AFTER
    limit.stalled(REPEATED_WITHIN, has_unit=True)
    assert limit.seconds == 2 * STALL_AFTER
    limit.arrived(0.1, REPEATED_WITHIN + REMEMBERED_FOR - 0.1)
    assert limit.seconds == 2 * STALL_AFTER
    limit.arrived(0.1, REPEATED_WITHIN + REMEMBERED_FOR)
    assert limit.seconds == STALL_AFTER


def test_a_pause_that_comes_again_is_remembered():
    limit = StallLimit()
    for at in range(0, 2000, 20):
        limit.arrived(10.0 if at % 200 else 9.0, at)
        limit.arrived(0.1, at + 10)
    assert limit.seconds == STALL_INTERVALS * 10.0


def test_a_slow_camera_has_as_many_frames_for_its_keyframe_as_another():
    watch, within = playing(), FIRST_FRAME_WITHIN * STALL_INTERVALS * 10 / STALL_AFTER
    for at in range(0, int(within), 10):
        watch.unit(at)
        assert watch.stall(at) in (None, LATE)
    assert watch.stall(within - 0.1) is None
    assert watch.stall(within) is BLIND


def test_a_lost_connection_is_told_with_its_sentence_and_the_next_try_until_it_is_dialed_again():
    watch = StreamWatch()
    watch.lost(failure(StreamErrorCode.TCP_REFUSED))
    watch.retry(7.5)
    condition = watch.condition(5.0)
    assert (condition.error_code, condition.error_detail) == ("TCP_REFUSED", "a sentence about TCP_REFUSED")
    assert condition.retry_at == 7.5
    watch.dialing()
    condition = watch.condition(7.5)
    assert (condition.error_detail, condition.retry_at) == ("a sentence about TCP_REFUSED", None)
    show(playing(watch, at=8.0), 8.0, 9.0)
    assert watch.condition(9.0).error_detail is None


def test_a_detector_that_fails_is_told_with_its_sentence():
    watch = streaming(1)
    watch.troubled(failure(StreamErrorCode.DETECTOR_FAILED), 1.0)
    assert watch.condition(1.0).error_detail == "a sentence about DETECTOR_FAILED"


def test_before_the_first_access_unit_no_keyframe_is_waited_for():
    watch = playing()
    assert watch.stall(STALL_AFTER) is SILENT
    playing(watch)
    assert watch.stall(STALL_AFTER) is None
    watch.unit(5.0)
    assert watch.stall(5.0 + STALL_AFTER - 0.1) is None
    assert watch.stall(5.0 + STALL_AFTER) is LATE
