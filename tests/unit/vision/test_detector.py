"""From a detector's picture to the camera's."""

from typing import Any

import pytest

from streamward.model.detection import Box, Detection
from streamward.vision.detections import NOTHING, Detections
from streamward.vision.detector import Size, enlarged, for_camera, least_sure, shown_size


class Eye:
    """A detector for pictures of one size, or of one room."""

    size = Size(640, 640)

    def __init__(self, *, keeps_shape: bool = False) -> None:
        self.keeps_shape = keeps_shape

    def detect(self, _image: Any) -> Detections:
        return NOTHING


class Remembering(Eye):
    def for_camera(self) -> Eye:
        return Eye()


@pytest.mark.parametrize(
    ("sent", "shown"),
    [(Size(1280, 720), Size(640, 360)), (Size(810, 1080), Size(480, 640)), (Size(8000, 1), Size(640, 1))],
)
def test_a_picture_keeps_its_shape_where_a_detector_wants_that(sent, shown):
    assert shown_size(Eye(keeps_shape=True), sent) == shown
    assert shown_size(Eye(), sent) == Size(640, 640)


def test_a_detector_that_remembers_is_another_one_for_each_camera():
    shared, remembering = Eye(), Remembering()
    assert for_camera(shared) is shared
    assert for_camera(remembering) is not for_camera(remembering)


def test_what_was_seen_small_is_told_large():
    seen = Detections.of([Detection("car", 0.9, Box(10, 20, 30, 40))])
    (large,) = enlarged(seen, shown=Size(320, 180), sent=Size(1280, 720))
    assert large == Detection("car", 0.9, Box(40, 80, 120, 160))


def test_a_detector_says_from_when_on_it_is_believed():
    class Doubting(Eye):
        least_sure = 0.4

    assert (least_sure(Eye()), least_sure(Doubting())) == (0.0, 0.4)
