"""Clips and snapshots: what came, cut and shown."""

import asyncio
import io
import json
import threading
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import av
import pytest

from streamward.drivers.cutting import PictureUnusable, PyAvCutter
from streamward.model.detection import Detection
from streamward.model.ids import CameraId
from streamward.model.secret import Secret
from streamward.model.video import NAL_CODECS, VideoCodec
from streamward.nvr.scene import KINDS
from streamward.runner.footage import CLIP_LIMIT, CLIP_SECONDS, footage
from streamward.runner.recent import AT_ONCE, MOST_WAITING, Clip, NothingToShow, Recent, TooManyAtOnce
from streamward.runner.worker_api import WorkerApi
from streamward.runtime.local_http import Asked, Reply
from streamward.vision.detections import Detections
from streamward.vision.lane import ArrivedUnit
from streamward.vision.ring import Ring, Units
from streamward.vision.watchdog import Seen
from tests.support.footage import PICTURE, SCENE, Deaf, filmed

CAMERA, OTHER = CameraId("cam-1"), CameraId("cam-2")
SECRET = Secret("let me in")


def recent(codec: VideoCodec = VideoCodec.H264, cutter: PyAvCutter | None = None) -> Recent:
    kept = Recent(lambda: Ring(seconds=30, most_bytes=1 << 20), cutter or PyAvCutter())
    heard = kept.hearing(CAMERA, Deaf())
    heard.playing(codec)
    for unit in filmed(codec):
        heard.unit(unit)
    return kept


def seen(frame: int) -> Seen:
    found = Detections.of(Detection(label, 1.0, box) for label, box in SCENE.truth(frame))
    moment = frame / PICTURE.fps
    return Seen(camera_id=CAMERA, frame=frame, arrived_at=moment, detections=found, inference_s=0.0, picture=0)


def pixels(picture: bytes) -> Any:
    with av.open(io.BytesIO(picture), "r") as read:
        return next(read.decode(video=0)).to_ndarray(format="rgb24").astype(int)


@pytest.mark.parametrize("codec", NAL_CODECS)
async def test_a_clip_is_what_the_camera_sent_in_the_last_seconds(codec):
    clip = await recent(codec).clip(CAMERA, seconds=1.5)
    assert clip.seconds == pytest.approx(1.9, abs=0.1)
    with av.open(io.BytesIO(clip.content), "r") as read:
        stream = read.streams.video[0]
        assert stream.duration
        assert stream.time_base
        assert (stream.width, stream.height) == (PICTURE.width, PICTURE.height)
        assert sum(packet.size > 0 for packet in read.demux(video=0)) == 20
        assert float(stream.duration * stream.time_base) == pytest.approx(1.94, abs=0.01)


@pytest.mark.parametrize("frame", [25, PICTURE.loop - 1])
async def test_a_snapshot_with_boxes_is_the_picture_in_which_they_were_seen(frame):
    kept = recent()
    kept.on_model_prediction_ready(seen(frame))
    image = pixels(await kept.snapshot(CAMERA, has_boxes=True))
    for each in seen(frame).detections:
        x, y = (int(value) for value in ((each.box.x1 + each.box.x2) / 2, (each.box.y1 + each.box.y2) / 2))
        assert abs(image[y, x] - KINDS[each.label]).max() < 60  # the thing is in its box
        assert abs(image[int(each.box.y1) + 1, x] - (255, 200, 0)).max() < 90


async def test_what_was_seen_long_ago_is_not_drawn_into_what_is_there_now():
    kept = recent()
    kept.on_model_prediction_ready(replace(seen(0), arrived_at=-10.0))
    plain, boxed = [await kept.snapshot(CAMERA, has_boxes=each) for each in (False, True)]
    assert plain == boxed


async def test_of_a_camera_that_is_not_here_there_is_nothing():
    kept = recent()
    kept.drop(CAMERA)
    for camera_id in (CAMERA, OTHER):
        with pytest.raises(NothingToShow):
            await kept.clip(camera_id, seconds=1)


async def test_what_cannot_be_read_is_an_error_of_ours():
    kept = Recent(lambda: Ring(seconds=30, most_bytes=1 << 20), PyAvCutter())
    heard = kept.hearing(CAMERA, Deaf())
    heard.playing(VideoCodec.H264)
    heard.unit(ArrivedUnit(content=b"\x00\x00\x01\x65" + bytes(50), is_keyframe=True, arrived_at=0.0))
    with pytest.raises(PictureUnusable):
        await kept.snapshot(CAMERA, has_boxes=True)
    with pytest.raises(PictureUnusable):
        await kept.clip(CAMERA, seconds=1)


async def test_another_codec_begins_anew_and_the_same_goes_on():
    kept = recent()
    kept.hearing(CAMERA, Deaf()).playing(VideoCodec.H264)
    assert await kept.clip(CAMERA, seconds=1)
    kept.hearing(CAMERA, Deaf()).playing(VideoCodec.H265)
    with pytest.raises(NothingToShow):
        await kept.clip(CAMERA, seconds=1)


@dataclass
class Served:
    """A Worker's HTTP, asked as its runner asks."""

    api: WorkerApi
    port: int

    async def ask(self, path: str, *, secret: Secret = SECRET, **query: str) -> Reply:
        return await footage(path, Asked(query, b""), [self.port], secret)


@pytest.fixture
async def served() -> Any:
    nobody: Any = SimpleNamespace()
    api = WorkerApi(nobody, nobody, recent(), secret=SECRET)
    yield Served(api, await api.start(0))
    await api.stop()


async def test_a_runner_finds_the_worker_that_has_a_camera(served):
    clip = await served.ask("/clip", camera=CAMERA, seconds="1")
    assert (clip.status, clip.kind) == (200, "video/mp4")
    assert float(clip.headers[CLIP_SECONDS]) >= 1
    assert clip.headers[CLIP_LIMIT] == "none"
    picture = await served.ask("/snapshot", camera=CAMERA, boxes="0")
    assert (picture.status, picture.kind, picture.body[:2]) == (200, "image/jpeg", b"\xff\xd8")


@pytest.mark.parametrize("secret", ["", "guess", "let me in too"])
async def test_who_is_not_let_in_sees_nothing(served, secret):
    assert (await served.ask("/clip", camera=CAMERA, secret=Secret(secret))).status == 401


async def test_of_a_camera_that_nobody_has_that_is_said(served):
    assert (await served.ask("/clip", camera=OTHER)).status == 404
    assert (await served.ask("/snapshot", camera="../../etc/passwd")).status == 404


@pytest.mark.parametrize("seconds", ["0", "-1", "601", "1e9", "nan", "inf", "-inf", "all", "1,5", "0x10"])
async def test_a_length_that_makes_no_sense_is_refused(served, seconds):
    refused = await served.ask("/clip", camera=CAMERA, seconds=seconds)
    assert (refused.status, json.loads(refused.body)) == (400, {"error": "seconds must be a number up to 600"})


async def test_who_names_no_camera_is_told_to(served):
    for path in ("/clip", "/snapshot"):
        refused = await served.ask(path, seconds="5")
        assert (refused.status, json.loads(refused.body)) == (400, {"error": "name a camera: ?camera=…"})


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD"])
async def test_a_clip_is_only_asked_for(served, method):
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(f"{method} /clip?camera={CAMERA} HTTP/1.1\r\nAuthorization: Bearer let me in\r\n\r\n".encode())
    assert (await reader.readline()).split()[1] == b"405"
    writer.close()


async def test_twenty_who_ask_at_once_all_get_their_clip(served):
    clips = await asyncio.gather(*(served.ask("/clip", camera=CAMERA, seconds="2") for _ in range(20)))
    assert {clip.status for clip in clips} == {200}
    assert len({clip.body for clip in clips}) == 1


class Slow(PyAvCutter):
    """Cuts when it is told to, and counts how many it has in hand."""

    def __init__(self) -> None:
        self.is_time = threading.Event()
        self.most = 0
        self._counting = threading.Lock()
        self._now = 0

    def clip(self, codec: VideoCodec, units: Units) -> bytes:
        with self._counting:
            self._now += 1
            self.most = max(self.most, self._now)
        assert self.is_time.wait(60)
        with self._counting:
            self._now -= 1
        return super().clip(codec, units)


async def test_more_than_can_wait_are_told_to_ask_again():
    cutter = Slow()
    kept = recent(cutter=cutter)
    asked = [asyncio.ensure_future(kept.clip(CAMERA, seconds=1)) for _ in range(AT_ONCE + MOST_WAITING + 5)]
    done, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
    assert {type(each.exception()) for each in done} == {TooManyAtOnce}
    cutter.is_time.set()
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(each, Clip) for each in answers) == AT_ONCE + MOST_WAITING
    assert cutter.most <= AT_ONCE
