"""What was seen in one frame, in columns: an array to a property, a row to a thing.

    detector ─→ Detections ─thresholds, zones→ fewer rows ─tracker→ with numbers ─scaled→ event, snapshot

Every step takes one and gives one. Boxes are left, upper, right and lower edge in pixels of some picture; which one,
each step says. Rows (`model.detection.Detection`) go in and come out where one thing after the other is looked at.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamward.model.detection import LONGEST_LABEL, Box, Detection
from streamward.vision.unusable import AnswerUnusable

Numbers = NDArray[np.float64]
Mask = NDArray[np.bool_]

MOST = 1000  # things in one picture
FURTHEST = 1_000_000  # pixels: no picture is as large

_CLASS_NAME = "class_name"  # where `supervision` has names of classes, among what else is known of each thing


@dataclass(frozen=True, slots=True, eq=False)
class Detections:
    """As many labels, confidences and boxes as there are things; tracks and zones, once somebody has said them."""

    xyxy: Numbers
    confidence: Numbers
    labels: tuple[str, ...]
    track_ids: tuple[int, ...] | None = None
    zones: tuple[tuple[str, ...], ...] | None = None  # in which each stands

    def __post_init__(self) -> None:
        count = len(self.labels)
        assert self.xyxy.shape == (count, 4)
        assert self.confidence.shape == (count,)
        assert self.track_ids is None or len(self.track_ids) == count
        assert self.zones is None or len(self.zones) == count

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Detection]:
        """Row by row, in numbers of Python."""
        tracks = self.track_ids or (None,) * len(self)
        zones = self.zones or ((),) * len(self)
        columns = zip(self.labels, self.confidence.tolist(), self.xyxy.tolist(), tracks, zones, strict=True)
        for label, confidence, edges, track_id, names in columns:
            yield Detection(label, confidence, Box(*edges), track_id=track_id, zones=names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Detections) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # arrays can be written to

    @classmethod
    def of(cls, rows: Iterable[Detection]) -> "Detections":
        """Those of a list; raises ValueError and TypeError if what they hold are no numbers."""
        every = tuple(rows)
        boxes = [(each.box.x1, each.box.y1, each.box.x2, each.box.y2) for each in every]
        return cls(
            np.array(boxes, float).reshape(len(every), 4),
            np.array([each.confidence for each in every], float).reshape(len(every)),
            tuple(str(each.label) for each in every),
        )

    @classmethod
    def from_supervision(cls, answer: Any) -> "Detections":
        """Those of the library `supervision`, or of anything that has its columns; raises AnswerUnusable.

        A thing without a name is called by the number of its class, and one without a confidence is sure.
        """
        try:
            boxes = np.array(answer.xyxy, float).reshape(-1, 4)
            count = len(boxes)
            _bound(count)
            sure = _column(getattr(answer, "confidence", None), count, default=1.0)
            classes = _column(getattr(answer, "class_id", None), count, default=0)
            names = _column((getattr(answer, "data", None) or {}).get(_CLASS_NAME), count, default=None)
            labels = (f"class {each}" if name is None else str(name) for each, name in zip(classes, names, strict=True))
            return cls(boxes, np.array(sure, float).reshape(count), tuple(labels))
        except (TypeError, ValueError, AttributeError) as error:
            raise AnswerUnusable("columns that are not boxes, confidences and classes of as many things") from error

    def to_supervision(self) -> dict[str, Any]:
        """The arguments of `supervision.Detections`: classes are numbered in the order of their names."""
        names = sorted(set(self.labels))
        return {
            "xyxy": self.xyxy.astype(np.float32),
            "confidence": self.confidence.astype(np.float32),
            "class_id": np.array([names.index(each) for each in self.labels], int),
            "tracker_id": None if self.track_ids is None else np.array(self.track_ids, int),
            "data": {_CLASS_NAME: np.array(self.labels, str)},
        }

    def where(self, mask: Mask) -> "Detections":
        """The rows that a mask names."""
        return Detections(
            self.xyxy[mask],
            self.confidence[mask],
            tuple(compress(self.labels, mask)),
            None if self.track_ids is None else tuple(compress(self.track_ids, mask)),
            None if self.zones is None else tuple(compress(self.zones, mask)),
        )

    def scaled(self, x: float, y: float) -> "Detections":
        """The same in a picture of another size."""
        return replace(self, xyxy=self.xyxy * (x, y, x, y))


NOTHING = Detections.of(())


def overlaps(some: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
    """Intersection over union of each box of some with each of others: 1 for the same box, 0 for strangers."""
    upper = np.maximum(some[:, None, :2], others[None, :, :2])
    lower = np.minimum(some[:, None, 2:], others[None, :, 2:])
    shared = np.prod(np.maximum(lower - upper, 0), axis=2)
    united = _areas(some)[:, None] + _areas(others)[None, :] - shared
    overlap: NDArray[Any] = np.divide(shared, united, out=np.zeros_like(shared), where=united > 0)
    return overlap


def checked(answer: Any) -> Detections:
    """What somebody else's detector gave back, if it is what was asked for; raises AnswerUnusable."""
    seen = answer if isinstance(answer, Detections) else _read(answer)
    _bound(len(seen))
    if not (np.isfinite(seen.confidence).all() and np.isfinite(seen.xyxy).all()):
        raise AnswerUnusable("a detection whose confidence or box is not finite")
    if (np.abs(seen.xyxy) > FURTHEST).any():
        raise AnswerUnusable(f"a box that is more than {FURTHEST:,} pixels away")
    if not all(len(label) <= LONGEST_LABEL and label.isprintable() for label in set(seen.labels)):
        raise AnswerUnusable(f"a label of more than {LONGEST_LABEL} characters, or of some that cannot be shown")
    return seen


def _read(answer: Any) -> Detections:
    if hasattr(answer, "xyxy"):
        return Detections.from_supervision(answer)
    if not isinstance(answer, list | tuple):
        raise AnswerUnusable(f"a {type(answer).__name__} instead of a list of detections")
    _bound(len(answer))
    for each in answer:
        if not (isinstance(each, Detection) and isinstance(each.box, Box) and isinstance(each.label, str)):
            raise AnswerUnusable(f"a {type(each).__name__} instead of a detection with a label and a box")
    try:
        return Detections.of(answer)
    except (TypeError, ValueError) as error:
        raise AnswerUnusable("a detection whose confidence or box is not made of numbers") from error


def _bound(count: int) -> None:
    """Before each of them is looked at."""
    if count > MOST:
        raise AnswerUnusable(f"{count:,} things in one picture, and {MOST:,} are the most")


def _areas(boxes: NDArray[Any]) -> NDArray[Any]:
    areas: NDArray[Any] = np.prod(np.maximum(boxes[:, 2:] - boxes[:, :2], 0), axis=1)
    return areas


def _column(values: Any, count: int, *, default: object) -> list[Any]:
    if values is None:
        return [default] * count
    column = list(values)
    if len(column) != count:
        raise ValueError(len(column))
    return column
