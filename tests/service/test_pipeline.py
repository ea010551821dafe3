"""The pipeline with real threads, decoders and the built-in detector: what the camera showed is what comes out."""

import asyncio
from itertools import count
from typing import Any

from streamward.drivers.decoder import Decoder
from streamward.drivers.detectors.colour import ColourDetector
from streamward.model.detection import Detections
from streamward.model.ids import CameraId
from streamward.model.video import VideoCodec
from streamward.nvr.clip import Clip, encode
from streamward.nvr.scene import Picture, make_scene
from streamward.runner.pipeline import Pipeline, Seen
from streamward.runtime.clock import SystemClock
from streamward.vision.detector import Size
from streamward.vision.lane import ArrivedUnit
from streamward.vision.sampling import Sampler

PICTURE = Picture(width=640, height=360, fps=10, loop=20)
CAMERA = CameraId("cam-1")
GARBAGE = b"\x00\x00\x01\x65" + b"\xff" * 50  # what calls itself a keyframe


class Run:
    """A pipeline under way, and what came out of it."""

    def __init__(self, detector: Any = None) -> None:
        self.seen: list[Seen] = []
        self.frames = 0
        self._changed = asyncio.Event()
        self.pipeline = Pipeline(
            detector or ColourDetector(), clock=SystemClock(), on_frame=self._frame, on_seen=self._look
        )

    def _frame(self, _camera_id: CameraId, _arrived_at: float) -> None:
        self.frames += 1
        self._changed.set()

    def _look(self, seen: Seen) -> None:
        self.seen.append(seen)
        self._changed.set()

    def send(self, clip: Clip, *, camera_id: CameraId = CAMERA, units: slice = slice(None)) -> None:
        for number, unit in list(enumerate(clip.units))[units]:
            arrived = ArrivedUnit(content=unit.content, is_keyframe=unit.is_keyframe, arrived_at=number / PICTURE.fps)
            self.pipeline.offer(camera_id, arrived)

    async def until(self, is_so: Any) -> None:
        async with asyncio.timeout(60):
            while not is_so():
                self._changed.clear()
                await self._changed.wait()


class Blind:
    """A detector that needs to be let go on."""

    size = Size(32, 18)

    def __init__(self) -> None:
        self.looked = count(1)
        self.times = 0

    def detect(self, _image: Any) -> Detections:
        self.times = next(self.looked)
        return ()


async def test_what_was_true_of_a_frame_is_what_was_seen_in_it():
    scene = make_scene(1, PICTURE)
    run = Run()
    run.pipeline.add(CAMERA, Decoder(VideoCodec.H264), Sampler(max_fps=None))
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


async def test_only_so_many_frames_are_looked_at_and_all_are_decoded():
    run = Run()
    run.pipeline.add(CAMERA, Decoder(VideoCodec.H264), Sampler(max_fps=2.0))
    run.send(encode(make_scene(1, PICTURE)))
    await run.until(lambda: run.frames == PICTURE.loop and run.seen)
    dropped = run.pipeline.dropped(CAMERA)
    assert dropped[0] == 0
    assert len(run.seen) + dropped[1] <= 5
    await run.pipeline.close()


async def test_decoding_begins_with_a_keyframe_and_again_after_garbage():
    run = Run()
    decoder = Decoder(VideoCodec.H264)
    run.pipeline.add(CAMERA, decoder, Sampler(max_fps=1.0))
    clip = encode(make_scene(1, PICTURE))
    run.send(clip, units=slice(5, 12))  # a keyframe each ten
    await run.until(lambda: run.frames == 2)
    run.pipeline.offer(CAMERA, ArrivedUnit(content=GARBAGE, is_keyframe=True, arrived_at=2.0))
    run.send(clip, units=slice(0, 3))
    await run.until(lambda: run.frames >= 5)
    await run.pipeline.close()
    assert (run.frames, decoder.corrupt, decoder.is_waiting) == (5, 1, False)


async def test_a_camera_that_was_dropped_is_not_decoded_any_more():
    run = Run(Blind())
    run.pipeline.add(CAMERA, Decoder(VideoCodec.H264), Sampler())
    run.pipeline.drop(CAMERA)
    run.send(encode(make_scene(1, PICTURE)))
    await run.pipeline.close()
    assert run.frames == 0
