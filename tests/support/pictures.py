"""Access units for tests: made up byte by byte, or encoded by PyAV."""

from fractions import Fraction
from functools import cache

import av
import numpy as np

from streamward.model.video import VideoCodec
from streamward.protocol.rtp.nal import join
from streamward.protocol.rtp.packet import RtpPacket, build
from streamward.protocol.rtp.writer import RtpSender, packetize

SPS_H264 = bytes.fromhex("6742c01fda014016e9b808080a000007d00001d4c1c0000003004000000c83c60ca8")  # 1280x720
PPS_H264 = bytes.fromhex("68ce3c80")
TICKS = 3600  # of 90 kHz, at 25 pictures a second

_ENCODERS = {
    VideoCodec.H264: ("libx264", {"preset": "ultrafast", "tune": "zerolatency"}),
    VideoCodec.H265: ("libx265", {"preset": "ultrafast", "tune": "zerolatency", "x265-params": "log-level=none"}),
}


def slice_h264(size: int = 40, *, key: bool = False, first: bool = True, needed: bool = True) -> bytes:
    """A made-up slice, intra if `key`: only its first two bytes mean something."""
    begins = (0x88 if key else 0x9A) if first else 0x11
    return bytes([(0x60 if needed else 0) | (5 if key else 1), begins]) + b"\xaa" * (size - 2)


def keyframe_h264(size: int = 40) -> bytes:
    """A whole keyframe with its parameter sets."""
    return join([SPS_H264, PPS_H264, slice_h264(size, key=True)])


def picture_h264(size: int = 40, *, needed: bool = True) -> bytes:
    """A whole picture that needs others."""
    return join([slice_h264(size, needed=needed)])


def packets(
    units: list[bytes], *, codec: VideoCodec = VideoCodec.H264, largest: int = 1400, first: int = 0
) -> list[bytes]:
    """The units of a stream as packets, 40 ms apart."""
    sender = RtpSender(ssrc=7, payload_type=96, sequence=first)
    cut = (sender.datagrams(packetize(codec, unit, largest=largest), n * TICKS) for n, unit in enumerate(units))
    return [packet for each in cut for packet in each]


def a_packet(payload: bytes, *, sequence: int = 0, timestamp: int = 0, marker: bool = False, ssrc: int = 7) -> bytes:
    """One packet."""
    return build(RtpPacket(96, marker, sequence, timestamp, ssrc, memoryview(payload)))


@cache
def clip(codec: VideoCodec, *, frames: int = 30, width: int = 320, height: int = 240, gop: int = 10) -> list[bytes]:
    """A moving scene, encoded: its access units."""
    name, options = _ENCODERS[codec]
    encoder = av.CodecContext.create(name, "w")
    assert isinstance(encoder, av.VideoCodecContext)
    encoder.width, encoder.height, encoder.pix_fmt = width, height, "yuv420p"
    encoder.time_base, encoder.gop_size, encoder.options = Fraction(1, 25), gop, options
    noise = np.random.default_rng(1).integers(0, 64, (height, width, 3), dtype=np.uint8)
    units: list[bytes] = []
    for number in range(frames):
        picture = np.roll(noise, number * 3, axis=1) + np.uint8(number)
        units += [bytes(packet) for packet in encoder.encode(av.VideoFrame.from_ndarray(picture, format="rgb24"))]
    return units + [bytes(packet) for packet in encoder.encode(None)]


def decoded(codec: VideoCodec, units: list[bytes]) -> int:
    """How many pictures a decoder makes of these units."""
    decoder = av.CodecContext.create("hevc" if codec is VideoCodec.H265 else "h264", "r")
    assert isinstance(decoder, av.VideoCodecContext)
    found = sum(len(decoder.decode(av.Packet(unit))) for unit in units)
    return found + len(decoder.decode(None))
