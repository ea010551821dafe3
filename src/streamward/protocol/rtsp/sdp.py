"""The little of SDP (RFC 4566) that a camera's picture needs: which tracks there are, how they are coded, their URLs.

Cameras write it carelessly: what we do not understand is passed over, parameter sets that are no base64 are left out
and expected in the stream. Only a text without any media is refused.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from streamward.model.video import VideoCodec
from streamward.protocol.rtsp.message import RtspError

MOST_LINES = 1000
MOST_TRACKS = 32
LARGEST_PARAMETER_SET = 4096
MOST_PARAMETER_SETS = 16
CLOCK_RATE = 90_000  # ticks a second, of all video

_MEDIA = re.compile(r"m=(\S{1,32}) +\d{1,5}(?:/\d+)? +\S+ +(\d{1,3})(?: .*)?", re.ASCII)
_RTPMAP = re.compile(r"(\d{1,3}) +([^/\s]{1,32})(?:/(\d{1,9}))?.*", re.ASCII)
_FMTP = re.compile(r"(\d{1,3}) +(.*)", re.ASCII)
_CODECS = {"H264": VideoCodec.H264, "H265": VideoCodec.H265, "HEVC": VideoCodec.H265, "JPEG": VideoCodec.MJPEG}
_STATIC = {26: "JPEG", 32: "MPV", 33: "MP2T", 34: "H263"}  # RFC 3551: types that need no rtpmap
_SPROPS = {
    VideoCodec.H264: ("sprop-parameter-sets",),
    VideoCodec.H265: ("sprop-vps", "sprop-sps", "sprop-pps"),
    VideoCodec.MJPEG: (),
}


class MalformedDescription(RtspError):
    """A text that describes no media."""

    def __str__(self) -> str:
        return "the description names no media"


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One stream of a camera."""

    media: str  # video, audio, application
    payload_type: int
    encoding: str = ""  # as the camera names it
    codec: VideoCodec | None = None  # None: none that we decode
    clock_rate: int = CLOCK_RATE
    control: str = ""
    packetization_mode: int = 0
    parameter_sets: tuple[bytes, ...] = ()

    @property
    def is_supported(self) -> bool:
        """Whether we can show it."""
        return self.media == "video" and self.codec is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a camera says of itself."""

    tracks: tuple[Track, ...]
    control: str = ""  # of all tracks together
    name: str = "-"

    def video(self) -> Track | None:
        """The first track that we can show."""
        return next((track for track in self.tracks if track.is_supported), None)

    def encode(self) -> bytes:
        """As a server sends it."""
        lines = ["v=0", "o=- 0 0 IN IP4 127.0.0.1", f"s={self.name}", "c=IN IP4 0.0.0.0", "t=0 0"]
        lines += [f"a=control:{self.control}"] if self.control else []
        for track in self.tracks:
            lines += _lines(track)
        return ("\r\n".join(lines) + "\r\n").encode()


@dataclass(slots=True)
class _Section:
    """The lines that belong to one `m=`, or to the session before the first."""

    media: str = ""
    payload_type: int = -1
    control: str = ""
    encoding: str = ""
    clock_rate: int = CLOCK_RATE
    parameters: dict[str, str] = field(default_factory=dict)

    def attribute(self, name: str, value: str) -> None:
        """Takes in one `a=` line."""
        if name == "control" and not self.control:
            self.control = value
        elif name == "rtpmap" and (found := _RTPMAP.fullmatch(value)) and int(found[1]) == self.payload_type:
            self.encoding = found[2]
            self.clock_rate = int(found[3] or 0) or CLOCK_RATE
        elif name == "fmtp" and (found := _FMTP.fullmatch(value)) and int(found[1]) == self.payload_type:
            self.parameters.update(_parameters(found[2]))

    def track(self) -> Track:
        """What the lines say together."""
        encoding = self.encoding or _STATIC.get(self.payload_type, "")
        codec = _CODECS.get(encoding.upper()) if self.media == "video" else None
        mode = self.parameters.get("packetization-mode", "0")
        return Track(
            media=self.media,
            payload_type=self.payload_type,
            encoding=encoding,
            codec=codec,
            clock_rate=self.clock_rate,
            control=self.control,
            packetization_mode=int(mode) if mode in {"0", "1", "2"} else 0,
            parameter_sets=tuple(_parameter_sets(codec, self.parameters)) if codec else (),
        )


def parse(body: bytes) -> Description:
    """The description in the body of an answer to DESCRIBE."""
    session = _Section()
    sections = [session]
    for line in body.decode(errors="replace").splitlines()[:MOST_LINES]:
        text = line.strip()
        if text.startswith("m="):
            sections.append(_section(text))
        elif text.startswith("a="):
            name, _, value = text[2:].partition(":")
            sections[-1].attribute(name.strip().lower(), value.strip())
    tracks = [section.track() for section in sections[1 : MOST_TRACKS + 1] if section.media]
    if not tracks:
        raise MalformedDescription
    return Description(tracks=tuple(tracks), control=session.control)


def _section(line: str) -> _Section:
    found = _MEDIA.fullmatch(line)
    if found is None or int(found[2]) > 127:
        return _Section()
    return _Section(media=found[1].lower(), payload_type=int(found[2]))


def _parameters(text: str) -> Iterator[tuple[str, str]]:
    for part in text.split(";"):
        name, equals, value = part.partition("=")
        if equals:
            yield name.strip().lower(), value.strip().strip('"')


def _parameter_sets(codec: VideoCodec, parameters: Mapping[str, str]) -> Iterator[bytes]:
    texts = [text for name in _SPROPS[codec] for text in parameters.get(name, "").split(",") if text.strip()]
    for text in texts[:MOST_PARAMETER_SETS]:
        try:
            decoded = base64.b64decode(text.strip() + "=" * (-len(text.strip()) % 4), validate=True)
        except (binascii.Error, ValueError):
            continue
        if 2 < len(decoded) <= LARGEST_PARAMETER_SET:
            yield decoded.removeprefix(b"\0\0\0\1")


def _lines(track: Track) -> list[str]:
    kind = track.payload_type
    lines = [f"m={track.media} 0 RTP/AVP {kind}", f"a=rtpmap:{kind} {track.encoding}/{track.clock_rate}"]
    sets = [base64.b64encode(each).decode() for each in track.parameter_sets]
    if track.codec is VideoCodec.H264:
        sprop = [f"sprop-parameter-sets={','.join(sets)}"] * bool(sets)
        lines.append(f"a=fmtp:{kind} " + ";".join([f"packetization-mode={track.packetization_mode}", *sprop]))
    elif track.codec is VideoCodec.H265 and sets:
        lines.append(f"a=fmtp:{kind} " + ";".join(f"{name}={text}" for name, text in _h265_sprops(track)))
    return lines + [f"a=control:{track.control}"] * bool(track.control)


def _h265_sprops(track: Track) -> Iterator[tuple[str, str]]:
    """VPS, SPS and PPS, told by the type in their first byte."""
    for name, kind in (("sprop-vps", 32), ("sprop-sps", 33), ("sprop-pps", 34)):
        sets = [each for each in track.parameter_sets if each[0] >> 1 & 0x3F == kind]
        if sets:
            yield name, ",".join(base64.b64encode(each).decode() for each in sets)
