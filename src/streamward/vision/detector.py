"""What finds things in pictures. A detector is any function of a picture; the pipeline fits the picture to it."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from streamward.vision.detections import Detections


@dataclass(frozen=True, slots=True)
class Size:
    """Pixels across and down."""

    width: int
    height: int

    def within(self, room: "Size") -> "Size":
        """As large as fits into that room, with its own shape; at least a pixel."""
        scale = min(room.width / self.width, room.height / self.height)
        return Size(max(1, round(self.width * scale)), max(1, round(self.height * scale)))


class Detector(Protocol):
    """Looks at pictures, red, green and blue, one at a time."""

    @property
    def size(self) -> Size:
        """What it wants to be shown."""
        ...

    @property
    def keeps_shape(self) -> bool:
        """Whether that is only the room that a picture has, which keeps its own shape; else it is stretched to it."""
        ...

    def detect(self, image: Any) -> Detections:
        """What it sees, in that picture's own pixels."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersion:
    """A detector that was made to take another one's place."""

    detector: Detector
    version: int


@runtime_checkable
class Remembering(Protocol):
    """A detector that goes by what it saw before, and so can serve one camera only."""

    def for_camera(self) -> Detector:
        """One for one camera."""
        ...


@runtime_checkable
class Doubting(Protocol):
    """A detector that also tells what it is hardly sure of, for cameras that want to hear of it."""

    @property
    def least_sure(self) -> float:
        """From which confidence on it is believed, where nobody says otherwise."""
        ...


def least_sure(detector: Detector) -> float:
    """How sure a detector must be of what it tells."""
    return detector.least_sure if isinstance(detector, Doubting) else 0.0


def for_camera(detector: Detector) -> Detector:
    """The detector that a camera is given: that of all, or one of its own."""
    return detector.for_camera() if isinstance(detector, Remembering) else detector


def shown_size(detector: Detector, sent: Size) -> Size:
    """In which size a detector is shown what a camera sent."""
    return sent.within(detector.size) if detector.keeps_shape else detector.size


def enlarged(seen: Detections, *, shown: Size, sent: Size) -> Detections:
    """What was seen in a picture that was made smaller, in the pixels that the camera sent."""
    return seen.scaled(sent.width / shown.width, sent.height / shown.height)
