"""The detector of a soak: the built-in one, and one thing more that says which picture it was shown, and when.

The simulated recorder paints scene and loop frame into each picture and knows when it took it; this reads that mark and
adds the boot-time at which it had looked. So whoever gets the event knows how long each part of the way took, and the
Worker does nothing for it that it does not do for any detector. Shown the recorder's own size, for a mark that was made
smaller cannot be read.
"""

import time
from typing import Any, NamedTuple

from streamward.drivers.detectors.colour import ColourDetector
from streamward.model.detection import Box, Detection
from streamward.nvr import mark
from streamward.runtime.clock import SystemClock

WIDTH, HEIGHT = 320, 192
DETECTOR = f"{__name__}:Marked"
SLOW_DETECTOR = f"{__name__}:Slow"
SLOW_FOR = 0.25  # seconds for each frame: four a second of all cameras together
_KIND = "mark"
_NOWHERE = Box(0, 0, 1, 1)


class Mark(NamedTuple):
    """Which picture was looked at, and when."""

    scene: int
    loop_frame: int  # −1: the mark could not be read
    looked_at: float  # boot-time


class Marked:
    """Loaded by the Worker by its name."""

    size = (WIDTH, HEIGHT)

    def __init__(self) -> None:
        self._eyes = ColourDetector()
        self._clock = SystemClock()

    def detect(self, image: Any) -> list[Detection]:
        """What the built-in detector sees, and the mark."""
        found = self._eyes.detect(image)
        scene, loop_frame = mark.read(image) or (0, -1)
        looked_at = round(self._clock.boot() * 1_000_000)
        return [*found, Detection(f"{_KIND}.{scene}.{loop_frame}.{looked_at}", 1.0, _NOWHERE)]


class Slow(Marked):
    """A model that is far too slow for its cameras (S0-103)."""

    def detect(self, image: Any) -> list[Detection]:
        """The same, after a while."""
        time.sleep(SLOW_FOR)
        return super().detect(image)


def read(label: str) -> Mark | None:
    """The mark that a label is; None: it is something that was seen."""
    kind, _, rest = label.partition(".")
    if kind != _KIND:
        return None
    scene, loop_frame, looked_at = map(int, rest.split("."))
    return Mark(scene, loop_frame, looked_at / 1_000_000)
