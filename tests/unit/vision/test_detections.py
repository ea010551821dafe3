"""What was seen, in columns: rows in and out, what others call detections, and how boxes overlap."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.model.detection import Box, Detection
from streamward.vision.detections import NOTHING, Detections, checked, overlaps
from streamward.vision.unusable import AnswerUnusable

ROWS = (
    Detection("person", 0.75, Box(1, 2, 3, 4)),
    Detection("car", 0.5, Box(5, 6, 7, 8)),
    Detection("person", 0.25, Box(0, 0, 1, 1)),
)
SEEN = Detections.of(ROWS)
EDGE = st.floats(-10, 10)
BOX = st.tuples(EDGE, EDGE, EDGE, EDGE)


@dataclass
class Columnar:
    """With the fields of `supervision.Detections`."""

    xyxy: Any
    mask: Any = None
    confidence: Any = None
    class_id: Any = None
    tracker_id: Any = None
    data: dict[str, Any] = field(default_factory=dict)


def test_rows_go_in_and_come_out():
    assert tuple(SEEN) == ROWS
    assert len(SEEN) == 3
    assert {type(each) for row in SEEN for each in (row.confidence, row.box.x1)} == {float}
    assert tuple(NOTHING) == ()


def test_what_was_said_of_each_row_stays_with_it():
    said = replace(SEEN, track_ids=(7, 8, 9), zones=(("door",), (), ("door", "yard")))
    kept = said.where(SEEN.confidence < 0.6)
    assert [(each.label, each.track_id, each.zones) for each in kept] == [
        ("car", 8, ()),
        ("person", 9, ("door", "yard")),
    ]
    assert kept != SEEN.where(SEEN.confidence < 0.6)
    assert kept != tuple(kept)


def test_boxes_in_a_picture_of_another_size():
    assert [each.box for each in SEEN.scaled(2, 10)] == [Box(2, 20, 6, 40), Box(10, 60, 14, 80), Box(0, 0, 2, 10)]


@pytest.mark.parametrize("seen", [SEEN, NOTHING])
def test_there_and_back_is_the_same(seen):
    columns = Columnar(**seen.to_supervision())
    assert len(columns.xyxy) == len(seen)
    assert Detections.from_supervision(columns) == seen
    assert list(columns.class_id) == ([1, 0, 1] if len(seen) else [])


def test_tracks_are_told_as_they_are_called_there():
    assert SEEN.to_supervision()["tracker_id"] is None
    assert list(replace(SEEN, track_ids=(7, 8, 9)).to_supervision()["tracker_id"]) == [7, 8, 9]


def test_what_is_not_named_is_called_by_its_class():
    columns = Columnar(np.array([[1, 2, 3, 4]]), class_id=np.array([7]))
    assert tuple(checked(columns)) == (Detection("class 7", 1.0, Box(1, 2, 3, 4)),)


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
        checked(columns)


def test_what_others_found_is_taken_in_numbers_of_our_own():
    confidence: Any = np.float32(0.5)
    corner: Any = np.int64(3)
    assert tuple(checked([Detection("car", confidence, Box(1, 2, corner, 4))])) == (
        Detection("car", 0.5, Box(1.0, 2.0, 3.0, 4.0)),
    )
    assert checked(SEEN) is SEEN
    (label,) = checked([Detection(np.str_("car"), 0.5, Box(1, 2, 3, 4))]).labels
    assert type(label) is str
    assert len(checked([ROWS[0]] * 1000)) == 1000


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (None, "a NoneType instead of a list of detections"),
        (["car"], "a str instead of a detection with a label and a box"),
        ([Detection("car", 0.5, (1, 2, 3, 4))], "a Detection instead of a detection with a label and a box"),  # type: ignore[arg-type]
        ([Detection("car", "sure", Box(1, 2, 3, 4))], "whose confidence or box is not made of numbers"),  # type: ignore[arg-type]
        ([Detection("car", float("nan"), Box(1, 2, 3, 4))], "whose confidence or box is not finite"),
        ([Detection("car", 0.5, Box(1, 2, float("inf"), 4))], "whose confidence or box is not finite"),
        ([Detection("car", 0.5, Box(1, 2, -1e300, 4))], "a box that is more than 1,000,000 pixels away"),
        ([Detection("c" * 65, 0.5, Box(1, 2, 3, 4))], "a label of more than 64 characters"),
        ([Detection("c" * 1_000_000, 0.5, Box(1, 2, 3, 4))], "a label of more than 64 characters"),
        ([Detection("car\x1b[2J", 0.5, Box(1, 2, 3, 4))], "or of some that cannot be shown"),
        ([Detection("car", np.ones(2), Box(1, 2, 3, 4))], "whose confidence or box is not made of numbers"),  # type: ignore[arg-type]
        ([Detection("car", 0.5, Box(*np.ones((4, 2))))], "whose confidence or box is not made of numbers"),
        ([ROWS[0]] * 1_000_000, "1,000,000 things in one picture, and 1,000 are the most"),
        (Detections.of([ROWS[0]] * 1001), "1,001 things in one picture"),
        (Columnar(xyxy=np.ones((1_000_000, 4))), "1,000,000 things in one picture"),
    ],
)
def test_what_is_no_detection_is_refused_in_one_sentence(answer, why):
    with pytest.raises(AnswerUnusable, match=f"^the detector's answer cannot be used: .*{why}"):
        checked(answer)


@given(st.lists(BOX, max_size=4), st.lists(BOX, max_size=4))
def test_boxes_overlap_in_columns_as_they_do_one_by_one(some, others):
    columns = overlaps(np.array(some).reshape(-1, 4), np.array(others).reshape(-1, 4))
    one_by_one = [[Box(*one).overlap(Box(*other)) for other in others] for one in some]
    assert columns == pytest.approx(np.array(one_by_one).reshape(columns.shape))
