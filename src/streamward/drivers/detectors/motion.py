"""Finds what moves: where a picture differs from how its camera's pictures were lately. No weights, no names of things.

What stays becomes background within a few seconds; when light changes everywhere at once, nothing is told.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamward.drivers.detectors.blobs import blobs
from streamward.model.detection import Box, Detection
from streamward.vision.detections import NOTHING, Detections
from streamward.vision.detector import Size

LABEL = "motion"
_CELL = 4  # pixels across and down: their mean is compared, so that noise is not
_DIFFERENT = 14.0  # of 255
_SMALLEST = 3  # cells
_SCENE_CHANGED = 0.6  # of all cells: no thing is as large
_LEARNT = 0.08  # of each picture


class MotionDetector:
    """One camera's eye; each camera gets its own."""

    size = Size(320, 180)
    keeps_shape = False

    def __init__(self) -> None:
        self._background: NDArray[Any] | None = None

    def for_camera(self) -> "MotionDetector":
        """One that has seen nothing yet."""
        return MotionDetector()

    def detect(self, image: NDArray[Any]) -> Detections:
        """Every place that changed; how much of its box it fills is how sure this is."""
        cells = _means(image)
        if self._background is None or self._background.shape != cells.shape:
            self._background = cells
            return NOTHING
        mask = np.abs(cells - self._background).max(axis=2) > _DIFFERENT
        is_new_scene = mask.mean() > _SCENE_CHANGED
        self._background = cells if is_new_scene else self._background + _LEARNT * (cells - self._background)
        if is_new_scene:
            return NOTHING
        return Detections.of(
            Detection(
                LABEL, round(count / box.area, 3), Box(*(edge * _CELL for edge in (box.x1, box.y1, box.x2, box.y2)))
            )
            for box, count in blobs(mask, smallest=_SMALLEST)
        )


def _means(image: NDArray[Any]) -> NDArray[Any]:
    down, across = image.shape[0] // _CELL, image.shape[1] // _CELL
    whole = image[: down * _CELL, : across * _CELL].reshape(down, _CELL, across, _CELL, 3)
    means: NDArray[Any] = whole.mean(axis=(1, 3), dtype=np.float32)
    return means
