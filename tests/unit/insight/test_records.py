"""What is kept of detections, as others are shown it."""

import pytest

from streamward.insight.analysis import Recorded
from streamward.insight.records import DetectionRecord
from tests.support.builders import CAMERA, START, at
from tests.support.sightings import FOLLOWED, PERSON, a_batch_id, a_seen


def test_an_analyst_is_shown_what_was_seen_and_when():
    record = DetectionRecord(
        detection_id=7,
        seen=a_seen(made_at=at(3)),
        stamped_at=at(4),
        is_late=True,
        stored_at=START,
        batch_id=a_batch_id(1),
    )
    assert record.recorded == Recorded(
        detection_id=7, camera_id=CAMERA, made_at=at(3), detection=PERSON, is_late=True, batch_id=a_batch_id(1)
    )


@pytest.mark.parametrize(("detection", "track"), [(FOLLOWED, "cam-1.3.2.7"), (PERSON, None)])
def test_a_track_is_one_of_its_camera_and_generation_and_epoch(detection, track):
    seen = a_seen("cam-1.3.2.471234", detection=detection)
    record = DetectionRecord(detection_id=7, seen=seen, stamped_at=START, is_late=False, stored_at=START, batch_id=None)
    assert record.recorded.track == track
