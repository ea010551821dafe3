"""Which pictures of a camera were lost."""

from datetime import UTC, datetime

import msgspec
import pytest

from streamward.drills.reconfig.frames import Frames, Seen, lost
from streamward.model.status import StreamState
from streamward.protocol.events import DetectionEvent, SeenThing
from streamward.protocol.streams import StreamReport
from tests.support.builders import an_event


def looked_at(camera: str, *, frame: int, place: int) -> DetectionEvent:
    mark = SeenThing(label=f"mark.1.{place}.7000000", conf=1.0, bbox_xyxy=[0, 0, 1, 1])
    return msgspec.structs.replace(an_event(), camera_uuid=camera, frame_id=frame, detections=[mark])


@pytest.mark.parametrize(
    ("before", "seen", "count"),
    [
        (Seen(10, 20), Seen(15, 25), 0),
        (Seen(10, 123), Seen(15, 3), 0),  # the loop began again
        (Seen(10, 20), Seen(14, 25), 1),
        (Seen(10, 20), Seen(135, 20), 0),  # a whole loop
        (Seen(10, 20), Seen(132, 20), 3),
    ],
)
def test_count_and_place_go_on_by_as_many(before: Seen, seen: Seen, count: int):
    assert lost(before, seen, loop=125) == count


def test_each_camera_is_followed_by_itself():
    frames = Frames(loop=125)
    for camera, frame, place in (("a", 1, 7), ("b", 1, 9), ("a", 6, 12), ("b", 5, 14)):
        frames.heard_detection(looked_at(camera, frame=frame, place=place))
    assert dict(frames.lost) == {"a": 0, "b": 1}
    assert dict(frames.begun) == {"a": 1, "b": 1}


def test_a_count_that_begins_anew_loses_nothing_but_is_told():
    frames = Frames(loop=125)
    for frame, place in ((50, 7), (1, 90)):
        frames.heard_detection(looked_at("a", frame=frame, place=place))
    assert not frames.lost["a"]
    assert frames.begun["a"] == 2


def test_a_picture_whose_mark_could_not_be_read_is_counted_apart():
    frames = Frames(loop=125)
    frames.heard_detection(looked_at("a", frame=1, place=-1))
    assert frames.unread == 1


def test_it_is_noted_when_a_camera_was_told_to_stream():
    frames = Frames(loop=125)
    for state in (StreamState.CONNECTING, StreamState.STREAMING):
        report = StreamReport(camera_uuid="a", runner_id="r1", state=state, ts=datetime(2026, 1, 1, tzinfo=UTC))
        frames.heard_status(report, 7.0)
    assert frames.streamed == {"a": [7.0]}
