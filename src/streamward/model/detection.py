"""What was seen in one frame: labelled boxes in the pixels of the picture that the camera sent."""

from dataclasses import dataclass

LONGEST_LABEL = 64  # characters
OTHERS = "*"  # among labels: all that are not named


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle; the right and lower edges lie outside."""

    x1: float
    y1: float
    x2: float
    y2: float

    @property
    def area(self) -> float:
        return max(0.0, self.x2 - self.x1) * max(0.0, self.y2 - self.y1)

    @property
    def foot(self) -> tuple[float, float]:
        """Where it stands: the middle of its lower edge."""
        return (self.x1 + self.x2) / 2, self.y2

    def overlap(self, other: "Box") -> float:
        """Intersection over union: 1 for the same box, 0 for strangers."""
        shared = Box(
            max(self.x1, other.x1), max(self.y1, other.y1), min(self.x2, other.x2), min(self.y2, other.y2)
        ).area
        united = self.area + other.area - shared
        return shared / united if united > 0 else 0.0

    def scaled(self, x: float, y: float) -> "Box":
        """The same box in a picture of another size."""
        return Box(self.x1 * x, self.y1 * y, self.x2 * x, self.y2 * y)


@dataclass(frozen=True, slots=True)
class Detection:
    """One thing that a detector saw."""

    label: str
    confidence: float
    box: Box
    track_id: int | None = None  # the same for one thing as long as it is followed, in one camera and epoch
    zones: tuple[str, ...] = ()  # where it stands
