"""Decoding less, with real pictures: nothing that happened is missed by those who decode only what is needed."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from streamward.drivers.decoder import Decoder
from streamward.drivers.detectors.colour import ColourDetector
from streamward.drivers.movement import PictureComparer
from streamward.model.detection import Box
from streamward.model.ids import CameraId
from streamward.model.video import DecodeMode, VideoCodec
from streamward.model.zone import Zone
from streamward.nvr.clip import Clip, encode
from streamward.nvr.scene import Picture, Scene, make_scene
from streamward.runner.looking import Looking
from streamward.runner.pipeline import Pipeline
from streamward.runtime.clock import SystemClock
from streamward.vision.decoding import NumberedUnit, Order
from streamward.vision.detections import NOTHING, Detections
from streamward.vision.detector import Size
from streamward.vision.lane import ArrivedUnit
from streamward.vision.sampling import Sampler
from streamward.vision.watchdog import Seen
from streamward.vision.zones import Zones
from tests.support.news import News
from tests.support.videos import a_reordered_video

FPS, GROUP, LOOP = 25, 50, 500
BELOW_THE_CLOCK = Zones((Zone(name="clock", corners=((0, 0), (1, 0), (1, 0.2), (0, 0.2)), leaves_out=True),))


class CountedDecoder(Decoder):
    """Counts what it is given."""

    def __init__(self) -> None:
        super().__init__(VideoCodec.H264)
        self.given = 0

    def decode(self, content: bytes, *, is_keyframe: bool) -> Any:
        self.given += 1
        return super().decode(content, is_keyframe=is_keyframe)


@dataclass
class Watched:
    """What came of a camera; hears its pipeline."""

    seen: dict[int, Seen] = field(default_factory=dict)
    frames: int = 0
    news: News = field(default_factory=News)

    def on_frame_decoded(self, _camera_id: CameraId, _arrived_at: float) -> None:
        self.frames += 1
        self.news.set()

    def on_model_inference_started(self, _shown: Any) -> None: ...

    def on_model_prediction_ready(self, seen: Seen) -> None:
        self.seen[seen.frame] = seen
        self.news.set()

    def on_status_update(self, update: Any) -> None:
        raise AssertionError(update)

    async def until(self, frames: int) -> None:
        await self.news.until(lambda: self.frames >= frames and self.seen)

    @property
    def found(self) -> list[int]:
        return sorted(frame for frame, seen in self.seen.items() if seen.detections)


async def watched(clip: Clip, mode: DecodeMode, *, slowly_from: int = 10_000) -> tuple[Watched, int]:
    """One loop, offered second by second, and then one by one so that all are looked at; and what was decoded."""
    told, decoder = Watched(), CountedDecoder()
    pipeline = Pipeline(told, clock=SystemClock())
    looking = Looking(
        sampler=Sampler(max_fps=6), detector=ColourDetector(), zones=BELOW_THE_CLOCK, mode=mode, compare=PictureComparer
    )
    pipeline.add(CameraId("cam-1"), decoder, looking)
    for number, unit in enumerate(clip.units):
        arrived = ArrivedUnit(content=unit.content, is_keyframe=unit.is_keyframe, arrived_at=number / FPS)
        pipeline.offer(CameraId("cam-1"), arrived)
        if number % FPS == FPS - 1 or number >= slowly_from:
            await told.until(number + 1)
    await told.until(len(clip.units))
    await pipeline.close()
    return told, decoder.given


def looked_into(clip: Clip, mode: DecodeMode) -> tuple[list[int], int]:
    """The frames in which something is found, one after the other without threads; and how many were decoded."""
    looking = Looking(
        sampler=Sampler(max_fps=6), detector=ColourDetector(), zones=BELOW_THE_CLOCK, mode=mode, compare=PictureComparer
    )
    chooser, comparer = looking.begun()
    decoder, found = CountedDecoder(), []

    def follow(orders: Iterable[Order]) -> None:
        for order in orders:
            unit = order.unit.unit
            (frame,) = decoder.decode(unit.content, is_keyframe=unit.is_keyframe)
            image = frame.fitted(looking.detector.size)
            is_moving = comparer is not None and (order.is_judged or order.is_shown) and comparer.differs(image)
            if order.is_judged:
                follow(chooser.judged(is_moving=is_moving))
            elif order.is_shown:
                chooser.looked(unit.arrived_at, is_moving=is_moving)
                found.extend([order.unit.number] * any(each.box.y1 > 40 for each in looking.detector.detect(image)))

    for number, unit in enumerate(clip.units):
        arrived = ArrivedUnit(content=unit.content, is_keyframe=unit.is_keyframe, arrived_at=number / FPS)
        follow(chooser.next(NumberedUnit(number, arrived)))
    return found, decoder.given


def visit(first: int, frames: int = LOOP, *, number: int = 1) -> Clip:
    """A still scene to which things come with that frame, and stay to the end."""
    picture = Picture(width=320, height=180, fps=FPS, loop=frames, key_every=GROUP // FPS, still_for=first)
    return encode(make_scene(number, picture))


@pytest.mark.parametrize("first", [LOOP - 8, LOOP - 49, LOOP - 50, LOOP - 30])
async def test_adaptive_sees_things_that_come_as_soon_as_one_who_decodes_everything(first):
    clip = visit(first)
    everything, _ = await watched(clip, DecodeMode.ALL, slowly_from=first)
    adaptive, given = await watched(clip, DecodeMode.ADAPTIVE, slowly_from=first)
    assert adaptive.found[0] <= everything.found[0] + GROUP
    assert adaptive.found[0] - first <= FPS // 6 + 2  # the first that was to be looked at, or the next
    assert given < LOOP


@dataclass(frozen=True, slots=True, kw_only=True)
class Visited(Scene):
    """A still scene to which one thing after the other comes, moves a little, and is gone after a third of a second."""

    VISIT = 8  # frames
    visits: tuple[int, ...] = ()  # their first frames

    def truth(self, frame: int) -> list[tuple[str, Box]]:
        since = next((frame - first for first in self.visits if 0 <= frame - first < self.VISIT), None)
        if since is None:
            return []
        number = self.visits.index(frame - since)
        label, box = super(Visited, replace(self, picture=replace(self.picture, still_for=0))).truth(0)[number % 3]
        left = round(box.x1 * 0.5 + since * (number % 4))
        return [(label, replace(box, x1=left, x2=left + box.x2 - box.x1))]


async def test_adaptive_misses_nothing_that_is_there_for_a_third_of_a_second():
    visits = tuple(range(403, 2000, 190))
    picture = Picture(width=320, height=180, fps=FPS, loop=2050, key_every=GROUP // FPS, still_for=2050)
    scene = make_scene(1, picture)
    clip = encode(Visited(number=1, picture=picture, things=scene.things, visits=visits))
    found, given = looked_into(clip, DecodeMode.ADAPTIVE)
    everything, _ = looked_into(clip, DecodeMode.ALL)
    for first in visits:
        mine, all_ = (min(set(range(first, first + Visited.VISIT)) & set(each)) for each in (found, everything))
        assert mine <= all_ + 1
    assert given < 2050


async def test_adaptive_decodes_nothing_but_keyframes_while_a_scene_is_still():
    adaptive, given = await watched(visit(999, 1000), DecodeMode.ADAPTIVE)
    assert given < 400  # seconds at the start, keyframes, and what looked like something by its size
    assert adaptive.frames == 1000


async def test_sampled_looks_at_the_same_pictures_as_one_who_decodes_everything():
    clip = visit(50, 200)
    everything, every = await watched(clip, DecodeMode.ALL)
    sampled, given = await watched(clip, DecodeMode.SAMPLED)
    both = everything.seen.keys() & sampled.seen.keys()
    assert both
    assert all(everything.seen[frame].picture == sampled.seen[frame].picture for frame in both)
    assert every == 200
    assert given < 200


async def test_keyframes_are_all_that_is_decoded_if_nobody_wants_more():
    told, given = await watched(visit(50, 200), DecodeMode.KEYFRAMES)
    assert given == 4
    assert set(told.seen) <= {1, 51, 101, 151}


class Brightness:
    """A detector that sees how bright it is."""

    size = Size(16, 16)
    keeps_shape = False

    def __init__(self) -> None:
        self.seen: list[int] = []

    def detect(self, image: Any) -> Detections:
        self.seen.append(round(float(image.mean()) / 10) * 10)
        return NOTHING


def grey(*levels: int) -> list[ArrivedUnit]:
    """A second of each brightness, with a keyframe in each and B-frames between them."""
    pictures = [np.full((96, 128, 3), level, np.uint8) for level in levels for _ in range(10)]
    return a_reordered_video(pictures, gop=10)


async def brightnesses(units: list[ArrivedUnit], mode: DecodeMode) -> tuple[list[int], int]:
    """What is seen of a camera; and how many units were decoded."""
    told, decoder, detector = Watched(), CountedDecoder(), Brightness()
    pipeline = Pipeline(told, clock=SystemClock())
    looking = Looking(
        sampler=Sampler(max_fps=2 if mode is DecodeMode.SAMPLED else None),
        detector=detector,
        mode=mode,
        compare=PictureComparer,
    )
    pipeline.add(CameraId("cam-1"), decoder, looking)
    held_back = 3  # at most: they are put in, and do not come out
    for number, unit in enumerate(units, 1):
        pipeline.offer(CameraId("cam-1"), unit)
        keys = len([each for each in units[:number] if each.is_keyframe])
        if mode is DecodeMode.KEYFRAMES:
            await told.news.until(lambda wanted=keys: len(detector.seen) == wanted)  # type: ignore[misc]
        elif unit.is_keyframe and number > 1:
            await told.until(number - held_back)
    await told.until(len(units) - held_back)
    await pipeline.close()
    return detector.seen, decoder.given


async def test_keyframes_show_their_own_pictures_where_others_are_shown_before_they_are_sent():
    assert await brightnesses(grey(40, 80, 120, 160, 200), DecodeMode.KEYFRAMES) == ([40, 80, 120, 160, 200], 5)


async def test_adaptive_wakes_by_the_first_keyframe_that_differs_where_pictures_are_reordered():
    _, still = await brightnesses(grey(*[40] * 13), DecodeMode.ADAPTIVE)
    _, moved = await brightnesses(grey(*[40] * 12, 200), DecodeMode.ADAPTIVE)
    assert still < 100
    assert moved == still + 10 + 1 + 9  # the group before the last keyframe, that itself again, and what follows it


async def test_sampled_decodes_all_of_a_camera_whose_pictures_are_reordered():
    _, given = await brightnesses(grey(40, 80, 120), DecodeMode.SAMPLED)
    assert given == 30
