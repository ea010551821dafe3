"""Detectors by their names: built in, offered by installed packages, models in files, and any Python function.

    colour, null                    built in; the latter sees nothing
    <name>                          in the folder of models `<name>.onnx`, `<name>.tflite`, or a folder with one
    <name>                          an entry point of the group `streamward.detectors` in an installed package
    some/folder/model.onnx          that file, or the only model in that folder
    package.module:function         that function: a picture (height × width × 3, red, green and blue) → Detections

A function is shown pictures of 640 × 360 unless it has an attribute `size`, which is a `Size` or a pair of numbers.
What is named may also be a detector itself (`size` and `detect`), or a class of which one is made without arguments;
for the kinds of files, entry points are named by what files end in, and one is made from a file's content.
Only whoever writes a shard's configuration may name functions and paths: names that come over the API have neither
dot, colon nor slash.
"""

import importlib
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from streamward.drivers.detectors import model_file
from streamward.drivers.detectors.colour import ColourDetector
from streamward.drivers.detectors.refusal import ModelRefused
from streamward.drivers.null import NullDetector
from streamward.model.detection import Detections
from streamward.vision.detector import Detector, DetectorUnusable, Size, checked

BUILT_IN: dict[str, Callable[[], Detector]] = {"colour": ColourDetector, "null": NullDetector}
GROUP = "streamward.detectors"
DEFAULT_SIZE = Size(640, 360)
_LARGEST = 4096  # pixels across or down
_EXTRAS = {"ai_edge_litert": "litert", "onnxruntime": "onnx", "numpy": "vision"}


class FunctionDetector:
    """Somebody's function as a detector; its answers are looked through before anybody else sees them."""

    def __init__(self, name: str, made: Any) -> None:
        detect = getattr(made, "detect", made)
        if not callable(detect):
            raise DetectorUnusable(name, "it is neither a function nor has it one named detect")
        self.size = _size(name, getattr(made, "size", DEFAULT_SIZE))
        self.keeps_shape = getattr(made, "keeps_shape", False) is True
        self._name = name
        self._made = made
        self._detect: Callable[[Any], Any] = detect

    def for_camera(self) -> "FunctionDetector":
        """The same; one that remembers what it saw has to offer another for each camera."""
        apart = getattr(self._made, "for_camera", None)
        return self if apart is None else FunctionDetector(self._name, apart())

    def detect(self, image: Any) -> Detections:
        """What it sees; raises AnswerUnusable, and whatever the function raises."""
        return checked(self._detect(image))


@cache
def load_detector(name: str, models: Path) -> Detector:
    """The detector of that name, loaded once for each process; raises DetectorUnusable."""
    if name in BUILT_IN:
        return BUILT_IN[name]()
    try:
        return _detector(name, models)
    except DetectorUnusable:
        raise
    except ModelRefused as error:
        raise DetectorUnusable(name, error.why) from error
    except Exception as error:  # somebody else's module may do anything
        raise DetectorUnusable(name, _sentence(error)) from error


def tried(file: Path, digest: str) -> str | None:
    """Why a file is of no use, after it was loaded and shown a picture; what that does to this process, it does."""
    try:
        content = model_file.read(file)
        if model_file.digest_of(content) != digest:
            return "it changed while it was tried"
        _from_file(file, content)
    except ModelRefused as error:
        return error.why
    except Exception as error:  # noqa: BLE001 - as above
        return _sentence(error)
    return None


def _detector(name: str, models: Path) -> Detector:
    module, _, path = name.partition(":")
    if path:
        return FunctionDetector(name, _instance(_attribute(module, path)))
    file = model_file.find(name, models)
    if file is not None:
        content = model_file.read(file)
        model_file.prove(file, content, proofs=models)
        return _from_file(file, content)
    found = _offered(name)
    if found is None:
        raise DetectorUnusable(
            name, f"it is not {' or '.join(BUILT_IN)}, no model or package has that name, and it is no module:function"
        )
    return FunctionDetector(name, _instance(found))


def _from_file(file: Path, content: bytes) -> Detector:
    make = _offered(file.suffix[1:])
    if make is None:
        raise ModelRefused(f"no installed package reads files that end in {file.suffix or 'nothing'}")
    return model_file.judged(FunctionDetector(file.name, make(content)))


def _attribute(module: str, path: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _offered(name: str) -> Any:
    """What an installed package offers under that name, ours or another; None: nobody does."""
    offered = entry_points(group=GROUP, name=name)
    return next(iter(offered)).load() if offered else None


def _instance(found: Any) -> Any:
    return found() if isinstance(found, type) else found


def _sentence(error: Exception) -> str:
    package = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if package in _EXTRAS:
        return f"it needs {package}, which is not installed: install streamward[{_EXTRAS[package]}]"
    first_line = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {first_line}"


def _size(name: str, size: Any) -> Size:
    try:
        width, height = (size.width, size.height) if isinstance(size, Size) else map(int, size)
    except (TypeError, ValueError) as error:
        raise DetectorUnusable(name, "its size is not a width and a height") from error
    if not (0 < width <= _LARGEST and 0 < height <= _LARGEST):
        raise DetectorUnusable(name, f"its size of {width} × {height} is not between 1 and {_LARGEST}")
    return Size(width, height)
