"""What finds things in pictures. A detector is any function of a picture; the pipeline fits the picture to it."""

from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Protocol, runtime_checkable

from streamward.model.detection import Box, Detection, Detections
from streamward.model.errors import StreamwardError


class DetectorUnusable(StreamwardError):
    """A name that stands for no detector that could be had here."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(name, why)
        self.name = name
        self.why = why

    def __str__(self) -> str:
        return f"the detector {self.name} cannot be used: {self.why}"


class AnswerUnusable(StreamwardError):
    """A detector gave something back that is no detection."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return f"the detector's answer cannot be used: {self.why}"


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


def for_camera(detector: Detector) -> Detector:
    """The detector that a camera is given: that of all, or one of its own."""
    return detector.for_camera() if isinstance(detector, Remembering) else detector


def shown_size(detector: Detector, sent: Size) -> Size:
    """In which size a detector is shown what a camera sent."""
    return sent.within(detector.size) if detector.keeps_shape else detector.size


def enlarged(seen: Detections, *, shown: Size, sent: Size) -> Detections:
    """What was seen in a picture that was made smaller, in the pixels that the camera sent."""
    x, y = sent.width / shown.width, sent.height / shown.height
    return tuple(replace(each, box=each.box.scaled(x, y)) for each in seen)


def checked(answer: Any) -> Detections:
    """What somebody else's detector gave back, if it is what was asked for; raises AnswerUnusable."""
    if not isinstance(answer, list | tuple):
        raise AnswerUnusable(f"a {type(answer).__name__} instead of a list of detections")
    for each in answer:
        if not (isinstance(each, Detection) and isinstance(each.box, Box) and isinstance(each.label, str)):
            raise AnswerUnusable(f"a {type(each).__name__} instead of a detection with a label and a box")
    return tuple(map(_plain, answer))


def _plain(seen: Detection) -> Detection:
    """The same with numbers of our own: detectors tend to give those of their libraries."""
    try:
        confidence, *corners = map(float, (seen.confidence, seen.box.x1, seen.box.y1, seen.box.x2, seen.box.y2))
    except (TypeError, ValueError) as error:
        raise AnswerUnusable("a detection whose confidence or box is not made of numbers") from error
    if not all(map(isfinite, (confidence, *corners))):
        raise AnswerUnusable("a detection whose confidence or box is not finite")
    return Detection(seen.label, confidence, Box(*corners))
