"""What models put out, as detections: arrays in, boxes in the pixels of the picture that was shown out.

    yolo     1 × (4 + classes) × n    middle, width and height in pixels, then a score for each class
    yolo     1 × n × (5 + classes)    the same, with how sure it is of anything at all before the classes
    settled  1 × n × 6                corners, score and class: of what overlaps, one is left already
    ssd      boxes, classes, scores   the same in arrays of their own
    faces    cls, obj and bbox        at three strides, as YuNet has them

A model may put out anything: numbers that are not finite and arrays of other shapes raise AnswerUnusable, and however
much it finds, a few hundred at most are gone through.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamward.model.detection import LONGEST_LABEL
from streamward.vision.detections import Detections, overlaps
from streamward.vision.detector import Size
from streamward.vision.unusable import AnswerUnusable

LEAST_SURE = 0.4  # from which on a model is believed
FLOOR = 0.1  # what it is less sure of is not even told to who asks for more
MOST = 300  # things in one picture
STRIDES = (8, 16, 32)  # of faces
_SAME = 0.5  # boxes of one class that overlap by more are one thing
_SETTLED = 6  # numbers to a thing where nothing overlaps

Numbers = NDArray[Any]
Labels = Mapping[int, str]


class Found(NamedTuple):
    """Things, one to a row."""

    boxes: Numbers  # left, upper, right and lower edge in pixels
    scores: Numbers
    classes: Numbers


def yolo(output: Numbers, classes: int) -> Found:
    """From a head of that many classes; with 0 its shape has to say how many there are."""
    rows = _rows(output, classes)
    has_thing = rows.shape[1] == classes + 5 if classes else _is_wide(output)
    scores = rows[:, 5:] * rows[:, 4:5] if has_thing else rows[:, 4:]
    if scores.shape[1] == 0:
        raise AnswerUnusable(f"an array of the shape {_shape(output)}, which holds no class")
    best = scores.argmax(axis=1)
    middles, halves = rows[:, :2], rows[:, 2:4] / 2
    return Found(np.hstack((middles - halves, middles + halves)), scores[np.arange(len(rows)), best], best)


def is_settled(shape: Sequence[Any], classes: int) -> bool:
    """Whether an array of that shape names each thing once, by corners, score and class."""
    return len(shape) == 3 and shape[2] == _SETTLED and classes != 1


def settled(output: Numbers) -> Found:
    """From a model that has left out what overlaps."""
    rows = output.reshape(-1, _SETTLED)
    return Found(rows[:, :4], rows[:, 4], rows[:, 5])


def ssd(boxes: Numbers, classes: Numbers, scores: Numbers, *, scaled_to: Size | None = None) -> Found:
    """From a model that puts out three arrays: in pixels, or upper edge first and in parts of that size."""
    corners = boxes.reshape(-1, 4)
    if not len(corners) == classes.size == scores.size:
        raise AnswerUnusable(f"{len(corners)} boxes, {classes.size} classes and {scores.size} scores")
    if scaled_to is not None:
        corners = corners[:, (1, 0, 3, 2)] * np.array([scaled_to.width, scaled_to.height] * 2, np.float32)
    return Found(corners, scores.reshape(-1), classes.reshape(-1))


def faces(outputs: Mapping[str, Numbers], size: Size) -> Found:
    """From YuNet, which was shown a picture of that size."""
    boxes, scores = [], []
    for stride in STRIDES:
        across, down = size.width // stride, size.height // stride
        sure, thing, box = (outputs[f"{name}_{stride}"].reshape(across * down, -1) for name in ("cls", "obj", "bbox"))
        y, x = np.divmod(np.arange(across * down), across)
        middles = (box[:, :2] + np.column_stack((x, y))) * stride
        halves = np.exp(np.minimum(box[:, 2:4], 10.0)) * stride / 2
        boxes.append(np.hstack((middles - halves, middles + halves)))
        scores.append(np.sqrt(np.clip(sure, 0, 1) * np.clip(thing, 0, 1)).reshape(-1))
    every = np.concatenate(scores)
    return Found(np.concatenate(boxes), every, np.zeros(len(every), int))


def told(found: Found, labels: Labels, shown: Size) -> Detections:
    """What to tell of it: each thing once, cut at the picture's edges."""
    if not all(bool(np.isfinite(each).all()) for each in found):
        raise AnswerUnusable("numbers that are not finite")
    places = np.flatnonzero(found.scores >= FLOOR)
    places = places[np.argsort(-found.scores[places], kind="stable")][:MOST]
    sure = Found(found.boxes[places], found.scores[places], found.classes[places].astype(int))
    edges = np.array([shown.width, shown.height] * 2, np.float32)
    rows = _apart(sure)
    boxes = np.clip(sure.boxes[rows], 0, edges).astype(float)
    names = tuple(labels.get(each, f"class {each}") for each in sure.classes[rows].tolist())
    seen = Detections(boxes, sure.scores[rows].astype(float), names)
    return seen.where((boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1]))


def label(text: object) -> str:
    """A name out of a file, fit to be told."""
    return "".join(each for each in str(text).strip() if each.isprintable())[:LONGEST_LABEL]


def _apart(found: Found) -> list[int]:
    """The rows that are left when of things of one class that overlap the surest stays; rows come by their score."""
    left: list[int] = []
    waiting = np.arange(len(found.scores))
    while len(waiting):
        first, waiting = waiting[0], waiting[1:]
        left.append(int(first))
        is_same = overlaps(found.boxes[[first]], found.boxes[waiting])[0] > _SAME
        waiting = waiting[~(is_same & (found.classes[waiting] == found.classes[first]))]
    return left


def _rows(output: Numbers, classes: int) -> Numbers:
    """One row to a place of the picture."""
    if output.ndim != 3 or output.shape[0] != 1 or min(output.shape) == 0:
        raise AnswerUnusable(f"an array of the shape {_shape(output)}")
    is_upright = _is_wide(output) if not classes else output.shape[2] in {classes + 4, classes + 5}
    rows: Numbers = output[0] if is_upright else output[0].T
    if rows.shape[1] < 5 or (classes and rows.shape[1] not in {classes + 4, classes + 5}):
        raise AnswerUnusable(f"an array of the shape {_shape(output)} for {classes} classes")
    return rows


def _is_wide(output: Numbers) -> bool:
    """Whether it has more rows than columns: then each row is a place, and things come before classes."""
    return bool(output.shape[1] > output.shape[2])


def _shape(output: Numbers) -> str:
    return " × ".join(map(str, output.shape)) or "of one number"
