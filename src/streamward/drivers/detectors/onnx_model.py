"""Detectors from ONNX files: heads as YOLO, SSD and YuNet have them; names and size from the file itself.

A picture keeps its shape and is put into the upper left corner of what the model takes, so that boxes are where they
were. A model that takes any size is shown pictures of 640 across. Which library runs it, makes no difference here.
"""

import ast
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from streamward.drivers.detectors import heads, onnx_file
from streamward.drivers.detectors.heads import Found, Labels, Numbers
from streamward.drivers.detectors.refusal import ModelRefused
from streamward.vision.detections import Detections
from streamward.vision.detector import Size

ROOM = Size(640, 640)  # for models that take any size
_STEP = 32  # such models take multiples of this
_GREY = 114  # around the picture, as models are trained with
_LEAST_FACE = 0.6
_LONGEST_NAMES = 200_000  # characters
_LARGEST = 4096  # pixels across or down

Given = NDArray[Any]
Head = Callable[[dict[str, Numbers], Size], Found]


class Place(NamedTuple):
    """What goes into a model, or comes out of it."""

    name: str
    form: type[np.generic] | None  # None: none that a picture has
    shape: Sequence[int | str | None]  # what is no number, may be any


class Session(Protocol):
    """A model that a library has loaded."""

    inputs: list[Place]
    outputs: list[Place]

    def run(self, given: Given) -> list[Any]:
        """What comes out, in the order of its outputs."""
        ...


class OnnxDetector:
    """One model, on one thread."""

    keeps_shape = True

    def __init__(self, content: bytes) -> None:
        self._labels = _labels(onnx_file.looked_through(content).get("names", ""))
        self._session = self._opened(content)
        self._input = _Input(self._session.inputs)
        self._names = [output.name for output in self._session.outputs]
        self._is_faces = f"cls_{heads.STRIDES[0]}" in self._names
        self._head = self._chosen()
        self.size = self._input.size or ROOM
        self.least_sure = _LEAST_FACE if self._is_faces else heads.LEAST_SURE

    def detect(self, image: NDArray[Any]) -> Detections:
        """What it sees."""
        shown = Size(image.shape[1], image.shape[0])
        room = self._input.size or _rounded(shown)
        given = self._input.fill(image, room, is_raw=self._is_faces)
        outputs = self._session.run(given)
        found = self._head(dict(zip(self._names, outputs, strict=True)), room)
        if self._is_faces:
            return heads.told(found, {0: "face"}, shown)
        return heads.told(found, self._labels, shown)

    def _opened(self, content: bytes) -> Session:
        from streamward.drivers.detectors.onnx_session import OnnxRuntimeSession  # noqa: PLC0415 - may not be needed

        return OnnxRuntimeSession(content)

    def _chosen(self) -> Head:
        """How to read what it puts out."""
        if self._is_faces:
            return heads.faces
        boxes, scores, classes = (
            next((name for name in self._names if any(word in name for word in words)), None)
            for words in (("boxes",), ("scores",), ("classes", "labels"))
        )
        if boxes is not None and scores is not None and classes is not None:
            is_scaled = boxes.startswith("detection")  # as TensorFlow's are
            return lambda all_of, size: heads.ssd(
                all_of[boxes], all_of[classes], all_of[scores], scaled_to=size if is_scaled else None
            )
        if len(self._names) != 1:
            raise ModelRefused(f"nobody knows how to read its {len(self._names)} outputs")
        (name,), (output,), count = self._names, self._session.outputs, len(self._labels)
        if heads.is_settled(output.shape, count):
            return lambda all_of, _: heads.settled(all_of[name])
        return lambda all_of, _: heads.yolo(all_of[name], count)


class OpenVinoDetector(OnnxDetector):
    """The same, run by another library."""

    def _opened(self, content: bytes) -> Session:
        from streamward.drivers.detectors.openvino_session import OpenVinoSession  # noqa: PLC0415 - may not be needed

        return OpenVinoSession(content)


class _Input:
    """What a model takes."""

    def __init__(self, inputs: list[Place]) -> None:
        if len(inputs) != 1:
            raise ModelRefused(f"it takes {len(inputs)} things, not a picture")
        (given,) = inputs
        shape, form = given.shape, given.form
        if form is None or len(shape) != 4 or 3 not in {shape[1], shape[3]}:
            raise ModelRefused(f"it takes something of the shape {list(shape)}, not a picture of three colours")
        self._form = form
        self._is_planar = shape[1] == 3
        down, across = shape[2:] if self._is_planar else shape[1:3]
        self.size = Size(across, down) if isinstance(down, int) and isinstance(across, int) else None
        if self.size is not None and not (0 < self.size.height <= _LARGEST and 0 < self.size.width <= _LARGEST):
            raise ModelRefused(f"it takes pictures of {across} × {down}")

    def fill(self, image: NDArray[Any], room: Size, *, is_raw: bool) -> NDArray[Any]:
        """A picture in that room; raw: blue first, from 0 to 255."""
        canvas = np.full((room.height, room.width, 3), _GREY, np.uint8)
        canvas[: image.shape[0], : image.shape[1]] = image[:, :, ::-1] if is_raw else image
        shaped = canvas.transpose(2, 0, 1) if self._is_planar else canvas
        if self._form is np.uint8 or is_raw:
            return np.ascontiguousarray(shaped[None], self._form)
        return np.multiply(shaped[None], 1 / 255, dtype=np.float32).astype(self._form, order="C", copy=False)


def _labels(names: str) -> Labels:
    """The names of classes as the file has them: numbers and names, or names alone; nothing else is believed."""
    try:
        named = ast.literal_eval(names[:_LONGEST_NAMES])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    pairs = named.items() if isinstance(named, dict) else enumerate(named) if isinstance(named, list) else ()
    return {number: heads.label(name) for number, name in pairs if isinstance(number, int)}


def _rounded(size: Size) -> Size:
    return Size(-(-size.width // _STEP) * _STEP, -(-size.height // _STEP) * _STEP)
