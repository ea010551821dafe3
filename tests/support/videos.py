"""What cameras send that is out of the ordinary, encoded by PyAV: depths, colours and sizes of every kind."""

import re
from fractions import Fraction
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from streamward.model.video import PictureSize, VideoCodec
from streamward.protocol.rtp.nal import join, split
from streamward.protocol.rtp.parameter_sets import picture_size
from streamward.vision.lane import ArrivedUnit

LEFT, RIGHT = (200, 60, 40), (30, 70, 200)  # red, green and blue of a picture's halves
FPS = 10

_ENCODERS = {
    VideoCodec.H264: ("libx264", {"x264-params": "scenecut=0:repeat-headers=1:log-level=none"}),
    VideoCodec.H265: ("libx265", {"x265-params": "scenecut=0:repeat-headers=1:log-level=none"}),
}


def halves(width: int, height: int) -> NDArray[np.uint8]:
    """One colour on the left and one on the right; of what has no left, only that on the right."""
    picture = np.full((height, width, 3), RIGHT, dtype=np.uint8)
    picture[:, : width // 2] = LEFT
    return picture


def a_video(
    pictures: list[NDArray[np.uint8]],
    *,
    codec: VideoCodec = VideoCodec.H264,
    form: str = "yuv420p",
    gop: int = 5,
    preset: str = "ultrafast",
    begins_at: float = 0.0,
) -> list[ArrivedUnit]:
    """Pictures of one size, red, green and blue, encoded one after the other in that pixel format."""
    name, options = _ENCODERS[codec]
    encoder: Any = av.CodecContext.create(name, "w")
    encoder.height, encoder.width = pictures[0].shape[:2]
    encoder.pix_fmt, encoder.framerate, encoder.time_base = form, Fraction(FPS), Fraction(1, FPS)
    encoder.gop_size, encoder.max_b_frames, encoder.thread_count = gop, 0, 1
    encoder.options = {"preset": preset, "tune": "zerolatency", **options}
    return _encoded(encoder, pictures, begins_at)


def a_reordered_video(
    pictures: list[NDArray[np.uint8]], *, codec: VideoCodec = VideoCodec.H264, gop: int = 5
) -> list[ArrivedUnit]:
    """The same with B-frames: two of three pictures refer to one that is shown after them, and sent before."""
    name, options = _ENCODERS[codec]
    encoder: Any = av.CodecContext.create(name, "w")
    encoder.height, encoder.width = pictures[0].shape[:2]
    encoder.pix_fmt, encoder.framerate, encoder.time_base = "yuv420p", Fraction(FPS), Fraction(1, FPS)
    encoder.gop_size, encoder.max_b_frames, encoder.thread_count = gop, 2, 1
    encoder.options = {"preset": "ultrafast", **options}
    return _encoded(encoder, pictures, 0.0)


def _encoded(encoder: Any, pictures: list[NDArray[np.uint8]], begins_at: float) -> list[ArrivedUnit]:
    packets = []
    for number, picture in enumerate(pictures):
        frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format=encoder.pix_fmt)
        frame.pts, frame.time_base = number, encoder.time_base
        packets += encoder.encode(frame)
    packets += encoder.encode(None)
    return [
        ArrivedUnit(content=bytes(packet), is_keyframe=packet.is_keyframe, arrived_at=begins_at + number / FPS)
        for number, packet in enumerate(packets)
    ]


def a_giant(codec: VideoCodec, size: PictureSize) -> ArrivedUnit:
    """A small keyframe whose parameter sets say that it is so large: whoever believes them makes room for it."""
    nals = [bytes(nal) for nal in split(a_video([halves(64, 64)], codec=codec)[0].content)]
    place = next(place for place, nal in enumerate(nals) if picture_size(codec, nal) == (64, 64))
    nals[place] = _resized_h264(size) if codec is VideoCodec.H264 else _resized_h265(nals[place], size)
    assert picture_size(codec, nals[place]) == size
    return ArrivedUnit(content=join(nals), is_keyframe=True, arrived_at=0.0)


def _resized_h264(size: PictureSize) -> bytes:
    """A sequence parameter set of its own, of the baseline profile."""
    sides = _golomb(size.width // 16 - 1) + _golomb(size.height // 16 - 1)
    return b"\x67" + _packed(f"{0x42003E:024b}" + "".join(map(_golomb, (0, 0, 2, 1))) + "0" + sides + "1000" + "1")


def _resized_h265(sps: bytes, size: PictureSize) -> bytes:
    """The same set with another size, which stands behind the profile, two small numbers and nothing else."""
    bits = "".join(f"{byte:08b}" for byte in sps[2:].replace(b"\0\0\3", b"\0\0"))
    before = 8 + 96 + len(_golomb(0) + _golomb(1))
    behind = before + 2 * len(_golomb(64))
    return sps[:2] + _packed(bits[:before] + _golomb(size.width) + _golomb(size.height) + bits[behind:])


def _golomb(value: int) -> str:
    code = f"{value + 1:b}"
    return "0" * (len(code) - 1) + code


def _packed(bits: str) -> bytes:
    """As bytes, without anything in them that would look like a start code."""
    bits += "0" * (-len(bits) % 8)
    plain = int(bits, 2).to_bytes(len(bits) // 8)
    return re.sub(rb"\0\0(?=[\0-\3])", b"\0\0\3", plain)
