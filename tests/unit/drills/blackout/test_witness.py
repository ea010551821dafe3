"""What was heard of cameras around a blackout."""

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from streamward.drills.blackout.witness import Witness
from streamward.model.status import StreamState
from streamward.protocol.events import DetectionEvent
from streamward.protocol.streams import StreamReport
from tests.support.builders import an_event

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
WORKER = ("r1", "inc-1", "s0")


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def made(seconds: float, *, number: int, name: str | None = None, camera: str = "a") -> DetectionEvent:
    event_id = f"{camera}.{number}" if name is None else name
    return replace(an_event(), ts=at(seconds), seq=number, event_id=event_id, camera_uuid=camera)


def heard(*events: DetectionEvent) -> Witness:
    witness = Witness()
    for event in events:
        witness.heard_detection(event)
    return witness


def test_detections_are_told_by_their_dates_in_whatever_order_they_come():
    witness = heard(made(3, number=3), made(1, number=1), made(2, number=2), made(2, number=4, camera="b"))
    assert witness.cameras == {"a", "b"}
    assert witness.made("a", since=at(1)) == [at(2), at(3)]
    assert witness.made("a", since=at(0), until=at(2)) == [at(1), at(2)]


def test_a_gap_reaches_over_the_ends_of_the_time_that_is_asked_about():
    witness = heard(*(made(each, number=each) for each in (1, 6, 8, 20)))
    assert witness.gap("a", since=at(3), until=at(9)) == 12.0
    assert witness.gap("a", since=at(3), until=at(7)) == 5.0


def test_a_gap_ends_with_the_time_if_nothing_was_heard_beyond():
    witness = heard(made(5, number=1))
    assert witness.gap("a", since=at(0), until=at(11)) == 6.0
    assert witness.gap("b", since=at(0), until=at(11)) == 11.0


def test_a_number_that_never_came_is_a_detection_lost():
    witness = heard(made(1, number=1), made(3, number=3))
    assert witness.newest() == {WORKER: 3}
    assert witness.missing({WORKER: 3}) == 1
    witness.heard_detection(made(2, number=2))
    witness.heard_detection(made(9, number=9))
    assert witness.missing({WORKER: 3}) == 0


def test_another_name_under_a_number_is_a_detection_doubled_and_the_same_name_is_not():
    witness = heard(made(1, number=1), made(1, number=1))
    assert witness.doubled == 0
    witness.heard_detection(made(1, number=1, name="another"))
    assert witness.doubled == 1


def test_the_last_that_was_told_of_a_stream_counts():
    witness = Witness()
    for camera, state in (("a", "STREAMING"), ("b", "STREAMING"), ("a", "DISCONNECTED"), ("c", "DISCONNECTED")):
        report = StreamReport(camera_uuid=camera, runner_id="r1", state=StreamState(state), ts=NOON)
        witness.heard_status(report, 1.0)
    assert witness.streaming == {"b": 1.0}
