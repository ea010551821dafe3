"""Scenes encoded, decoded and looked at again: the truth survives the compression."""

from dataclasses import replace
from pathlib import Path

import av
import pytest

from streamward.drivers.detectors.colour import ColourDetector
from streamward.model.video import NAL_CODECS, VideoCodec
from streamward.nvr import mark
from streamward.nvr.clip import Clip, encode, load
from streamward.nvr.scene import Picture, make_scene
from streamward.vision.detector import Size, enlarged

PICTURE = Picture(width=640, height=360, fps=10, loop=20)
DECODERS = {VideoCodec.H264: "h264", VideoCodec.H265: "hevc"}


def decoded(clip: Clip) -> list[av.VideoFrame]:
    decoder = av.CodecContext.create(DECODERS[clip.codec], "r")
    assert isinstance(decoder, av.VideoCodecContext)
    frames = [frame for unit in clip.units for frame in decoder.decode(av.Packet(unit.content))]
    return [*frames, *decoder.decode(None)]


@pytest.mark.parametrize("codec", NAL_CODECS)
def test_a_clip_begins_with_a_keyframe_and_has_one_each_second(codec: VideoCodec):
    clip = encode(make_scene(1, PICTURE), codec=codec)
    assert [number for number, unit in enumerate(clip.units) if unit.is_keyframe] == [0, 10]


def test_keyframes_may_be_further_apart(tmp_path: Path):
    clip = load(1, tmp_path, picture=replace(PICTURE, key_every=2))
    assert [number for number, unit in enumerate(clip.units) if unit.is_keyframe] == [0]
    assert load(1, tmp_path, picture=PICTURE) != clip


@pytest.mark.parametrize("codec", NAL_CODECS)
def test_every_frame_says_which_it_is(codec: VideoCodec):
    clip = encode(make_scene(5, PICTURE), codec=codec)
    read = [mark.read(frame.reformat(format="rgb24").to_ndarray()) for frame in decoded(clip)]
    assert read == [(5, number) for number in range(PICTURE.loop)]


def test_the_built_in_detector_finds_everything_where_it_is():
    detector, scene = ColourDetector(), make_scene(2, PICTURE)
    shown, sent = detector.size, Size(PICTURE.width, PICTURE.height)
    for number, frame in enumerate(decoded(encode(scene))):
        image = frame.reformat(width=shown.width, height=shown.height, format="rgb24").to_ndarray()
        seen = enlarged(detector.detect(image), shown=shown, sent=sent)
        truth = scene.truth(number)
        assert sorted(each.label for each in seen) == sorted(label for label, _ in truth)
        for label, box in truth:
            assert max(each.box.overlap(box) for each in seen if each.label == label) > 0.75


def test_a_clip_is_made_once(tmp_path: Path):
    first = load(1, tmp_path, picture=PICTURE)
    assert load(1, tmp_path, picture=PICTURE) == first
    assert len(list(tmp_path.iterdir())) == 1
