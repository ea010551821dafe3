"""The words for pictures that are on their way: how they are coded, and how large they are."""

from enum import StrEnum
from typing import NamedTuple

MOST_PIXELS = (
    8192 * 4352
)  # of a picture that is decoded: 8K, also that of films; a larger one would take what others need


class VideoCodec(StrEnum):
    """What cameras send and the product decodes."""

    H264 = "h264"
    H265 = "h265"
    MJPEG = "mjpeg"


NAL_CODECS = (VideoCodec.H264, VideoCodec.H265)  # those that are made of NAL units: what the simulated NVR sends


class DecodeMode(StrEnum):
    """How much of what a camera sends is decoded; `vision.decoding` says how that is chosen."""

    ALL = "all"
    SAMPLED = "sampled"  # what is looked at, and what that refers to
    KEYFRAMES = "keyframes"
    ADAPTIVE = "adaptive"  # keyframes while nothing moves


class SkipLoopFilter(StrEnum):
    """Which pictures are decoded without the filter that smooths the edges between their blocks; FFmpeg's words."""

    NONE = "none"
    NONREF = "nonref"  # those that no other refers to: what is wrong in them stays there
    ALL = "all"  # what is wrong grows from one keyframe to the next


class HardwareDecoding(StrEnum):
    """What decodes in the processor's place; devices by FFmpeg's names."""

    NONE = "none"
    AUTO = "auto"  # the first device that can be opened
    VAAPI = "vaapi"
    CUDA = "cuda"
    QSV = "qsv"
    VIDEOTOOLBOX = "videotoolbox"


class PictureSize(NamedTuple):
    """Width and height as they are to be shown, in pixels."""

    width: int
    height: int

    def __str__(self) -> str:
        return f"{self.width}x{self.height}"
