"""The pipeline with real threads, decoders and the built-in detector: what the camera showed is what comes out."""

import threading
from dataclasses import replace
from typing import Any

import pytest

from streamward.drivers.decoder import Decoder
from streamward.drivers.detectors.colour import ColourDetector
from streamward.drivers.null import NullDetector
from streamward.model.detection import Box, Detection
from streamward.model.ids import CameraId
from streamward.model.stream_error import StreamErrorCode
from streamward.model.video import VideoCodec
from streamward.model.zone import Zone
from streamward.nvr.clip import Clip, encode
from streamward.nvr.scene import Picture, make_scene
from streamward.runner.looking import Looking
from streamward.runner.pipeline import Pipeline
from streamward.runtime.clock import SystemClock
from streamward.vision.detections import NOTHING, Detections
from streamward.vision.detector import Size
from streamward.vision.lane import ArrivedUnit
from streamward.vision.sampling import Sampler
from streamward.vision.watchdog import Seen, ShownFrame, StatusUpdate
from streamward.vision.zones import Zones
from tests.support.encodings import a_moving_clip
from tests.support.news import News

PICTURE = Picture(width=640, height=360, fps=10, loop=20)
CAMERA = CameraId("cam-1")
GARBAGE = b"\x00\x00\x01\x65" + b"\xff" * 50  # what calls itself a keyframe


class Run:
    """A pipeline under way, and what came out of it: its watchdog."""

    def __init__(self) -> None:
        self.shown: list[ShownFrame] = []
        self.seen: list[Seen] = []
        self.updates: list[StatusUpdate] = []
        self.frames = 0
        self._changed = News()
        self.pipeline = Pipeline(self, clock=SystemClock())

    def add(self, camera_id: CameraId = CAMERA, *, decoder: Any = None, detector: Any = None, **others: Any) -> None:
        self.pipeline.add(
            camera_id,
            decoder or Decoder(VideoCodec.H264),
            Looking(
                sampler=Sampler(max_fps=others.pop("max_fps", None)), detector=detector or ColourDetector(), **others
            ),
        )

    def on_frame_decoded(self, _camera_id: CameraId, _arrived_at: float) -> None:
        self.frames += 1
        self._changed.set()

    def on_model_inference_started(self, shown: ShownFrame) -> None:
        self.shown.append(shown)

    def on_model_prediction_ready(self, seen: Seen) -> None:
        self.seen.append(seen)
        self._changed.set()

    def on_status_update(self, update: StatusUpdate) -> None:
        self.updates.append(update)
        self._changed.set()

    def send(self, clip: Clip, *, camera_id: CameraId = CAMERA, units: slice = slice(None)) -> None:
        for number, unit in list(enumerate(clip.units))[units]:
            arrived = ArrivedUnit(content=unit.content, is_keyframe=unit.is_keyframe, arrived_at=number / PICTURE.fps)
            self.pipeline.offer(camera_id, arrived)

    async def until(self, is_so: Any) -> None:
        await self._changed.until(is_so)


class Blind:
    """A detector that sees nothing."""

    size = Size(32, 18)
    keeps_shape = False

    def detect(self, _image: Any) -> Detections:
        return NOTHING


class Broken(Blind):
    """A detector that fails at each picture."""

    def detect(self, image: Any) -> Detections:
        raise ValueError(f"cannot read {image!r}")


class Stuck(Blind):
    """A detector that is busy until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def detect(self, _image: Any) -> Detections:
        self.go.wait(60)
        return NOTHING


class BrokenDecoder:
    """A decoder that fails in a way that nobody foresaw, and then works."""

    corrupt = 0
    holds_back = False

    def __init__(self) -> None:
        self._decoder = Decoder(VideoCodec.H264)
        self._is_first = True

    def decode(self, content: bytes, *, is_keyframe: bool) -> Any:
        if self._is_first:
            self._is_first = False
            raise MemoryError
        return self._decoder.decode(content, is_keyframe=is_keyframe)

    def rest(self) -> Any:
        return self._decoder.rest()


async def test_what_was_true_of_a_frame_is_what_was_seen_in_it():
    scene = make_scene(1, PICTURE)
    run = Run()
    run.add()
    clip = encode(scene)
    for number in range(PICTURE.loop):  # one at a time, so that none is dropped
        run.send(clip, units=slice(number, number + 1))
        await run.until(lambda wanted=number + 1: len(run.seen) >= wanted)
    for seen in run.seen:
        truth = scene.truth(seen.frame - 1)
        assert sorted(each.label for each in seen.detections) == sorted(label for label, _ in truth)
        for label, box in truth:
            assert max(each.box.overlap(box) for each in seen.detections if each.label == label) > 0.75
    await run.pipeline.close()


async def test_each_thing_keeps_its_number_for_as_long_as_it_is_there():
    scene = make_scene(1, replace(PICTURE, loop=60))
    run = Run()
    run.add()
    clip = encode(scene)
    for number in range(len(clip.units)):
        run.send(clip, units=slice(number, number + 1))
        await run.until(lambda wanted=number + 1: len(run.seen) >= wanted)
    await run.pipeline.close()
    numbers: dict[int, set[int | None]] = {}
    for seen in run.seen:
        for place, (_, box) in enumerate(scene.truth(seen.frame - 1)):
            best = max(seen.detections, key=lambda each: each.box.overlap(box))
            numbers.setdefault(place, set()).add(best.track_id)
    assert all(len(each) == 1 for each in numbers.values())
    assert len(set.union(*numbers.values())) == len(numbers)


class Doubtful(Blind):
    """A detector that is half sure of a car, and believed from there on only."""

    least_sure = 0.6

    def detect(self, _image: Any) -> Detections:
        return Detections.of([Detection("car", 0.5, Box(1, 2, 3, 4))])


@pytest.mark.parametrize(
    ("thresholds", "told"), [({}, 0), ({"car": 0.5}, 1), ({"*": 0.4}, 1), ({"*": 0, "car": 0.51}, 0)]
)
async def test_a_camera_may_believe_more_or_less_than_its_detector_asks(thresholds, told):
    run = Run()
    run.add(detector=Doubtful(), thresholds=thresholds)
    run.send(encode(make_scene(1, PICTURE)), units=slice(0, 1))
    await run.until(lambda: run.seen)
    await run.pipeline.close()
    assert len(run.seen[0].detections) == told


async def test_only_so_many_frames_are_looked_at_and_all_are_decoded():
    run = Run()
    run.add(max_fps=2.0)
    run.send(encode(make_scene(1, PICTURE)))
    await run.until(lambda: run.frames == PICTURE.loop and run.seen)
    dropped = run.pipeline.dropped(CAMERA)
    assert dropped[0] == 0
    assert len(run.seen) + dropped[1] <= 5
    await run.pipeline.close()


async def test_while_a_detector_is_busy_all_is_decoded_and_then_it_is_shown_the_newest():
    run, stuck = Run(), Stuck()
    run.add(detector=stuck)
    clip = encode(make_scene(1, PICTURE))
    run.send(clip, units=slice(0, 1))
    await run.until(lambda: run.shown)
    run.send(clip, units=slice(1, None))
    await run.until(lambda: run.frames == PICTURE.loop)
    assert len(run.shown) == 1
    stuck.go.set()
    await run.until(lambda: run.seen and run.seen[-1].frame == PICTURE.loop)
    assert len(run.seen) <= 3  # the last of them may still have been on its way
    await run.pipeline.close()


class Sized(Blind):
    """A detector that takes pictures of its size alone, and counts them."""

    def __init__(self, *size: int) -> None:
        self.size = Size(*size)
        self.looked = 0

    def detect(self, image: Any) -> Detections:
        assert image.shape[:2] == (self.size.height, self.size.width)
        self.looked += 1
        return NOTHING


@pytest.mark.parametrize("width", [1, 31, 300, 853])
async def test_a_picture_of_any_width_is_looked_at(width: int):
    run, detector = Run(), Sized(width, 18)
    run.add(detector=detector)
    run.send(encode(make_scene(1, PICTURE)), units=slice(0, 1))
    await run.until(lambda: run.seen)
    assert (detector.looked, run.updates) == (1, [])
    await run.pipeline.close()


async def test_a_detector_is_swapped_between_two_frames_and_none_is_lost():
    run, old, new, other = Run(), Sized(32, 18), Sized(64, 64), Sized(8, 8)
    run.add(detector=old)
    run.add(CameraId("cam-2"), detector=other)
    clip = encode(make_scene(1, PICTURE))
    for number in range(PICTURE.loop):
        for camera_id in (CAMERA, CameraId("cam-2")):
            run.send(clip, camera_id=camera_id, units=slice(number, number + 1))
        if number == 10:
            run.pipeline.swap(old, new)  # while the eleventh picture may be anywhere
        await run.until(lambda wanted=number + 1: len(run.seen) >= 2 * wanted)
    assert old.looked in {10, 11}
    assert (old.looked + new.looked, other.looked) == (PICTURE.loop, PICTURE.loop)
    assert not run.updates
    await run.pipeline.close()


async def test_decoding_begins_with_a_keyframe_and_again_after_garbage():
    run = Run()
    decoder = Decoder(VideoCodec.H264)
    run.add(decoder=decoder, max_fps=1.0)
    clip = encode(make_scene(1, PICTURE))
    run.send(clip, units=slice(5, 12))  # a keyframe each ten
    await run.until(lambda: run.frames == 2)
    run.pipeline.offer(CAMERA, ArrivedUnit(content=GARBAGE, is_keyframe=True, arrived_at=2.0))
    run.send(clip, units=slice(0, 3))
    await run.until(lambda: run.frames >= 5)
    await run.pipeline.close()
    assert (run.frames, decoder.corrupt, decoder.is_waiting) == (5, 1, False)


async def test_a_camera_that_was_dropped_is_not_decoded_any_more():
    run = Run()
    run.add(detector=Blind())
    run.pipeline.drop(CAMERA)
    run.send(encode(make_scene(1, PICTURE)))
    await run.pipeline.close()
    assert run.frames == 0


async def test_a_detector_that_raises_is_told_and_the_other_cameras_are_looked_at():
    run, clip = Run(), encode(make_scene(1, PICTURE))
    run.add(CameraId("cam-2"), detector=Broken())
    run.add()
    for number in range(3):
        for camera_id in (CameraId("cam-2"), CAMERA):
            run.send(clip, camera_id=camera_id, units=slice(number, number + 1))
        await run.until(lambda wanted=number + 1: len(run.seen) >= wanted and len(run.updates) >= wanted)
    await run.pipeline.close()
    assert {seen.camera_id for seen in run.seen} == {CAMERA}
    update = run.updates[0]
    assert (update.camera_id, update.what, update.is_error) == ("cam-2", StreamErrorCode.DETECTOR_FAILED, True)
    assert update.detail.startswith("ValueError in detect, line ")
    assert "array" not in update.detail  # nothing of a picture is told


async def test_each_look_is_told_before_what_was_seen():
    run = Run()
    run.add(detector=Blind())
    run.send(encode(make_scene(1, PICTURE)), units=slice(0, 1))
    await run.until(lambda: run.seen)
    await run.pipeline.close()
    assert [(each.camera_id, each.frame) for each in run.shown] == [(CAMERA, 1)]


async def test_a_decoder_that_raises_is_told_and_goes_on_with_what_comes_next():
    run, clip = Run(), encode(make_scene(1, PICTURE))
    run.add(decoder=BrokenDecoder(), detector=Blind())
    run.send(clip, units=slice(0, 1))
    await run.until(lambda: run.updates)
    run.send(clip, units=slice(0, 2))
    await run.until(lambda: run.frames == 2)
    await run.pipeline.close()
    assert run.updates[0].what is StreamErrorCode.CORRUPT_STREAM


async def test_a_picture_of_which_a_part_is_wrong_is_shown_and_told():
    run = Run()
    run.add(detector=Blind())
    clip = encode(make_scene(1, PICTURE))
    spoilt = bytearray(clip.units[0].content)
    spoilt[len(spoilt) // 2 :: 7] = bytes(len(spoilt[len(spoilt) // 2 :: 7]))
    run.pipeline.offer(CAMERA, ArrivedUnit(content=bytes(spoilt), is_keyframe=True, arrived_at=0.0))
    await run.until(lambda: run.updates and run.frames)
    assert [update.what for update in run.updates] == [StreamErrorCode.CORRUPT_STREAM]
    await run.pipeline.close()


async def test_the_same_picture_has_the_same_sum_and_another_has_another():
    run = Run()
    run.add(detector=Blind())
    clip = encode(make_scene(1, PICTURE))
    for place in (0, 0, 10):  # keyframes
        looked = len(run.seen)
        run.send(clip, units=slice(place, place + 1))
        await run.until(lambda wanted=looked + 1: len(run.seen) >= wanted)
    first, again, other = (seen.picture for seen in run.seen)
    assert first == again != other
    await run.pipeline.close()


@pytest.mark.parametrize("parameters", ["interlaced=1:tff=1", "interlaced=0"])
async def test_the_detector_null_is_shown_frames_that_change_when_the_camera_s_do(parameters: str):
    clip = a_moving_clip(parameters, frames=20)
    run = Run()
    run.add(detector=NullDetector())
    for number in range(len(clip.units)):
        run.send(clip, units=slice(number, number + 1))
        await run.until(lambda: len(run.seen) + len(run.updates) > number)  # noqa: B023 - awaited at once
    await run.pipeline.close()
    assert not run.updates
    assert len({seen.picture for seen in run.seen}) == len(clip.units)


async def test_a_frame_that_cannot_be_scaled_for_its_detector_is_reported_and_does_not_count():
    class OneLine(Blind):
        size = Size(16, 1)

    run = Run()
    run.add(detector=OneLine(), max_fps=5)
    run.send(a_moving_clip("interlaced=1:tff=1", frames=20))
    await run.until(lambda: len(run.updates) >= 10)
    await run.pipeline.close()
    assert {update.what for update in run.updates} == {StreamErrorCode.CORRUPT_STREAM}
    assert (run.frames, run.seen) == (0, [])


async def test_only_what_stands_in_a_cameras_zones_is_seen():
    scene = make_scene(1, PICTURE)
    (label, box), *others = scene.truth(0)
    assert others
    x, y = box.foot[0] / PICTURE.width, box.foot[1] / PICTURE.height
    around = ((x - 0.02, y - 0.04), (x + 0.02, y - 0.04), (x + 0.02, y + 0.04), (x - 0.02, y + 0.04))
    run = Run()
    run.add(zones=Zones((Zone(name="here", corners=around),)))
    run.add(CameraId("cam-2"), zones=Zones((Zone(name="here", corners=around, leaves_out=True),)))
    for camera_id in (CAMERA, CameraId("cam-2")):
        run.send(encode(scene), camera_id=camera_id, units=slice(0, 1))
    await run.until(lambda: len(run.seen) == 2)
    await run.pipeline.close()
    seen = {each.camera_id: [thing.label for thing in each.detections] for each in run.seen}
    assert seen[CAMERA] == [label]
    assert sorted(seen[CameraId("cam-2")]) == sorted(other for other, _ in others)
