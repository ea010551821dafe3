"""What finds things in pictures. A detector is any function of a picture; the pipeline fits the picture to it."""

from dataclasses import dataclass, replace
from typing import Any, Protocol

from streamward.model.detection import Detections


@dataclass(frozen=True, slots=True)
class Size:
    """Pixels across and down."""

    width: int
    height: int


class Detector(Protocol):
    """Looks at pictures of one size, red, green and blue, one at a time."""

    @property
    def size(self) -> Size:
        """What it wants to be shown."""
        ...

    def detect(self, image: Any) -> Detections:
        """What it sees, in that picture's own pixels."""
        ...


def enlarged(seen: Detections, *, shown: Size, sent: Size) -> Detections:
    """What was seen in a picture that was made smaller, in the pixels that the camera sent."""
    x, y = sent.width / shown.width, sent.height / shown.height
    return tuple(replace(each, box=each.box.scaled(x, y)) for each in seen)
