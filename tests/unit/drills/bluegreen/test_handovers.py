"""What passing a camera on cost, by the pictures that were looked at."""

import msgspec
import pytest

from streamward.drills.bluegreen.handovers import Handover, Handovers
from streamward.protocol.events import DetectionEvent, SeenThing
from tests.support.builders import an_event


def event(epoch: int, frame: int, label: str) -> DetectionEvent:
    seen = SeenThing(label=label, conf=1.0, bbox_xyxy=[0, 0, 1, 1])
    return msgspec.structs.replace(an_event(), epoch=epoch, frame_id=frame, detections=[seen])


def heard(old: list[int], new: list[int]) -> list[Handover]:
    """The places that each looked at; later ones come first, as they may."""
    handovers = Handovers(loop=125)
    for epoch, places in ((2, new), (1, old)):
        for number, place in enumerate(places):
            handovers.heard_detection(event(epoch, 5 * number, f"mark.1.{place}.0"))
    return handovers.take()


@pytest.mark.parametrize(
    ("old", "new", "pictures", "doubled"),
    [
        ([10, 15, 20], [26, 31], 6, 0),
        ([115, 120], [1, 6], 6, 0),
        ([10, 15, 20], [17, 22], -3, 0),
        ([10, 15, 20], [20, 25], 0, 1),
        ([10, 15, 20], [15, 20, 25], -5, 2),
    ],
)
def test_pictures_between_and_doubled_are_told(old: list[int], new: list[int], pictures: int, doubled: int) -> None:
    assert heard(old, new) == [Handover(camera="cam-1", pictures=pictures, doubled=doubled)]


def test_each_is_told_once_and_what_tells_no_picture_is_counted() -> None:
    handovers = Handovers(loop=125)
    handovers.heard_detection(event(1, 0, "mark.1.10.0"))
    handovers.heard_detection(event(1, 5, "red"))
    handovers.heard_detection(event(1, 10, "mark.1.-1.0"))
    assert (handovers.take(), handovers.unread, handovers.cameras) == ([], 2, {"cam-1"})
    handovers.heard_detection(event(2, 0, "mark.1.15.0"))
    assert [each.pictures for each in handovers.take()] == [5]
    assert handovers.take() == []
