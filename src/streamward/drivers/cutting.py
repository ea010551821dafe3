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
from streamward.vision.detections import Detections
from streamward.vision.lane import ArrivedUnit

_TICKS = 90_000  # of a clip's clock, a second
_LAST = 1 / 25  # seconds that the last picture is shown
_LINE = 3  # pixels
_COLOUR = (255, 200, 0)
_NAMES = {VideoCodec.H264: "h264", VideoCodec.H265: "hevc"}


class PictureUnusable(StreamwardError):
    """What a camera sent cannot be read."""

    def __str__(self) -> str:
        return "what this camera sent last cannot be read"


class PyAvCutter:
    """The cutter on PyAV."""

    def clip(self, codec: VideoCodec, units: tuple[ArrivedUnit, ...]) -> bytes:
        """Each picture is shown until the next came."""
        try:
            return _muxed(codec, units)
        except FFmpegError as error:
            raise PictureUnusable from error

    def snapshot(self, codec: VideoCodec, units: tuple[ArrivedUnit, ...], boxes: Detections) -> bytes:
        image = _last_picture(codec, units)
        for each in boxes:
            _frame(image, each.box)
        return _jpeg(image)


def _muxed(codec: VideoCodec, units: tuple[ArrivedUnit, ...]) -> bytes:
    file = io.BytesIO()
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


def _packets(units: tuple[ArrivedUnit, ...]) -> Iterator["av.Packet[Any]"]:
    first = units[0].arrived_at
    moments = [round((unit.arrived_at - first) * _TICKS) for unit in units]
    for place in range(1, len(moments)):  # several may come in one moment
        moments[place] = max(moments[place], moments[place - 1] + 1)
    ends = [*moments[1:], moments[-1] + round(_LAST * _TICKS)]
    for unit, moment, end in zip(units, moments, ends, strict=True):
        packet = av.Packet(unit.content)
        packet.pts = packet.dts = moment
        packet.duration = end - moment
        packet.time_base = Fraction(1, _TICKS)
        packet.is_keyframe = unit.is_keyframe
        yield packet


def _last_picture(codec: VideoCodec, units: tuple[ArrivedUnit, ...]) -> NDArray[Any]:
    """The last of the units after their last keyframe."""
    keys = [place for place, unit in enumerate(units) if unit.is_keyframe]
    decoder, image = Decoder(codec), None
    for unit in units[keys[-1] :]:
        for frame in decoder.decode(unit.content, is_keyframe=unit.is_keyframe):
            image = frame
    if image is None:
        raise PictureUnusable
    fitted: NDArray[Any] = image.fitted(image.size)
    return np.ascontiguousarray(fitted)


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
