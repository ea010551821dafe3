"""Detections in columns, one array to a property, as the library `supervision` and what works with it has them.

Nothing of that library is imported: anything with an `xyxy` will do, and what is made here are its arguments.
"""

from typing import Any

import numpy as np

from streamward.model.detection import Box, Detection, Detections
from streamward.vision.detector import AnswerUnusable

CLASS_NAME = "class_name"  # where names of classes are, among what else is known of each thing


def is_columnar(answer: Any) -> bool:
    """Whether it is in columns."""
    return hasattr(answer, "xyxy")


def from_columns(answer: Any) -> Detections:
    """Rows; a thing without a name is called by the number of its class, and one without a confidence is sure."""
    try:
        boxes = np.asarray(answer.xyxy, float).reshape(-1, 4)
        count = len(boxes)
        sure = _column(getattr(answer, "confidence", None), count, default=1.0)
        classes = _column(getattr(answer, "class_id", None), count, default=0)
        names = _column((getattr(answer, "data", None) or {}).get(CLASS_NAME), count, default=None)
        return tuple(
            Detection(
                f"class {classes[row]}" if names[row] is None else str(names[row]), float(sure[row]), _box(boxes[row])
            )
            for row in range(count)
        )
    except (TypeError, ValueError, AttributeError) as error:
        raise AnswerUnusable("columns that are not boxes, confidences and classes of as many things") from error


def to_columns(seen: Detections) -> dict[str, Any]:
    """The arguments of `supervision.Detections`: classes are numbered in the order of their names."""
    names = sorted({each.label for each in seen})
    boxes = [(each.box.x1, each.box.y1, each.box.x2, each.box.y2) for each in seen]
    return {
        "xyxy": np.array(boxes, np.float32).reshape(-1, 4),
        "confidence": np.array([each.confidence for each in seen], np.float32),
        "class_id": np.array([names.index(each.label) for each in seen], int),
        "data": {CLASS_NAME: np.array([each.label for each in seen], str)},
    }


def _column(values: Any, count: int, *, default: object) -> list[Any]:
    if values is None:
        return [default] * count
    column = list(values)
    if len(column) != count:
        raise ValueError(len(column))
    return column


def _box(edges: Any) -> Box:
    return Box(*map(float, edges))
