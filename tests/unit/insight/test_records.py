"""What is kept of detections, as others are shown it."""

from streamward.insight.analysis import Recorded
from streamward.insight.records import DetectionRecord
from tests.support.builders import CAMERA, START, at
from tests.support.sightings import PERSON, a_batch_id, a_seen


def test_an_analyst_is_shown_what_was_seen_and_when():
    record = DetectionRecord(
        detection_id=7, seen=a_seen(made_at=at(3)), is_late=True, stored_at=START, batch_id=a_batch_id(1)
    )
    assert record.recorded == Recorded(
        detection_id=7, camera_id=CAMERA, made_at=at(3), detection=PERSON, is_late=True, batch_id=a_batch_id(1)
    )
