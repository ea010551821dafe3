"""Synthetic scenes: what moves in them is a function of the frame number, so that the truth is known for every frame.

A scene is a loop. Things are plain rectangles, each kind in a colour of its own, on a grey ground: whoever has the
pixels can find them without a model. They bounce off the edges and never overlap others of their kind, for each kind
keeps to a band of its own.
"""

from dataclasses import dataclass
from random import Random

from streamward.model.detection import Box

MARGIN = 48  # pixels above the scene that belong to the mark
KINDS: dict[str, tuple[int, int, int]] = {  # label → red, green, blue
    "person": (220, 40, 40),
    "car": (40, 190, 60),
    "bicycle": (60, 70, 230),
}
_SIZES = {"person": (0.05, 0.22), "car": (0.16, 0.14), "bicycle": (0.09, 0.13)}  # of the picture's width and height


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """How large a scene is and how fast it runs."""

    width: int = 1280
    height: int = 720
    fps: int = 25
    loop: int = 125  # frames after which it begins again
    key_every: int = 1  # seconds from one keyframe to the next
    still_for: int = 0  # frames at the start of the loop in which nothing is there


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """Something that goes to and fro in its band."""

    label: str
    width: int
    height: int
    top: int
    reach: int  # pixels that it can go
    laps: int  # how often it goes there and back in one loop
    phase: float  # where in a lap it begins


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One loop of moving things."""

    number: int
    picture: Picture
    things: tuple[Thing, ...]

    def truth(self, frame: int) -> list[tuple[str, Box]]:
        """Every thing and its box in one frame of the loop."""
        if frame % self.picture.loop < self.picture.still_for:
            return []
        return [(thing.label, _box(thing, frame % self.picture.loop, self.picture.loop)) for thing in self.things]


def make_scene(number: int, picture: Picture | None = None) -> Scene:
    """The scene of that number: always the same."""
    picture = picture or Picture()
    random = Random(f"streamward scene {number}")  # noqa: S311 - a drawing, no secret
    band = (picture.height - MARGIN) // len(KINDS)
    things = [
        _thing(label, random, top=MARGIN + place * band, band=band, picture=picture)
        for place, label in enumerate(KINDS)
        if number % 4 or label != "bicycle"  # not all scenes have everything
    ]
    return Scene(number=number, picture=picture, things=tuple(things))


def _thing(label: str, random: Random, *, top: int, band: int, picture: Picture) -> Thing:
    wide, high = _SIZES[label]
    width, height = _even(picture.width * wide), min(_even(picture.height * high), _even(band - 4))
    return Thing(
        label=label,
        width=width,
        height=height,
        top=_even(top + random.random() * max(0, band - height)),
        reach=picture.width - width,
        laps=random.choice((1, 2)),
        phase=random.random(),
    )


def _box(thing: Thing, frame: int, loop: int) -> Box:
    lap = (frame * thing.laps / loop + thing.phase) % 1.0
    x = round(thing.reach * (1 - abs(2 * lap - 1)))
    return Box(x, thing.top, x + thing.width, thing.top + thing.height)


def _even(value: float) -> int:
    """Colour has half the resolution of brightness."""
    return int(value) // 2 * 2
