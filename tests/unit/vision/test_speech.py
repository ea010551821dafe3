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


def crossing(kind: Crossing, track_id: int) -> ZoneEvent:
    return ZoneEvent(kind=kind, zone="door", track_id=track_id, label="person", at=0.5)


def inside(*track_ids: int, events: tuple[ZoneEvent, ...] = ()) -> Seen:
    """A look that shows these at the door."""
    found = Detections.of(Detection("person", 0.9, Box(0, 0, 1, 1)) for _ in track_ids)
    there = replace(found, track_ids=track_ids, zones=(("door",),) * len(track_ids))
    return replace(seen(1.0), detections=there, zone_events=events)


def told(speech: Speech, look: Seen) -> list[tuple[str, int, float]]:
    return [(each.kind.value, each.track_id, each.at) for each in speech.introduce(look).zone_events]


def test_who_entered_while_nobody_heard_of_it_enters_when_it_is_spoken_of() -> None:
    speech = Speech()
    left = crossing(Crossing.LEAVE, 6)  # who was never told to have entered
    assert told(speech, inside(7, events=(left,))) == [("enter", 7, 1.0)]
    assert told(speech, inside(7, 8, events=(crossing(Crossing.ENTER, 8),))) == [("enter", 8, 0.5)]
    assert told(speech, inside(7, 8, events=(crossing(Crossing.DWELL, 7),))) == [("dwell", 7, 0.5)]
    assert told(speech, inside(9, events=(crossing(Crossing.LEAVE, 7),))) == [("enter", 9, 1.0), ("leave", 7, 0.5)]
    assert told(speech, inside(8)) == []


def test_who_was_missed_at_first_still_enters_before_it_stays() -> None:
    speech = Speech()
    assert told(speech, inside()) == []
    assert told(speech, inside(events=(crossing(Crossing.DWELL, 7),))) == []
    assert told(speech, inside(7)) == [("enter", 7, 1.0)]


def test_another_one_who_spoke_meanwhile_told_of_none_of_these() -> None:
    speech = Speech()
    told(speech, inside(7))
    speech.hush()
    assert told(speech, inside(7)) == [("enter", 7, 1.0)]


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
