"""Detectors from LiteRT (TensorFlow Lite) files that end in a detection post-process, as EfficientDet-Lite does.

Labels are inside: such a file is a zip too. A picture is stretched to what the model takes.
"""

import io
import zipfile
import zlib
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from numpy.typing import NDArray

from streamward.drivers.detectors import heads
from streamward.drivers.detectors.heads import Labels
from streamward.drivers.detectors.refusal import ModelRefused, first_line
from streamward.vision.detections import Detections
from streamward.vision.detector import Size
from streamward.vision.unusable import AnswerUnusable

_MARK = b"TFL3"  # from the fifth byte on
_LARGEST = 4096  # pixels across or down
_MOST_LABELS = 10_000
_LARGEST_LABELS = 1 << 20  # bytes
_GAP = "???"


class LiteRtDetector:
    """One model, on one thread."""

    keeps_shape = False

    def __init__(self, content: bytes) -> None:
        if content[4:8] != _MARK:
            raise ModelRefused("it is no LiteRT file")
        self._content = content  # the library reads it for as long as it is used
        self._interpreter = _interpreter(content)
        given = self._interpreter.get_input_details()
        if len(given) != 1 or not _is_picture(given[0]):
            raise ModelRefused("it does not take a picture of three colours")
        self._given = given[0]
        down, across = (int(each) for each in self._given["shape"][1:3])
        self.size = Size(across, down)
        self._taken = [each["index"] for each in self._interpreter.get_output_details()]
        if len(self._taken) != 4:
            raise ModelRefused(f"it has {len(self._taken)} outputs, not boxes, classes, scores and how many")
        self._labels = _labels(content)

    @property
    def least_sure(self) -> float:
        return heads.LEAST_SURE

    def detect(self, image: NDArray[Any]) -> Detections:
        """What it sees."""
        self._interpreter.set_tensor(self._given["index"], self._filled(image))
        self._interpreter.invoke()
        boxes, classes, scores, count = (self._interpreter.get_tensor(each) for each in self._taken)
        if boxes.ndim != 3 or boxes.shape[2] != 4 or count.size != 1:
            raise AnswerUnusable("arrays that are not boxes, classes, scores and how many")
        found = heads.ssd(boxes, classes, scores, scaled_to=self.size)
        if not np.isfinite(count).all():
            raise AnswerUnusable("numbers that are not finite")
        first = slice(0, int(count.reshape(-1)[0]))
        return heads.told(heads.Found(*(each[first] for each in found)), self._labels, self.size)

    def _filled(self, image: NDArray[Any]) -> NDArray[Any]:
        if self._given["dtype"] is np.uint8:
            return image[None]
        return (image[None].astype(np.float32) - 127.5) / 127.5


def _interpreter(content: bytes) -> Any:
    try:
        interpreter = Interpreter(model_content=content, num_threads=1)
        interpreter.allocate_tensors()
    except (RuntimeError, ValueError, TypeError) as error:
        raise ModelRefused(f"LiteRT cannot load it: {first_line(error)}") from error
    return interpreter


def _is_picture(given: dict[str, Any]) -> bool:
    shape = [int(each) for each in given["shape"]]
    is_small = len(shape) == 4 and all(0 < each <= _LARGEST for each in shape)
    return is_small and (shape[0], shape[3]) == (1, 3) and given["dtype"] in {np.uint8, np.float32}


def _labels(content: bytes) -> Labels:
    """The lines of the first text in it; a gap as the first line stands for the background, which is not counted."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as inside:
            name = next(each for each in inside.namelist() if each.endswith(".txt"))
            with inside.open(name) as opened:
                lines = opened.read(_LARGEST_LABELS).decode(errors="replace").splitlines()[:_MOST_LABELS]
    except (
        zipfile.BadZipFile,
        StopIteration,
        NotImplementedError,
        RuntimeError,
        EOFError,
        OSError,
        ValueError,
        zlib.error,
    ):
        return {}
    background = bool(lines) and lines[0].strip() == _GAP
    return {number - background: heads.label(line) for number, line in enumerate(lines) if line.strip() != _GAP}
