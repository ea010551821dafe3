"""What models put out, read: each form that a head may have, and what nobody can read."""

import numpy as np
import pytest

from streamward.drivers.detectors import heads
from streamward.drivers.detectors.heads import Found, faces, is_settled, settled, ssd, told, yolo
from streamward.model.detection import Box, Detection
from streamward.vision.detector import Size
from streamward.vision.sight import believed
from streamward.vision.unusable import AnswerUnusable

SHOWN = Size(100, 50)
LABELS = {0: "person", 1: "car"}
# A car of 20 × 10 in the middle of (30, 20), and nothing else.
YOLO = np.array([[30, 20, 20, 10, 0.1, 0.75], [50, 40, 5, 5, 0.2, 0.1]] * 10, np.float32)[:11]
CAR = Detection("car", 0.75, Box(20, 15, 40, 25))


def sure(found: Found) -> list[Detection]:
    """What is told of it and believed."""
    return list(believed(told(found, LABELS, SHOWN), heads.LEAST_SURE))


def with_thing(rows: np.ndarray) -> np.ndarray:
    return np.insert(rows, 4, 1.0, axis=1)


@pytest.mark.parametrize(
    ("output", "classes"),
    [(YOLO.T[None], 2), (YOLO.T[None], 0), (with_thing(YOLO)[None], 2), (with_thing(YOLO)[None], 0)],
)
def test_a_yolo_head_is_read_in_either_form_and_each_thing_told_once(output, classes):
    assert sure(yolo(output, classes)) == [CAR]


def test_a_head_that_has_settled_what_overlaps_is_read_as_it_is():
    rows = np.array([[20, 15, 40, 25, 0.75, 1], [0, 0, 0, 0, 0, 0]], np.float32)
    assert sure(settled(rows[None])) == [CAR]
    assert is_settled((1, 300, 6), 80)
    assert not is_settled((1, 25200, 6), 1)  # one class, and how sure it is of anything
    assert not is_settled((1, 84, 8400), 80)


def test_an_ssd_head_gives_pixels_or_parts_of_the_picture():
    scores, classes = np.array([[0.75]], np.float32), np.array([[1]])
    in_pixels = ssd(np.array([[[20, 15, 40, 25]]], np.float32), classes, scores)
    in_parts = ssd(np.array([[[0.25, 0.25, 0.5, 0.5]]], np.float32), classes, scores, scaled_to=Size(80, 60))
    assert sure(in_pixels) == [CAR]
    assert sure(in_parts) == [Detection("car", 0.75, Box(20, 15, 40, 30))]


def test_what_it_is_hardly_sure_of_is_told_for_who_asks():
    boxes = np.array([[[0, 0, 8, 8], [20, 15, 40, 25]]], np.float32)
    doubtful = ssd(boxes, np.array([[0, 1]]), np.array([[0.09, 0.1]]))
    assert told(doubtful, LABELS, SHOWN).labels == ("car",)
    assert sure(doubtful) == []


def test_faces_are_read_at_each_stride():
    size = Size(64, 32)
    outputs = {}
    for stride in heads.STRIDES:
        places = (64 // stride) * (32 // stride)
        for name, columns in (("cls", 1), ("obj", 1), ("bbox", 4)):
            outputs[f"{name}_{stride}"] = np.zeros((1, places, columns), np.float32)
    outputs["cls_16"][0, 5], outputs["obj_16"][0, 5] = 1.0, 0.81  # the second of the second row
    outputs["bbox_16"][0, 5] = (0.5, 0.25, np.log(2), 0)
    (face,) = told(faces(outputs, size), {0: "face"}, size)
    assert face.label == "face"
    assert face.confidence == pytest.approx(0.9)
    assert [face.box.x1, face.box.y1, face.box.x2, face.box.y2] == pytest.approx([8, 12, 40, 28])


def test_what_overlaps_is_one_thing_only_if_it_is_of_one_class():
    boxes = np.array([[0, 0, 10, 10], [1, 0, 11, 10], [0, 1, 10, 11], [60, 0, 70, 10]], np.float32)
    found = Found(boxes, np.array([0.8, 0.9, 0.7, 0.5]), np.array([0, 0, 1, 0]))
    seen = told(found, LABELS, SHOWN)
    assert [(each.label, each.box.x1) for each in seen] == [("person", 1), ("car", 0), ("person", 60)]


def test_boxes_end_where_the_picture_ends_and_those_beside_it_are_not_told():
    boxes = np.array([[-5, -5, 10, 10], [100, 0, 120, 10]], np.float32)
    (seen,) = told(Found(boxes, np.array([0.9, 0.9]), np.array([7, 7])), LABELS, SHOWN)
    assert seen == Detection("class 7", 0.9, Box(0, 0, 10, 10))


def test_however_much_is_found_a_few_hundred_are_told():
    count = 200_000
    boxes = np.random.default_rng(1).uniform(0, 40, (count, 4)).astype(np.float32)
    boxes[:, 2:] += boxes[:, :2]
    found = Found(boxes, np.full(count, 0.9), np.arange(count))
    assert len(told(found, LABELS, SHOWN)) <= heads.MOST


@pytest.mark.parametrize(
    ("read", "why"),
    [
        (lambda: told(Found(np.array([[0, 0, np.nan, 1]]), np.ones(1), np.ones(1)), {}, SHOWN), "not finite"),
        (lambda: yolo(np.zeros((1, 84), np.float32), 80), "an array of the shape 1 × 84"),
        (lambda: yolo(np.zeros((1, 0, 84), np.float32), 80), "an array of the shape 1 × 0 × 84"),
        (lambda: yolo(np.zeros((1, 20, 84), np.float32), 2), "1 × 20 × 84 for 2 classes"),
        (lambda: yolo(np.zeros((1, 20, 5), np.float32), 0), "holds no class"),
        (lambda: yolo(np.zeros((1, 3, 9), np.float32), 0), "1 × 3 × 9 for 0 classes"),
        (lambda: ssd(np.zeros((1, 3, 4)), np.zeros((1, 3)), np.zeros((1, 2))), "3 boxes, 3 classes and 2 scores"),
    ],
)
def test_what_cannot_be_read_is_refused(read, why):
    with pytest.raises(AnswerUnusable, match=why):
        read()


def test_a_label_is_short_and_can_be_printed():
    assert heads.label(" car\x1b[31m\n" + "x" * 100) == ("car[31m" + "x" * 100)[:64]
