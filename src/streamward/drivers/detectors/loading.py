"""Detectors by their names: the built-in one, those that installed packages offer, and any Python function.

    colour, null                    built in; the latter sees nothing
    <name>                          an entry point of the group `streamward.detectors` in an installed package
    package.module:function         that function: a picture (height × width × 3, red, green and blue) → Detections

A function is shown pictures of 640 × 360 unless it has an attribute `size`, which is a `Size` or a pair of numbers.
What is named may also be a detector itself (`size` and `detect`), or a class of which one is made without arguments.
Only whoever writes a shard's configuration may name functions: names that come over the API have neither dot nor colon.
"""

import importlib
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from streamward.drivers.detectors.colour import ColourDetector
from streamward.drivers.null import NullDetector
from streamward.model.detection import Detections
from streamward.vision.detector import Detector, DetectorUnusable, Size, checked

BUILT_IN: dict[str, Callable[[], Detector]] = {"colour": ColourDetector, "null": NullDetector}
GROUP = "streamward.detectors"
DEFAULT_SIZE = Size(640, 360)
_LARGEST = 4096  # pixels across or down


class FunctionDetector:
    """Somebody's function as a detector; its answers are looked through before anybody else sees them."""

    def __init__(self, detect: Callable[[Any], Any], size: Size) -> None:
        self.size = size
        self._detect = detect

    def detect(self, image: Any) -> Detections:
        """What it sees; raises AnswerUnusable, and whatever the function raises."""
        return checked(self._detect(image))


@cache
def load_detector(name: str) -> Detector:
    """The detector of that name, loaded once for each process; raises DetectorUnusable."""
    if name in BUILT_IN:
        return BUILT_IN[name]()
    try:
        found = _found(name)
        made = found() if isinstance(found, type) else found
    except DetectorUnusable:
        raise
    except Exception as error:  # somebody else's module may do anything
        first_line = str(error).partition("\n")[0]
        raise DetectorUnusable(name, f"{type(error).__name__}: {first_line}") from error
    detect = getattr(made, "detect", made)
    if not callable(detect):
        raise DetectorUnusable(name, "it is neither a function nor has it one named detect")
    return FunctionDetector(detect, _size(name, getattr(made, "size", DEFAULT_SIZE)))


def _found(name: str) -> Any:
    module, _, path = name.partition(":")
    if path:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
        return found
    offered = entry_points(group=GROUP, name=name)
    if not offered:
        raise DetectorUnusable(
            name, f"it is not {' or '.join(BUILT_IN)}, no package offers it, and it is no module:function"
        )
    return next(iter(offered)).load()


def _size(name: str, size: Any) -> Size:
    try:
        width, height = (size.width, size.height) if isinstance(size, Size) else map(int, size)
    except (TypeError, ValueError) as error:
        raise DetectorUnusable(name, "its size is not a width and a height") from error
    if not (0 < width <= _LARGEST and 0 < height <= _LARGEST):
        raise DetectorUnusable(name, f"its size of {width} × {height} is not between 1 and {_LARGEST}")
    return Size(width, height)
