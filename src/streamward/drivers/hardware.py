"""Decoding by a device of the host, where there is one; where there is none, or where it fails, the processor does it.

    decoder ─opened→ a Worker's hardware ─→ device (FFmpeg's) ─→ context
                          └── not there: told once, and not asked for again

A context brings its pictures back into the host's memory by itself, in whatever pixel format the device has. FFmpeg
may not fall back by itself: nobody would hear of it.
"""

from collections.abc import Callable
from typing import Any, Protocol

import av
from av.codec.hwaccel import HWAccel, hwdevices_available
from av.error import FFmpegError

from streamward.model.errors import StreamwardError
from streamward.model.video import MOST_PIXELS, HardwareDecoding, VideoCodec

NAMES = {VideoCodec.H264: "h264", VideoCodec.H265: "hevc", VideoCodec.MJPEG: "mjpeg"}  # FFmpeg's own decoders

_OF_ITS_OWN = {HardwareDecoding.QSV: "_qsv"}  # devices that have decoders of their own, whose names end so
_IN_TURN = (HardwareDecoding.VIDEOTOOLBOX, HardwareDecoding.CUDA, HardwareDecoding.VAAPI, HardwareDecoding.QSV)


class HardwareUnusable(StreamwardError):
    """A device by which nothing can be decoded, or nothing any more."""

    def __init__(self, asked: str, why: str) -> None:
        super().__init__(asked, why)
        self.asked = asked
        self.why = why

    def __str__(self) -> str:
        return f"hardware decoding ({self.asked}) cannot be used: {self.why}; the processor decodes"


class Context(Protocol):
    """A decoder that was opened."""

    @property
    def has_b_frames(self) -> bool:
        """Whether pictures are held back, as others may be shown before."""
        ...

    def decode(self, packet: "av.Packet[Any] | None") -> list[av.VideoFrame]:
        """The pictures that one access unit gives; None: all that were held back. Raises FFmpegError."""
        ...

    def flush_buffers(self) -> None:
        """Forgets all pictures: it begins anew with a keyframe."""
        ...


class Device(Protocol):
    """Where decoders can be opened."""

    def opened(self, codec: VideoCodec) -> Context:
        """A decoder of that codec; raises HardwareUnusable."""
        ...


class AvDevice:
    """The devices that FFmpeg knows: the one that is asked for, or the first that can be opened."""

    def __init__(self, asked: HardwareDecoding) -> None:
        self._asked = asked

    def opened(self, codec: VideoCodec) -> Context:
        reasons = []
        for kind in known() if self._asked is HardwareDecoding.AUTO else (self._asked,):
            try:
                return _opened(kind, codec)
            except HardwareUnusable as error:
                reasons.append(f"{kind}: {error.why}" if self._asked is HardwareDecoding.AUTO else error.why)
        raise HardwareUnusable(self._asked, "; ".join(reasons) or "this FFmpeg knows no device")


class Hardware:
    """One Worker's device: decoders of all its cameras ask for it, in whatever thread."""

    def __init__(self, device: Device, tell: Callable[[HardwareUnusable], None]) -> None:
        self._device = device
        self._tell = tell
        self._missing: set[VideoCodec] = set()

    def opened(self, codec: VideoCodec) -> Context | None:
        """A decoder; None: there is none to be had, which is told once."""
        if codec in self._missing:
            return None
        try:
            return self._device.opened(codec)
        except HardwareUnusable as error:
            self._missing.add(codec)
            self._tell(error)
            return None

    def failed(self, codec: VideoCodec, error: FFmpegError) -> None:
        """A decoder that it had opened failed, by the device's fault or by its camera's: others may do well."""
        self._tell(HardwareUnusable(codec, f"it failed while it decoded ({_reason(error)})"))


def known() -> tuple[HardwareDecoding, ...]:
    """The devices that FFmpeg was built with, whether or not this host has them."""
    built = set(hwdevices_available())
    return tuple(kind for kind in _IN_TURN if kind in built)


def _opened(kind: HardwareDecoding, codec: VideoCodec) -> Context:
    name = NAMES[codec] + _OF_ITS_OWN.get(kind, "")
    if kind not in known() or name not in av.codecs_available:
        raise HardwareUnusable(kind, f"this FFmpeg cannot decode {codec} with it")
    try:
        context = av.CodecContext.create(name, "r", hwaccel=HWAccel(kind.value, allow_software_fallback=False))
    except FFmpegError as error:
        raise HardwareUnusable(kind, f"it cannot be opened ({_reason(error)})") from error
    assert isinstance(context, av.VideoCodecContext)
    if not context.is_hwaccel:  # PyAV takes some errors for a codec without a device
        raise HardwareUnusable(kind, f"it cannot be opened for {codec}")
    context.thread_count = 1
    context.options = {"max_pixels": str(MOST_PIXELS)}
    return context


def _reason(error: FFmpegError) -> str:
    return (error.strerror or type(error).__name__).lower()
