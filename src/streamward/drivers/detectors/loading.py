"""Detectors by their names: built in, offered by installed packages, models in files, and any Python function.

    colour, null                    built in; the latter sees nothing
    <name>                          in the folder of models `<name>.bundle`, `.onnx` or `.tflite`, or a folder with one
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
from functools import cache, partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeVar

from streamward.drivers.detectors import model_file, used
from streamward.drivers.detectors.colour import ColourDetector
from streamward.drivers.detectors.model_file import Model, Stamp
from streamward.drivers.detectors.onnx_model import OpenVinoDetector
from streamward.drivers.detectors.refusal import ModelRefused
from streamward.drivers.null import NullDetector
from streamward.model.runtime import ModelRuntime
from streamward.protocol.shards import ModelsAt
from streamward.vision.detections import Detections, checked
from streamward.vision.detector import Detector, NewVersion, Size
from streamward.vision.unusable import DetectorUnusable

T = TypeVar("T")

BUILT_IN: dict[str, Callable[[], Detector]] = {"colour": ColourDetector, "null": NullDetector}
GROUP = "streamward.detectors"
DEFAULT_SIZE = Size(640, 360)
_LARGEST = 4096  # pixels across or down
_EXTRAS = {"ai_edge_litert": "litert", "onnxruntime": "onnx", "openvino": "openvino", "numpy": "vision"}
_RUNTIMES = {("onnx", ModelRuntime.OPENVINO): OpenVinoDetector}  # who reads such files; else whoever offers to


class FunctionDetector:
    """Somebody's function as a detector; its answers are looked through before anybody else sees them."""

    def __init__(self, name: str, made: Any) -> None:
        detect = getattr(made, "detect", made)
        if not callable(detect):
            raise DetectorUnusable(name, "it is neither a function nor has it one named detect")
        self.size = _size(name, getattr(made, "size", DEFAULT_SIZE))
        self.keeps_shape = getattr(made, "keeps_shape", False) is True
        self.least_sure = _least_sure(name, getattr(made, "least_sure", 0.0))
        self._name = name
        self._made = made
        self._detect: Callable[[Any], Any] = detect

    def for_camera(self) -> "FunctionDetector":
        """The same; one that remembers what it saw has to offer another for each camera. Raises DetectorUnusable."""
        apart = getattr(self._made, "for_camera", None)
        return self if apart is None else FunctionDetector(self._name, _told(self._name, apart))

    def detect(self, image: Any) -> Detections:
        """What it sees; raises AnswerUnusable, and whatever the function raises."""
        return checked(self._detect(image))


class ModelDetector(FunctionDetector):
    """One out of a file: of which version, if it was signed, and how the file stood."""

    def __init__(self, name: str, made: Any, *, version: int | None, stamp: Stamp | None) -> None:
        super().__init__(name, made)
        self.version = version
        self.stamp = stamp


@cache
def load_detector(name: str, models: ModelsAt) -> Detector:
    """The detector of that name, loaded once for each process; raises DetectorUnusable."""
    if name in BUILT_IN:
        return BUILT_IN[name]()
    return _told(name, partial(_detector, name, models))


class Renewals:
    """Looks whether a newer version of a model that is in use was put in its place; each file is judged once."""

    def __init__(self, models: ModelsAt) -> None:
        self._models = models
        self._stamps: dict[str, Stamp | None] = {}

    def newer(self, name: str, current: Detector) -> NewVersion | None:
        """That version, ready for use, or None; raises DetectorUnusable, and the old one may go on."""
        if not isinstance(current, ModelDetector) or current.version is None:
            return None
        return _told(name, partial(self._newer, name, current, current.version))

    def _newer(self, name: str, current: ModelDetector, version: int) -> NewVersion | None:
        file = model_file.find(name, Path(self._models.folder))
        stamp = None if file is None else model_file.stamp_of(file)
        if file is None or stamp == self._stamps.get(name, current.stamp):
            return None
        self._stamps[name] = stamp
        newer = _from_file(file, self._models, above=version)
        load_detector.cache_clear()  # it would keep the old one in memory
        return NewVersion(detector=newer, version=newer.version or 0)


def _told(name: str, load: Callable[[], T]) -> T:
    """What somebody else's code loads; whatever it raises is one sentence."""
    try:
        return load()
    except DetectorUnusable:
        raise
    except ModelRefused as error:
        raise DetectorUnusable(name, error.why) from error
    except Exception as error:  # somebody else's module may do anything
        raise DetectorUnusable(name, _sentence(error)) from error


def tried(file: Path, digest: str, runtime: ModelRuntime) -> str | None:
    """Why a file is of no use; what to find that out does to this process, it does."""
    try:
        content = model_file.read(file)
        if model_file.digest_of(content) != digest:
            return "it changed while it was tried"
        return problem_of(model_file.unpacked(file, content, key=None), runtime)
    except ModelRefused as error:
        return error.why


def problem_of(model: Model, runtime: ModelRuntime = ModelRuntime.ONNXRUNTIME) -> str | None:
    """Why a model is of no use, after it was loaded and shown a picture."""
    try:
        _from_content(model, runtime)
    except ModelRefused as error:
        return error.why
    except Exception as error:  # noqa: BLE001 - as for what is loaded to be used
        return _sentence(error)
    return None


def _detector(name: str, models: ModelsAt) -> Detector:
    module, _, path = name.partition(":")
    if path:
        return FunctionDetector(name, _instance(_attribute(module, path)))
    file = model_file.find(name, Path(models.folder))
    if file is not None:
        return _from_file(file, models)
    found = _offered(name)
    if found is None:
        raise DetectorUnusable(
            name, f"it is not {' or '.join(BUILT_IN)}, no model or package has that name, and it is no module:function"
        )
    return FunctionDetector(name, _instance(found))


def _from_file(file: Path, models: ModelsAt, *, above: int | None = None) -> ModelDetector:
    """The detector in a file; if a version runs already, only of a later one."""
    stamp, content = model_file.stamp_of(file), model_file.read(file)
    model = model_file.trusted(file, content, models)
    if above is not None and (model.version or 0) <= above:
        raise ModelRefused(f"version {model.version or 0} was put in its place, and {above} is running")
    if models.used is not None and model.version is not None:
        used.check(Path(models.used), model.name, model.version)
    model_file.prove(file, content, proofs=Path(models.folder), runtime=models.runtime)
    detector = _from_content(model, models.runtime, stamp)
    if models.used is not None and model.version is not None:
        used.note(Path(models.used), model.name, model.version)
    return detector


def _from_content(model: Model, runtime: ModelRuntime, stamp: Stamp | None = None) -> ModelDetector:
    make = _RUNTIMES.get((model.suffix, runtime)) or _offered(model.suffix)
    if make is None:
        raise ModelRefused(f"no installed package reads files that end in .{model.suffix}")
    detector = ModelDetector(model.name, make(model.content), version=model.version, stamp=stamp)
    model_file.judge(detector, model)
    return detector


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


def _least_sure(name: str, least: Any) -> float:
    if not (isinstance(least, int | float) and 0 <= least <= 1):
        raise DetectorUnusable(name, "its least_sure is not a number from 0 to 1")
    return float(least)


def _size(name: str, size: Any) -> Size:
    try:
        width, height = (size.width, size.height) if isinstance(size, Size) else map(int, size)
    except (TypeError, ValueError) as error:
        raise DetectorUnusable(name, "its size is not a width and a height") from error
    if not (0 < width <= _LARGEST and 0 < height <= _LARGEST):
        raise DetectorUnusable(name, f"its size of {width} × {height} is not between 1 and {_LARGEST}")
    return Size(width, height)
