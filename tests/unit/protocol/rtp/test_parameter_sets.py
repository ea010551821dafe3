"""Parameter sets, and the picture size that they tell."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.model.video import NAL_CODECS, PictureSize, VideoCodec
from streamward.protocol.rtp.nal import MOST_PARAMETER_SETS, split
from streamward.protocol.rtp.parameter_sets import MalformedParameterSet, ParameterSets, picture_size
from tests.support.pictures import PPS_H264, SPS_H264, clip


class Writer:
    """Bits, as an encoder writes them."""

    def __init__(self) -> None:
        self.bits = ""

    def put(self, count: int, value: int = 0) -> "Writer":
        self.bits += f"{value:0{count}b}" if count else ""
        return self

    def golomb(self, *values: int) -> "Writer":
        for value in values:
            code = f"{value + 1:b}"
            self.bits += "0" * (len(code) - 1) + code
        return self

    def done(self, header: bytes) -> bytes:
        bits = self.bits + "1"
        bits += "0" * (-len(bits) % 8)
        body = int(bits, 2).to_bytes(len(bits) // 8)
        return header + body.replace(b"\0\0\0", b"\0\0\3\0")


@pytest.mark.parametrize("codec", NAL_CODECS)
@pytest.mark.parametrize("size", [(320, 240), (182, 102)])
def test_the_size_of_real_pictures_is_read(codec, size):
    width, height = size
    sets = ParameterSets(codec)
    for nal in split(clip(codec, frames=2, width=width, height=height)[0]):
        sets.learn(bytes(nal))
    assert sets.size == PictureSize(width, height)
    assert str(sets.size) == f"{width}x{height}"
    assert sets.is_complete


def test_scaling_lists_and_interlaced_pictures_are_read_past():
    writer = Writer().put(8, 100).put(16).golomb(0, 3).put(1).golomb(0, 0).put(1).put(1, 1)
    writer.put(1, 1).golomb(*([0] * 16))  # a list whose every step is 0
    writer.put(1, 1).golomb(16)  # one that ends at once: −8
    writer.put(10)
    writer.golomb(0, 1).put(1).golomb(1, 2, 2, 3, 4).golomb(1).put(1)
    writer.golomb(39, 8).put(1, 0).put(1).put(1).put(1, 1).golomb(0, 0, 0, 1)
    assert picture_size(VideoCodec.H264, writer.done(b"\x67")) == PictureSize(640, 286)


def test_profiles_with_sub_layers_are_read_past():
    writer = Writer().put(4).put(3, 2).put(1).put(96).put(2, 3).put(2, 0).put(12).put(96)
    writer.golomb(0, 3).put(1).golomb(640, 360).put(1, 0)
    assert picture_size(VideoCodec.H265, writer.done(b"\x42\1")) == PictureSize(640, 360)


@pytest.mark.parametrize(
    "sps",
    [
        b"",
        b"\x67",
        b"\x67\x42\0\0" + bytes(40),
        Writer().put(24, 66 << 16).golomb(0, 0, 1).put(1).golomb(0, 0, 256).done(b"\x67"),
        Writer().put(24, 66 << 16).golomb(0, 0, 2, 0).put(1).golomb(5000, 5).put(8).done(b"\x67"),
    ],
)
def test_what_cannot_be_read_tells_no_size(sps):
    assert picture_size(VideoCodec.H264, sps) is None


def test_an_order_count_without_a_cycle_is_read():
    sps = Writer().put(24, 66 << 16).golomb(0, 0, 2, 0).put(1).golomb(39, 22).put(1, 1).put(2).done(b"\x67")
    assert picture_size(VideoCodec.H264, sps) == PictureSize(640, 368)


def test_sets_are_kept_by_kind_and_number():
    sets = ParameterSets(VideoCodec.H264)
    assert not sets.is_complete
    for nal in (PPS_H264, SPS_H264, SPS_H264, b"\x68\xff\x01", b"\x68\xff\x02"):
        sets.learn(nal)
    assert [bytes(nal) for nal in split(sets.content)] == [SPS_H264, b"\x68\xff\x02"]
    assert sets.holds([SPS_H264, PPS_H264])
    assert not sets.holds([SPS_H264])


@pytest.mark.parametrize("nal", [b"", b"\x67", b"\x06\xff\xff", b"\x68" + bytes(20), b"\x68" + b"\xff" * 5000])
def test_what_is_no_set_is_not_kept(nal):
    sets = ParameterSets(VideoCodec.H264)
    sets.learn(nal)
    assert sets.content == b""


def test_the_number_of_sets_is_bounded():
    sets = ParameterSets(VideoCodec.H264)
    for number in range(MOST_PARAMETER_SETS + 10):
        sets.learn(Writer().golomb(number).put(16, 7).done(b"\x68"))
    assert len(list(split(sets.content))) == MOST_PARAMETER_SETS


def test_an_unreadable_set_is_named_as_such():
    assert str(MalformedParameterSet()) == "not a parameter set"


@given(st.sampled_from(NAL_CODECS), st.binary(max_size=80))
def test_no_set_raises(codec, body):
    sets = ParameterSets(codec)
    for first in (b"\x67\x64", b"\x68", b"\x40\1", b"\x42\1", b"\x44\1"):
        sets.learn(first + body)
        picture_size(codec, first + body)
