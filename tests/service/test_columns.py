"""Detections in columns, as the library `supervision` has them, and back."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from streamward.drivers.detectors.columns import from_columns, to_columns
from streamward.drivers.detectors.loading import FunctionDetector
from streamward.model.detection import Box, Detection
from streamward.vision.detector import AnswerUnusable

SEEN = (
    Detection("person", 0.75, Box(1, 2, 3, 4)),
    Detection("car", 0.5, Box(5, 6, 7, 8)),
    Detection("person", 0.25, Box(0, 0, 1, 1)),
)


@dataclass
class Columnar:
    """With the fields of `supervision.Detections`."""

    xyxy: Any
    mask: Any = None
    confidence: Any = None
    class_id: Any = None
    tracker_id: Any = None
    data: dict[str, Any] = field(default_factory=dict)


@pytest.mark.parametrize("seen", [SEEN, ()])
def test_there_and_back_is_the_same(seen):
    columns = Columnar(**to_columns(seen))
    assert len(columns.xyxy) == len(seen)
    assert from_columns(columns) == seen
    assert list(columns.class_id) == ([1, 0, 1] if seen else [])


def test_a_function_that_returns_columns_is_a_detector():
    detector = FunctionDetector("any", lambda _image: Columnar(**to_columns(SEEN)))
    assert detector.detect(np.zeros((360, 640, 3), np.uint8)) == SEEN


def test_what_is_not_named_is_called_by_its_class():
    columns = Columnar(np.array([[1, 2, 3, 4]]), class_id=np.array([7]))
    assert from_columns(columns) == (Detection("class 7", 1.0, Box(1, 2, 3, 4)),)


@pytest.mark.parametrize(
    "columns",
    [
        Columnar(np.zeros((2, 4)), confidence=np.zeros(1)),
        Columnar(np.zeros((2, 3))),
        Columnar("boxes"),
        Columnar(np.zeros((1, 4)), confidence=["sure"]),
        Columnar(np.zeros((1, 4)), data=7),  # type: ignore[arg-type]
    ],
)
def test_columns_that_do_not_go_together_are_refused(columns):
    with pytest.raises(AnswerUnusable, match="columns that are not boxes"):
        from_columns(columns)
