"""Access units to pictures, with PyAV; one thread for each decoder, for the cameras are the parallelism."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import av
import numpy as np
from av.error import FFmpegError
from av.video.reformatter import Interpolation, VideoReformatter

from streamward.drivers.hardware import NAMES, Context, Hardware
from streamward.drivers.null import NullDecoder
from streamward.model.errors import StreamwardError
from streamward.model.video import MOST_PIXELS, NAL_CODECS, PictureSize, SkipLoopFilter, VideoCodec
from streamward.protocol.rtp.nal import LARGEST_PARAMETER_SET, split
from streamward.protocol.rtp.parameter_sets import ParameterSets
from streamward.vision.decoding import MOST_KEPT
from streamward.vision.detector import Size

_SCALING = Interpolation.AREA  # the mean of what becomes one pixel; cheaper than bilinear where pictures shrink
_SKIPPED = {SkipLoopFilter.NONE: "default", SkipLoopFilter.NONREF: "noref", SkipLoopFilter.ALL: "all"}


class PictureTooLarge(StreamwardError):
    """A picture that would take more memory than a camera may."""

    def __init__(self, size: PictureSize) -> None:
        super().__init__(size)
        self.size = size

    def __str__(self) -> str:
        return f"pictures of {self.size} are not decoded: they have more than {MOST_PIXELS} pixels"


class DecodedFrame:
    """A picture that was decoded, and is made to measure only if somebody looks at it."""

    def __init__(self, frame: av.VideoFrame, reformatter: VideoReformatter) -> None:
        self._frame = frame
        self._reformatter = reformatter

    @property
    def size(self) -> Size:
        """As the camera sent it."""
        return Size(self._frame.width, self._frame.height)

    def fitted(self, size: Size) -> Any:
        """Red, green and blue in that size: scaled and converted in one go, while nobody else uses its decoder."""
        fitted = self._reformatter.reformat(
            self._frame, width=size.width, height=size.height, format="rgb24", interpolation=_SCALING, threads=1
        )
        return np.ascontiguousarray(fitted.to_ndarray())  # rows of odd widths are padded


@dataclass(slots=True)
class _Group:
    """What came since the last keyframe, as long as it is not too much to keep."""

    units: list[bytes] = field(default_factory=list)
    size: int = 0

    def add(self, content: bytes, *, is_keyframe: bool) -> None:
        """One more."""
        self.size = len(content) + (0 if is_keyframe else self.size)
        if is_keyframe or self.size > MOST_KEPT:
            self.units = []
        if self.size <= MOST_KEPT:
            self.units.append(content)


class Decoder:
    """One camera's decoder; begins with a keyframe, and again after whatever it could not read.

    With hardware it begins there; once that fails, the processor goes on with the picture in hand, for which it decodes
    what came since the keyframe once more. If that was too much to keep, it waits for the next.

    Where pictures are shown in another order than they are sent in (B-frames), it holds back as many as others may be
    shown before, and a unit gives the picture of an earlier one.
    """

    def __init__(
        self, codec: VideoCodec, *, skip: SkipLoopFilter = SkipLoopFilter.NONE, hardware: Hardware | None = None
    ) -> None:
        self.codec = codec
        self.is_waiting = True  # for a keyframe
        self.corrupt = 0  # access units that could not be decoded, or only in part
        self._is_keyframe_corrupt = False  # the latest one: every frame that refers to it is wrong
        self._skip = skip
        self._hardware = hardware  # until it fails
        self._group = _Group()
        self._latest = b""
        self._drained: bytes | None = None  # a keyframe that what comes next refers to, and which was forgotten
        self._context: Context | None = None  # opened where it is used: some devices take their time
        self._reformatter = VideoReformatter()  # kept: its tables cost as much as the scaling of a frame

    @property
    def holds_back(self) -> bool:
        """Whether pictures come out later than they are put in."""
        return self._context is not None and self._context.has_b_frames

    def decode(self, content: bytes, *, is_keyframe: bool) -> Iterator[DecodedFrame]:
        """The frames that one access unit gives: mostly one, none while it waits for a keyframe.

        Raises PictureTooLarge.
        """
        if self.is_waiting and not is_keyframe:
            return
        try:
            frames = self._frames(content, is_keyframe=is_keyframe)
        except FFmpegError as error:
            self._give_up()
            if is_keyframe:
                _judge(self.codec, content, error)
            self.corrupt += 1
            return
        if is_keyframe:
            self._is_keyframe_corrupt = False  # until its own frame comes out
        yield from self._shown(frames)

    def rest(self) -> Iterator[DecodedFrame]:
        """The frames that it holds back, if it does: after a keyframe, the last of them is the keyframe's own.

        A keyframe alone would come out after others like it, which are seconds apart.
        """
        if self._context is None or not self.holds_back:
            return
        try:
            frames = self._held_back(self._context)
        except FFmpegError:
            self._give_up()
            self.corrupt += 1
            return
        self._drained = self._latest
        yield from self._shown(frames)

    def _held_back(self, context: Context) -> list[av.VideoFrame]:
        try:
            return _drained(context)
        except FFmpegError as error:
            if self._hardware is None:
                raise
            self._hardware.failed(self.codec, error)
            frames = self._taken_over()
            assert self._context is not None
            return [*frames, *_drained(self._context)]

    def _give_up(self) -> None:
        self.is_waiting = True
        self._context = None

    def _shown(self, frames: list[av.VideoFrame]) -> Iterator[DecodedFrame]:
        """A corrupt frame is shown with what could be made of it."""
        for frame in frames:
            if frame.key_frame:
                self._is_keyframe_corrupt = frame.is_corrupt
        self.corrupt += any(frame.is_corrupt or self._is_keyframe_corrupt for frame in frames)
        for frame in frames:
            yield DecodedFrame(frame, self._reformatter)

    def _frames(self, content: bytes, *, is_keyframe: bool) -> list[av.VideoFrame]:
        if self._context is None:
            self._context = self._opened()
        self.is_waiting = False
        drained, self._drained, self._latest = self._drained, None, content
        units = [content] if is_keyframe or drained is None else [drained, content]
        if self._hardware is None:
            return _decoded(self._context, units)
        self._group.add(content, is_keyframe=is_keyframe)
        try:
            return _decoded(self._context, units)
        except FFmpegError as error:
            self._hardware.failed(self.codec, error)
            return self._taken_over()

    def _taken_over(self) -> list[av.VideoFrame]:
        """The device's last picture, decoded by the processor."""
        group, self._group, self._hardware = self._group, _Group(), None
        self._context = context = _context(self.codec, self._skip)
        self.is_waiting = not group.units
        frames: list[av.VideoFrame] = []
        for content in group.units:
            frames = context.decode(av.Packet(content))
        return frames

    def _opened(self) -> Context:
        on_device = None if self._hardware is None else self._hardware.opened(self.codec)
        if on_device is None:
            self._hardware = None
            return _context(self.codec, self._skip)
        return on_device


def decoder_for(
    codec: VideoCodec | None, *, skip: SkipLoopFilter = SkipLoopFilter.NONE, hardware: Hardware | None = None
) -> Decoder | NullDecoder:
    """A decoder of that codec; None: of pictures that are empty."""
    return NullDecoder() if codec is None else Decoder(codec, skip=skip, hardware=hardware)


def _decoded(context: Context, units: list[bytes]) -> list[av.VideoFrame]:
    return [frame for content in units for frame in context.decode(av.Packet(content))]


def _drained(context: Context) -> list[av.VideoFrame]:
    frames = context.decode(None)
    context.flush_buffers()
    return frames


def _context(codec: VideoCodec, skip: SkipLoopFilter) -> av.VideoCodecContext:
    context = av.CodecContext.create(NAMES[codec], "r")
    assert isinstance(context, av.VideoCodecContext)
    context.thread_count = 1
    context.options = {"skip_loop_filter": _SKIPPED[skip], "max_pixels": str(MOST_PIXELS)}
    return context


def _judge(codec: VideoCodec, content: bytes, error: FFmpegError) -> None:
    """Whether a keyframe could not be decoded because it is too large: its decoder only says that it could not.

    MJPEG cannot be: its packets have no room for such a size.
    """
    if codec not in NAL_CODECS:
        return
    sets = ParameterSets(codec)
    for nal in split(content):
        sets.learn(bytes(nal[: LARGEST_PARAMETER_SET + 1]))
    if sets.size is not None and sets.size.width * sets.size.height > MOST_PIXELS:
        raise PictureTooLarge(sets.size) from error
