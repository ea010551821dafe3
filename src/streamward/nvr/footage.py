"""A file of somebody's own as a camera shows it: its pictures as they are where that will do, else encoded anew.

    file ─look→ Footage ─clip→ Clip (as it is, or from the folder, or encoded now and kept there)

They will do as they are if a client can begin at any keyframe and needs nothing of before: H.264 or H.265, sent in
the order in which they are shown, with parameter sets before the first keyframe, and another one every few seconds.
"""

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
from av.bitstream import BitStreamFilterContext
from av.stream import Disposition

from streamward.model.errors import StreamwardError
from streamward.model.video import PictureSize, VideoCodec
from streamward.nvr.clip import Clip, Shape, Unit, encode_frames, keep, read_kept
from streamward.protocol.rtp import h264, h265, nal
from streamward.protocol.rtp.parameter_sets import ParameterSets

LARGEST = 512 * 1024 * 1024  # bytes of a clip: it is kept in memory
LONGEST_GROUP = 10.0  # seconds from one keyframe to the next
SLOWEST, FASTEST = Fraction(1), Fraction(120)  # pictures a second

_NO_VIDEO = "it is no video that can be read"
_LETTERS = {"ansi", "bintext", "xbin", "idf"}  # as which the library would draw any text
_CODECS = {"h264": VideoCodec.H264, "hevc": VideoCodec.H265}
_FILTERS = {VideoCodec.H264: "h264_mp4toannexb", VideoCodec.H265: "hevc_mp4toannexb"}
_FORMS = {VideoCodec.H264: h264, VideoCodec.H265: h265}


class FootageUnusable(StreamwardError):
    """A file that no camera can show."""

    def __init__(self, file: Path, why: str) -> None:
        super().__init__(file, why)
        self.file = file
        self.why = why

    def __str__(self) -> str:
        return f"cannot show {self.file}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Footage:
    """What there is of a file."""

    file: Path
    digest: str
    size: PictureSize
    fps: Fraction
    codec: VideoCodec
    units: tuple[Unit, ...] | None  # None: its pictures will not do as they are

    def is_ready(self, folder: Path) -> bool:
        """Whether nothing has to be encoded to show it."""
        return self.units is not None or self._kept(folder, self._shape()).exists()

    def clip(self, folder: Path, *, codec: VideoCodec | None = None, size: PictureSize | None = None) -> Clip:
        """The file as it is, or in this form."""
        shape = self._shape(codec, size)
        units = self.units
        if units is None or shape != self._shape():
            units = self._encoded(self._kept(folder, shape), shape)
        return Clip(codec=shape.codec, units=units, size=shape.size, fps=float(self.fps))

    def _encoded(self, kept: Path, shape: Shape) -> tuple[Unit, ...]:
        if not kept.exists():
            keep(kept, _encode(self.file, shape))
        return read_kept(kept)

    def _shape(self, codec: VideoCodec | None = None, size: PictureSize | None = None) -> Shape:
        return Shape(codec=codec or self.codec, size=size or self.size, fps=self.fps)

    def _kept(self, folder: Path, shape: Shape) -> Path:
        return folder / f"file-{self.digest}-{shape.codec}-{shape.size}.clip"


def look(file: Path) -> Footage:
    """Reads a file, without decoding it."""
    with _opened(file) as (container, stream):
        coded = stream.codec_context
        codec = _CODECS.get(coded.name)
        rate = stream.average_rate or stream.guessed_rate or Fraction(25)
        fps = min(max(rate, SLOWEST), FASTEST).limit_denominator(1001)
        has_plain_colours = coded.pix_fmt in {"yuv420p", "yuvj420p"} and not (coded.width | coded.height) & 1
        units = _as_they_are(container, stream, codec) if codec and has_plain_colours else None
        return Footage(
            file=file,
            digest=_digest(file),
            size=PictureSize(coded.width // 2 * 2, coded.height // 2 * 2),
            fps=fps,
            codec=codec or VideoCodec.H264,
            units=units if units and codec and _will_do(units, codec, fps) else None,
        )


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[tuple[av.container.InputContainer, av.VideoStream]]:
    """The file and its pictures; opened by us, so that nothing in it can name another file or a host."""
    try:
        with file.open("rb") as content:
            if (size := file.stat().st_size) > LARGEST:
                raise FootageUnusable(file, f"it has more than {LARGEST >> 20} MiB; cut it")
            if size == 0:
                raise FootageUnusable(file, _NO_VIDEO)
            with av.open(content, "r") as container:
                yield container, _pictures(file, container)
    except av.error.FFmpegError as err:
        raise FootageUnusable(file, _NO_VIDEO) from err
    except OSError as err:
        raise FootageUnusable(file, (err.strerror or str(err)).lower()) from err


def _pictures(file: Path, container: av.container.InputContainer) -> av.VideoStream:
    for stream in container.streams.video:
        if stream.codec_context.name in _LETTERS:
            raise FootageUnusable(file, _NO_VIDEO)
        if not stream.disposition & Disposition.attached_pic:  # the cover of a piece of music
            if stream.codec_context.width < 2 or stream.codec_context.height < 2:
                raise FootageUnusable(file, "its pictures have no size")
            return stream
    raise FootageUnusable(file, "it has no video track")


def _as_they_are(
    container: av.container.InputContainer, stream: av.VideoStream, codec: VideoCodec
) -> tuple[Unit, ...] | None:
    """Its access units in Annex B form from the first keyframe on; None: they are not in the order that is shown."""
    if stream.codec_context.has_b_frames:
        return None
    filtered = BitStreamFilterContext(_FILTERS[codec], stream)
    units: list[Unit] = []
    shown_at: int | None = None
    for packet in container.demux(stream):
        if packet.pts is not None and shown_at is not None and packet.pts <= shown_at:
            return None
        shown_at = shown_at if packet.pts is None else packet.pts
        units += [_unit(bytes(each), codec) for each in filtered.filter(packet) if each.size]
        if units and not units[0].is_keyframe:
            units.clear()
    return tuple(units)


def _unit(content: bytes, codec: VideoCodec) -> Unit:
    is_keyframe = any(_FORMS[codec].kinds_of(each) & nal.KEY for each in nal.split(content))
    return Unit(content=content, is_keyframe=is_keyframe)


def _will_do(units: tuple[Unit, ...], codec: VideoCodec, fps: Fraction) -> bool:
    known = ParameterSets(codec)
    for each in nal.split(units[0].content):
        known.learn(bytes(each))
    keyframes = [place for place, unit in enumerate(units) if unit.is_keyframe]
    longest = max(after - before for before, after in zip(keyframes, [*keyframes[1:], len(units)], strict=True))
    return known.is_complete and longest / fps <= LONGEST_GROUP


def _encode(file: Path, shape: Shape) -> tuple[Unit, ...]:
    with _opened(file) as (container, stream):
        units = encode_frames(_frames(container, stream), shape, gop=max(1, round(shape.fps)))
    if not units:
        raise FootageUnusable(file, "no picture in it can be decoded")
    return units


def _frames(container: av.container.InputContainer, stream: av.VideoStream) -> Iterator[av.VideoFrame]:
    """All that can be decoded; what cannot is left out, as a player does."""
    for packet in container.demux(stream):
        with contextlib.suppress(av.error.InvalidDataError):
            yield from packet.decode()


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()[:16]
