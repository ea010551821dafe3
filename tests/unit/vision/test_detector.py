"""From a detector's picture to the camera's."""

from typing import Any

import numpy as np
import pytest

from streamward.model.detection import Box, Detection, Detections
from streamward.vision.detector import (
    AnswerUnusable,
    DetectorUnusable,
    Size,
    checked,
    enlarged,
    for_camera,
    shown_size,
)


class Eye:
    """A detector for pictures of one size, or of one room."""

    size = Size(640, 640)

    def __init__(self, *, keeps_shape: bool = False) -> None:
        self.keeps_shape = keeps_shape

    def detect(self, _image: Any) -> Detections:
        return ()


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
    seen = (Detection("car", 0.9, Box(10, 20, 30, 40)),)
    assert enlarged(seen, shown=Size(320, 180), sent=Size(1280, 720)) == (Detection("car", 0.9, Box(40, 80, 120, 160)),)


def test_what_others_found_is_taken_in_numbers_of_our_own():
    confidence: Any = np.float32(0.5)
    corner: Any = np.int64(3)
    (seen,) = checked([Detection("car", confidence, Box(1, 2, corner, 4))])
    assert seen == Detection("car", 0.5, Box(1.0, 2.0, 3.0, 4.0))
    assert {type(each) for each in (seen.confidence, seen.box.x2)} == {float}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (None, "a NoneType instead of a list of detections"),
        (["car"], "a str instead of a detection with a label and a box"),
        ([Detection("car", 0.5, (1, 2, 3, 4))], "a Detection instead of a detection with a label and a box"),  # type: ignore[arg-type]
        ([Detection("car", "sure", Box(1, 2, 3, 4))], "whose confidence or box is not made of numbers"),  # type: ignore[arg-type]
        ([Detection("car", float("nan"), Box(1, 2, 3, 4))], "whose confidence or box is not finite"),
        ([Detection("car", 0.5, Box(1, 2, float("inf"), 4))], "whose confidence or box is not finite"),
    ],
)
def test_what_is_no_detection_is_refused_in_one_sentence(answer, why):
    with pytest.raises(AnswerUnusable, match=f"^the detector's answer cannot be used: .*{why}"):
        checked(answer)


def test_a_detector_that_cannot_be_had_says_which_and_why():
    assert str(DetectorUnusable("colur", "nobody has it")) == "the detector colur cannot be used: nobody has it"
