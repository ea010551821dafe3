"""One TCP connection as what travels on it: requests, replies, and `$` frames with RTP and RTCP between them.

    $ channel length₁₆ payload │ RTSP/1.0 200 OK … │ $ …

A chunk is read in one pass; payloads are views into it. What is incomplete waits, and is looked at again only when
enough has come.

Line ends and NULs between messages are skipped. Where `resync` names channels, other noise is skipped too, up to
the next reply or the next frame on one of them that looks like RTP: cameras are known to tell a wrong length now
and then. More noise than `MOST_SKIPPED` without anything readable ends it with `LostFraming`.

Guaranteed: what waits never exceeds `LARGEST_HEAD` + `LARGEST_BODY` bytes. Not guaranteed: that a frame found after
noise is one; whoever reads RTP has to bear that.
"""

import re
from collections.abc import Collection
from dataclasses import replace
from enum import Enum

import msgspec

from streamward.protocol.rtsp.message import (
    MalformedMessage,
    Message,
    RtspError,
    UnsendableMessage,
    body_length,
    decode_head,
)

LARGEST_HEAD = 16384
LONGEST_LINE = 4096  # of the first
LARGEST_FRAME = 65535
MOST_SKIPPED = 262144

_DOLLAR = 0x24
_BLANK = re.compile(rb"[\r\n\0]+")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_FIRST_LINE = re.compile(rb"RTSP/[12]\.\d +\d{3}|[A-Z_]{3,32} +[\x21-\x7e]+ +RTSP/[12]\.\d")
_PLAUSIBLE = re.compile(rb"RTSP/|[A-Z][A-Z_]{2}[A-Z_ ]")
_SHORTEST = 5  # bytes by which a message is told from noise
_UNFINISHED = 6  # bytes at the end of noise that may be the beginning of something


class _State(Enum):
    READING = "reading"
    SEARCHING = "searching"  # for the end of noise
    BROKEN = "broken"


class LostFraming(RtspError):
    """Nothing on the connection makes sense any more."""

    def __init__(self, skipped: int) -> None:
        super().__init__(skipped)
        self.skipped = skipped

    def __str__(self) -> str:
        return f"no RTSP message and no frame within {self.skipped} bytes"


class Interleaved(msgspec.Struct, frozen=True, gc=False):
    """A `$` frame: an RTP or RTCP packet. The payload is a view: copy what is to outlive the call."""

    channel: int
    payload: memoryview


class Channels(msgspec.Struct, frozen=True):
    """The channels on which a track's packets come."""

    rtp: int = 0
    rtcp: int = 1


class Skipped(msgspec.Struct, frozen=True):
    """Noise that was passed over."""

    count: int


class Broken(msgspec.Struct, frozen=True):
    """The last that a connection yields: nothing more can be read from it."""

    error: RtspError


Unit = Interleaved | Message | Skipped | Broken


def interleave(channel: int, payload: bytes) -> bytes:
    """A packet as a `$` frame."""
    if not 0 <= channel <= 255 or len(payload) > LARGEST_FRAME:
        raise UnsendableMessage("frame")
    return b"$" + channel.to_bytes(1) + len(payload).to_bytes(2) + payload


class StreamDecoder:
    """Cuts the bytes of one connection into units."""

    def __init__(self, *, resync: Collection[int] = ()) -> None:
        self._beginning: re.Pattern[bytes] | None = None
        self.resync(resync)
        self._pending = bytearray()
        self._wanted = 0  # bytes without which looking at what is pending is useless
        self._state = _State.READING
        self._skipped = 0
        self._examined = 0  # bytes of what turned out to be noise: they are not looked at twice

    def resync(self, channels: Collection[int]) -> None:
        """From now on noise is passed over, up to a reply or a frame on one of these channels; none: it is an error."""
        self._beginning = _beginning(channels) if channels else None

    @property
    def buffered(self) -> int:
        """Bytes that wait for the rest of their unit."""
        return len(self._pending)

    def feed(self, chunk: bytes) -> list[Unit]:
        """Every unit that is whole with this chunk; after `Broken` there is none."""
        if self._state is _State.BROKEN:
            return []
        if self._pending:
            self._pending += chunk
            if len(self._pending) < self._wanted:
                return []
            chunk = bytes(self._pending)
            self._pending.clear()
        found: list[Unit] = []
        rest = self._cut(chunk, found)
        if rest < len(chunk):
            self._pending += memoryview(chunk)[rest:]
        if self._skipped and found and type(found[-1]) is Interleaved:
            self._skipped = 0
        return found

    def _cut(self, chunk: bytes, found: list[Unit]) -> int:
        """Where what is not whole begins."""
        position, size, view = 0, len(chunk), memoryview(chunk)
        while position < size:
            if chunk[position] == _DOLLAR and self._state is _State.READING:
                if size - position < 4:
                    self._wanted = 4
                    break
                end = position + 4 + (chunk[position + 2] << 8 | chunk[position + 3])
                if end > size:
                    self._wanted = end - position
                    break
                found.append(Interleaved(chunk[position + 1], view[position + 4 : end]))
                position = end
            else:
                after = self._other(chunk, position, found)
                if after is None:
                    break
                position = after
        return position

    def _other(self, chunk: bytes, position: int, found: list[Unit]) -> int | None:
        """What is no frame: where it ends, or None if more is needed."""
        if self._state is _State.SEARCHING:
            return self._search(chunk, position, found)
        if blank := _BLANK.match(chunk, position):
            return blank.end()
        if len(chunk) - position < _SHORTEST:
            self._wanted = _SHORTEST
            return None
        try:
            return self._message(chunk, position, found)
        except MalformedMessage as error:
            if self._beginning is None:
                return self._broken(error, chunk, found)
            self._state = _State.SEARCHING
            self._skip(self._examined, found)
            return position + self._examined

    def _message(self, chunk: bytes, position: int, found: list[Unit]) -> int | None:
        self._examined = 1
        line = chunk.find(b"\n", position, position + LONGEST_LINE)
        if not _PLAUSIBLE.match(chunk, position) or (line >= 0 and not _FIRST_LINE.match(chunk, position, line)):
            raise MalformedMessage("first line")
        blank = _HEAD_END.search(chunk, position, position + LARGEST_HEAD)
        if blank is None:
            self._examined = LARGEST_HEAD if line >= 0 else LONGEST_LINE
            if len(chunk) - position >= self._examined:
                raise MalformedMessage("head too large")
            self._wanted = len(chunk) - position + 1
            return None
        self._examined = blank.end() - position
        message = decode_head(chunk[position : blank.start()])
        end = blank.end() + body_length(message.headers)
        if end > len(chunk):
            self._wanted = end - position
            return None
        found.append(replace(message, body=chunk[blank.end() : end]) if end > blank.end() else message)
        self._skipped = 0
        return end

    def _search(self, chunk: bytes, position: int, found: list[Unit]) -> int | None:
        """Passes over noise."""
        assert self._beginning is not None
        start = self._beginning.search(chunk, position)
        end = start.start() if start else max(position, len(chunk) - _UNFINISHED)
        self._skip(end - position, found)
        if self._skipped > MOST_SKIPPED:
            return self._broken(LostFraming(self._skipped), chunk, found)
        if start:
            self._state = _State.READING
            return end
        self._pending += memoryview(chunk)[end:]
        self._wanted = len(self._pending) + 1
        return len(chunk)

    def _skip(self, count: int, found: list[Unit]) -> None:
        self._skipped += count
        if count and found and isinstance(found[-1], Skipped):
            found[-1] = Skipped(found[-1].count + count)
        elif count:
            found.append(Skipped(count))

    def _broken(self, error: RtspError, chunk: bytes, found: list[Unit]) -> int:
        """Nothing of what there is will be looked at again."""
        self._state = _State.BROKEN
        found.append(Broken(error))
        return len(chunk)


def _beginning(channels: Collection[int]) -> re.Pattern[bytes]:
    """Finds, without taking anything, where a reply or a frame with RTP on one of these channels may begin."""
    allowed = b"".join(re.escape(bytes([channel])) for channel in channels)
    return re.compile(rb"(?=\$[" + allowed + rb"]..[\x80-\xbf]|RTSP/[12]\.)", re.DOTALL)
