"""Clips and snapshots with PyAV: pictures go into an MP4 as they came, only a snapshot is decoded."""

import io
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import av
import numpy as np
from av.error import FFmpegError
from numpy.typing import NDArray

from streamward.drivers.decoder import Decoder
from streamward.model.detection import Box
from streamward.model.errors import StreamwardError
from streamward.model.video import VideoCodec
from streamward.protocol.rtp import h264, h265, nal
from streamward.vision.detections import Detections
from streamward.vision.ring import Units
from streamward.vision.timeline import timeline

_TICKS = 90_000  # of a clip's clock, a second
_LAST = 1 / 25  # seconds that the last picture is shown
_LINE = 3  # pixels
_COLOUR = (255, 200, 0)
_NAMES = {VideoCodec.H264: "h264", VideoCodec.H265: "hevc", VideoCodec.MJPEG: "mjpeg"}
_JPEG_FRAME = b"\xff\xc0"  # the marker of a header with the size, which nothing before it holds


class PictureUnusable(StreamwardError):
    """What a camera sent cannot be read."""

    def __str__(self) -> str:
        return "what this camera sent last cannot be read"


class PyAvCutter:
    """The cutter on PyAV."""

    def clip(self, codec: VideoCodec, units: Units) -> bytes:
        """Each picture is shown until the next came."""
        try:
            return _muxed(codec, units)
        except FFmpegError as error:
            raise PictureUnusable from error

    def snapshot(self, codec: VideoCodec, units: Units, boxes: Detections) -> bytes:
        image = _last_picture(codec, units)
        for each in boxes:
            _frame(image, each.box)
        return _jpeg(image)


def _muxed(codec: VideoCodec, units: Units) -> bytes:
    file, units = io.BytesIO(), _of_one_form(codec, units)
    with (
        av.open(io.BytesIO(units[0].content), format=_NAMES[codec]) as keyframe,
        av.open(file, "w", format="mp4") as container,
    ):
        stream = container.add_stream_from_template(keyframe.streams.video[0])
        stream.time_base = Fraction(1, _TICKS)
        for packet in _packets(units):
            packet.stream = stream
            container.mux(packet)
    return file.getvalue()


def _of_one_form(codec: VideoCodec, units: Units) -> Units:
    """The last of them that have one size and profile: a file has only one."""
    first, form = 0, b""
    for place, unit in enumerate(units):
        if unit.is_random_access and (found := _sequence_sets(codec, unit.content)) != form:
            first, form = place, found
    return units[first:]


def _sequence_sets(codec: VideoCodec, keyframe: bytes) -> bytes:
    if codec is VideoCodec.MJPEG:
        place = keyframe.find(_JPEG_FRAME)
        return keyframe[place : place + 9]
    return b"".join(each for each in nal.split(keyframe) if _is_sequence_set(codec, each[0]))


def _is_sequence_set(codec: VideoCodec, first: int) -> bool:
    return first & 0x1F == h264.SPS if codec is VideoCodec.H264 else first >> 1 & 0x3F == h265.SPS


def _packets(units: Units) -> Iterator["av.Packet[Any]"]:
    moments = timeline(units)
    ends = [*(moment.sent for moment in moments[1:]), moments[-1].sent + _LAST]
    for unit, moment, end in zip(units, moments, ends, strict=True):
        packet = av.Packet(unit.content)
        packet.dts, packet.pts = round(moment.sent * _TICKS), round(moment.shown * _TICKS)
        packet.duration = round(end * _TICKS) - packet.dts
        packet.time_base = Fraction(1, _TICKS)
        packet.is_keyframe = unit.is_random_access
        yield packet


def _last_picture(codec: VideoCodec, units: Units) -> NDArray[Any]:
    """The last of the units, decoded from the last keyframe or recovery point, or else from the first one.

    Behind a recovery point frames come only after a while.
    """
    starts = [place for place, unit in enumerate(units) if unit.is_random_access]
    image = None
    for start in (starts[-1], 0):
        decoder = Decoder(codec)
        for unit in units[start:]:
            for frame in decoder.decode(unit.content, is_keyframe=unit.is_random_access):
                image = frame
        if image is not None:
            break
    if image is None:
        return _held_back(codec, units[starts[-1] :])
    fitted: NDArray[Any] = image.fitted(image.size)
    return np.ascontiguousarray(fitted)


def _held_back(codec: VideoCodec, units: Units) -> NDArray[Any]:
    """The last picture of a decoder that shows none yet, as others could be shown before."""
    decoder: Any = av.CodecContext.create(_NAMES[codec], "r")
    try:
        frames = [frame for unit in units for frame in decoder.decode(av.Packet(unit.content))]
        frames += decoder.decode(None)
    except FFmpegError as error:
        raise PictureUnusable from error
    if not frames:
        raise PictureUnusable
    image: NDArray[Any] = frames[-1].to_ndarray(format="rgb24")
    return image


def _frame(image: NDArray[Any], box: Box) -> None:
    """Draws the edge of a box, as far as it lies in the picture."""
    height, width = image.shape[:2]
    x1, x2 = (int(min(max(0, x), width)) for x in (box.x1, box.x2))
    y1, y2 = (int(min(max(0, y), height)) for y in (box.y1, box.y2))
    for part in (
        image[y1 : y1 + _LINE, x1:x2],
        image[max(y1, y2 - _LINE) : y2, x1:x2],
        image[y1:y2, x1 : x1 + _LINE],
        image[y1:y2, max(x1, x2 - _LINE) : x2],
    ):
        part[:] = _COLOUR


def _jpeg(image: NDArray[Any]) -> bytes:
    encoder = av.CodecContext.create("mjpeg", "w")
    assert isinstance(encoder, av.VideoCodecContext)
    encoder.height, encoder.width = image.shape[:2]
    encoder.pix_fmt, encoder.time_base = "yuvj420p", Fraction(1, 25)
    encoder.thread_count = 1
    encoder.options = {"q": "4"}
    shown = av.VideoFrame.from_ndarray(image, format="rgb24").reformat(format="yuvj420p")
    return b"".join(bytes(packet) for packet in [*encoder.encode(shown), *encoder.encode(None)])
