"""What a Worker says of a camera that it takes over, and what it keeps to itself."""

from dataclasses import replace

from streamward.model.detection import Box, Detection
from streamward.model.ids import CameraId
from streamward.model.zone import Crossing, ZoneEvent
from streamward.vision.detections import NOTHING, Detections
from streamward.vision.speech import KEPT_FOR, MOST_KEPT, Speech
from streamward.vision.watchdog import Seen


def seen(arrived_at: float) -> Seen:
    frame = round(arrived_at * 10)
    return Seen(
        camera_id=CameraId("cam-1"), frame=frame, arrived_at=arrived_at, detections=NOTHING, inference_s=0.0, picture=0
    )


def test_who_speaks_speaks_of_everything() -> None:
    assert Speech().admit(seen(1.0))


def test_who_is_let_speak_begins_half_an_interval_after_the_other_one_ended() -> None:
    speech = Speech(is_silent=True)
    assert not any(speech.admit(seen(at)) for at in (9.7, 9.9, 10.05, 10.2))
    assert [each.arrived_at for each in speech.resume(after=10.0, interval=0.2)] == [10.2]
    assert speech.admit(seen(10.4))
    assert speech.resume(after=10.4, interval=0.2) == []


def test_who_is_hushed_keeps_what_it_sees_for_a_while() -> None:
    speech = Speech()
    speech.admit(seen(0.5))
    speech.hush()
    speech.admit(seen(1.0))
    speech.admit(seen(1.5 + KEPT_FOR))
    assert [each.arrived_at for each in speech.resume(after=0.0, interval=0.2)] == [1.5 + KEPT_FOR]
    assert not speech.is_silent


def test_the_first_that_is_told_says_who_is_where() -> None:
    inside = replace(
        Detections.of([Detection("person", 0.9, Box(0, 0, 1, 1)), Detection("car", 0.9, Box(0, 0, 1, 1))]),
        track_ids=(7, 8),
        zones=(("door", "yard"), ()),
    )
    left = ZoneEvent(kind=Crossing.LEAVE, zone="door", track_id=6, label="person", at=0.5)
    look = replace(seen(1.0), detections=inside, zone_events=(left,))  # who left was never told to have entered
    speech = Speech()
    told = speech.introduce(look).zone_events
    assert [(each.kind.value, each.zone, each.track_id, each.at) for each in told] == [
        ("enter", "door", 7, 1.0),
        ("enter", "yard", 7, 1.0),
    ]
    assert speech.introduce(look) is look
    speech.hush()
    assert speech.introduce(look).zone_events == told


def test_what_is_kept_is_bounded() -> None:
    speech = Speech(is_silent=True)
    for number in range(10 * MOST_KEPT):
        speech.admit(seen(number / 1000))
    assert len(speech.resume(after=0.0, interval=0.0)) == MOST_KEPT


def test_the_first_that_a_silent_one_sees_may_be_old_and_counts_for_nothing() -> None:
    speech = Speech(is_silent=True)
    assert not speech.admit(seen(1.0))
    assert not speech.is_fit
    assert not speech.admit(seen(1.2))
    assert speech.is_fit
    assert [each.arrived_at for each in speech.resume(after=0.0, interval=0.2)] == [1.2]
    assert speech.is_fit
