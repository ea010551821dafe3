"""Video out of the ordinary, as packets, through reader, decoder and pipeline: colours, depths and sizes of every kind.

Pictures come in their own size and colours, and boxes in the camera's own pixels; what cannot be decoded is told with a
reason. Another camera of the same pipeline never notices.
"""

import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from streamward.drivers.cutting import PyAvCutter
from streamward.drivers.decoder import Decoder, PictureTooLarge
from streamward.drivers.detectors.colour import ColourDetector
from streamward.drivers.movement import PictureComparer
from streamward.model.ids import CameraId
from streamward.model.stream_error import StreamErrorCode
from streamward.model.video import MOST_PIXELS, NAL_CODECS, DecodeMode, PictureSize, VideoCodec
from streamward.protocol.rtp.reader import AccessUnit, ReaderSpec, RtpReader
from streamward.runner.looking import Looking
from streamward.runner.pipeline import Pipeline
from streamward.runtime.clock import SystemClock
from streamward.vision.detections import NOTHING
from streamward.vision.detector import Size
from streamward.vision.lane import ArrivedUnit
from streamward.vision.sampling import Sampler
from streamward.vision.watchdog import Seen, StatusUpdate
from tests.support.news import News
from tests.support.pictures import packets
from tests.support.videos import FPS, LEFT, RIGHT, a_giant, a_video, halves

BAD, GOOD = CameraId("bad"), CameraId("good")
FORMS = [
    (VideoCodec.H264, "yuvj420p"),
    (VideoCodec.H264, "yuv420p10le"),  # High 10
    (VideoCodec.H264, "yuv422p10le"),
    (VideoCodec.H264, "yuv444p"),  # High 4:4:4 Predictive
    (VideoCodec.H264, "yuv444p10le"),
    (VideoCodec.H265, "yuv420p10le"),  # Main 10
    (VideoCodec.H265, "yuv444p"),
    (VideoCodec.H265, "yuv420p12le"),
]
SIZES = [  # 4:2:0 has even ones only
    (1, 1, "yuv444p"),
    (2, 2, "yuv444p"),
    (16, 2, "yuv420p"),
    (321, 241, "yuv444p"),
    (322, 242, "yuv420p"),
    (8, 1000, "yuv420p"),
    (4096, 16, "yuv420p"),
]
GIANT = PictureSize(8192, 8192)
NEARLY = 8  # levels of 255


def through_rtp(codec: VideoCodec, units: Iterable[ArrivedUnit]) -> list[ArrivedUnit]:
    """What a reader makes of these units, sent as packets: the same, one for one."""
    reader, sent = RtpReader(ReaderSpec(codec=codec, payload_type=96)), list(units)
    cut = packets([unit.content for unit in sent], codec=codec)
    found = (each for packet in cut for each in reader.receive(memoryview(packet)))
    whole = [each for each in found if isinstance(each, AccessUnit)]
    assert [each.is_keyframe for each in whole] == [unit.is_keyframe for unit in sent]
    assert not any(each.is_damaged for each in whole)
    return [replace(unit, content=each.content) for unit, each in zip(sent, whole, strict=True)]


def colours(picture: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The mean colours of its halves, away from where they meet."""
    width = picture.shape[1]
    edge = 2 if width > 8 else 0
    left, right = picture[:, : width // 2 - edge], picture[:, width // 2 + edge :]
    return left.mean(axis=(0, 1)) if left.size else np.array(LEFT), right.mean(axis=(0, 1))


def has_halves(picture: NDArray[Any], *, nearly: float = NEARLY) -> bool:
    left, right = colours(picture)
    return bool(np.abs(left - LEFT).max() <= nearly and np.abs(right - RIGHT).max() <= nearly)


@dataclass
class Watched:
    """What came of two cameras; hears their pipeline."""

    seen: dict[CameraId, dict[int, Seen]] = field(default_factory=lambda: defaultdict(dict))
    troubles: dict[CameraId, list[StatusUpdate]] = field(default_factory=lambda: defaultdict(list))
    frames: dict[CameraId, int] = field(default_factory=lambda: defaultdict(int))
    news: News = field(default_factory=News)

    def on_frame_decoded(self, camera_id: CameraId, _arrived_at: float) -> None:
        self.frames[camera_id] += 1
        self.news.set()

    def on_model_inference_started(self, _shown: Any) -> None: ...

    def on_model_prediction_ready(self, seen: Seen) -> None:
        self.seen[seen.camera_id][seen.frame] = seen
        self.news.set()

    def on_status_update(self, update: StatusUpdate) -> None:
        self.troubles[update.camera_id].append(update)
        self.news.set()

    async def until(self, number: int) -> None:
        """Something became of that picture of the bad camera, and the good one's was looked at."""
        await self.news.until(lambda: self.frames[BAD] + len(self.troubles[BAD]) >= number)
        await self.news.until(lambda: number in self.seen[GOOD])


def looking(mode: DecodeMode) -> Looking:
    return Looking(sampler=Sampler(max_fps=100), detector=ColourDetector(), mode=mode, compare=PictureComparer)


async def watched(
    codec: VideoCodec, units: list[ArrivedUnit], *, mode: DecodeMode = DecodeMode.ALL, redialed: Sequence[int] = ()
) -> Watched:
    """Both cameras, picture by picture; each is over before the next comes. The bad one is dialed anew before some."""
    told, ordinary = Watched(), a_video([halves(320, 192)] * len(units), gop=1)
    pipeline = Pipeline(told, clock=SystemClock())
    pipeline.add(BAD, Decoder(codec), looking(mode))
    pipeline.add(GOOD, Decoder(VideoCodec.H264), looking(DecodeMode.ALL))
    for number, (unit, other) in enumerate(zip(through_rtp(codec, units), ordinary, strict=True), start=1):
        if number in redialed:
            pipeline.restart(BAD, Decoder(codec))
        pipeline.offer(BAD, unit)
        pipeline.offer(GOOD, other)
        await told.until(number)
    await told.news.until(lambda: told.seen[BAD] or told.troubles[BAD])
    await pipeline.close()
    assert not told.troubles[GOOD]
    return told


def boxes(seen: Seen) -> dict[str, tuple[float, float, float, float]]:
    return {each.label: (each.box.x1, each.box.y1, each.box.x2, each.box.y2) for each in seen.detections}


def is_halved(seen: Seen, size: Size) -> bool:
    """Whether its left half is a person and its right one a bicycle, for whoever goes by colours."""
    middle, off = size.width / 2, size.width / 40 + 2
    found, wanted = boxes(seen), {"person": (0, 0, middle, size.height), "bicycle": (middle, 0, *_corner(size))}
    return found.keys() == wanted.keys() and all(
        abs(have - want) <= off for name in wanted for have, want in zip(found[name], wanted[name], strict=True)
    )


def _corner(size: Size) -> tuple[int, int]:
    return size.width, size.height


@pytest.mark.parametrize(("codec", "form"), FORMS)
async def test_depths_and_colours_of_every_kind_are_seen_as_they_are(codec: VideoCodec, form: str):
    units = a_video([halves(320, 192)] * 4, codec=codec, form=form, gop=2)
    told = await watched(codec, units)
    assert told.frames[BAD] == 4
    assert not told.troubles[BAD]
    assert all(is_halved(seen, Size(320, 192)) for seen in told.seen[BAD].values())
    [frame] = Decoder(codec).decode(units[0].content, is_keyframe=True)
    assert frame.size == Size(320, 192)
    assert has_halves(frame.fitted(frame.size))


@pytest.mark.parametrize("mode", [DecodeMode.ALL, DecodeMode.ADAPTIVE])
@pytest.mark.parametrize(("width", "height", "form"), SIZES)
async def test_pictures_of_every_size_are_seen_as_they_are(width: int, height: int, form: str, mode: DecodeMode):
    units = a_video([halves(width, height)] * 4, form=form, gop=2)
    told = await watched(VideoCodec.H264, units, mode=mode)
    assert told.frames[BAD] == 4
    assert not told.troubles[BAD]
    if width > 1:
        assert all(is_halved(seen, Size(width, height)) for seen in told.seen[BAD].values())
    [frame] = Decoder(VideoCodec.H264).decode(units[0].content, is_keyframe=True)
    assert frame.size == Size(width, height)
    assert has_halves(frame.fitted(frame.size))


@pytest.mark.parametrize("redialed", [(), (4, 7, 10)])
@pytest.mark.parametrize("mode", DecodeMode)
async def test_a_size_that_changes_in_mid_stream_moves_the_boxes_with_it(mode: DecodeMode, redialed: Sequence[int]):
    shapes = [(320, 192, "yuv420p"), (640, 480, "yuv420p"), (130, 98, "yuv444p10le"), (320, 192, "yuv420p")]
    units = [
        unit
        for turn, (width, height, form) in enumerate(shapes)
        for unit in a_video([halves(width, height)] * 3, form=form, gop=3, begins_at=turn * 3 / FPS)
    ]
    told = await watched(VideoCodec.H264, units, mode=mode, redialed=redialed)
    assert told.frames[BAD] == len(units)
    assert not told.troubles[BAD]
    for number, seen in told.seen[BAD].items():
        width, height, _ = shapes[(number - 1) // 3]
        assert is_halved(seen, Size(width, height))


async def test_8k_is_seen_and_shown():
    units = a_video([halves(7680, 4320)])
    told = await watched(VideoCodec.H264, units)
    assert all(is_halved(seen, Size(7680, 4320)) for seen in told.seen[BAD].values())
    shown = PyAvCutter().snapshot(VideoCodec.H264, tuple(units), NOTHING)
    assert has_halves(picture_in(shown)[::16, ::16])


@pytest.mark.parametrize("codec", NAL_CODECS)
async def test_a_picture_that_is_too_large_is_told_and_the_next_that_is_not_is_seen(codec: VideoCodec):
    units = [a_giant(codec, GIANT), *a_video([halves(320, 192)] * 2, codec=codec, begins_at=1 / FPS)]
    told = await watched(codec, units)
    [trouble] = told.troubles[BAD]
    assert trouble.what is StreamErrorCode.CORRUPT_STREAM
    assert trouble.detail == f"pictures of 8192x8192 are not decoded: they have more than {MOST_PIXELS} pixels"
    assert told.frames[BAD] == 2


@pytest.mark.parametrize("codec", NAL_CODECS)
def test_a_picture_that_is_too_large_is_no_picture_to_show_either(codec: VideoCodec):
    with pytest.raises(PictureTooLarge):
        PyAvCutter().snapshot(codec, (a_giant(codec, GIANT),), NOTHING)


@pytest.mark.parametrize(("codec", "form"), FORMS)
def test_clips_and_snapshots_of_depths_and_colours_of_every_kind_show_them(codec: VideoCodec, form: str):
    units = tuple(a_video([halves(320, 192)] * 4, codec=codec, form=form, gop=2))
    assert has_halves(picture_in(PyAvCutter().snapshot(codec, units, NOTHING)), nearly=2 * NEARLY)
    shown = pictures_in(PyAvCutter().clip(codec, units))
    assert len(shown) == 4
    assert all(has_halves(each) for each in shown)


@pytest.mark.parametrize(("width", "height", "form"), SIZES)
def test_clips_and_snapshots_of_every_size_show_them(width: int, height: int, form: str):
    units = tuple(a_video([halves(width, height)] * 4, form=form, gop=2))
    shown = pictures_in(PyAvCutter().clip(VideoCodec.H264, units))
    shown.append(picture_in(PyAvCutter().snapshot(VideoCodec.H264, units, NOTHING)))
    assert [each.shape for each in shown] == [(height, width, 3)] * 5


def test_a_clip_in_which_the_size_changes_begins_with_the_new_one():
    units = (*a_video([halves(320, 192)] * 3), *a_video([halves(640, 480)] * 3, begins_at=3 / FPS))
    shown = pictures_in(PyAvCutter().clip(VideoCodec.H264, units))
    assert [each.shape[:2] for each in shown] == [(480, 640)] * 3
    assert all(map(has_halves, shown))
    assert picture_in(PyAvCutter().snapshot(VideoCodec.H264, units, NOTHING)).shape == (480, 640, 3)


def pictures_in(file: bytes) -> list[NDArray[Any]]:
    with av.open(io.BytesIO(file), "r") as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def picture_in(file: bytes) -> NDArray[Any]:
    [picture] = pictures_in(file)
    return picture
