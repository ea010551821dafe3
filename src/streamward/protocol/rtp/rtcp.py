"""RTCP (RFC 3550, 6): sender reports for the time of pictures, receiver reports as signs of life, and goodbyes.

A sender report says which wall time an RTP timestamp stands for, by the *camera's* clock: it may be hours off.
`WallClock` carries that over to the timestamps around it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct

import msgspec

from streamward.protocol.rtp.packet import MalformedPacket

NTP_EPOCH = 2_208_988_800  # seconds from 1900 to 1970
MOST_REPORTS = 64

_SENDER, _RECEIVER, _DESCRIPTION, _BYE = 200, 201, 202, 203
_HEADER = Struct("!BBH")
_SENDER_BODY = Struct("!IIIIII")
_SSRC = Struct("!I")


class SenderReport(msgspec.Struct, frozen=True, kw_only=True):
    """The sender's clock at one RTP timestamp."""

    ssrc: int
    wall_time: float  # seconds since 1970, by the sender's clock
    timestamp: int
    packets: int = 0
    octets: int = 0

    def encode(self, *, cname: str = "streamward") -> bytes:
        """The report with the name that must go with it."""
        ticks = round((self.wall_time + NTP_EPOCH) * (1 << 32)) & 0xFFFF_FFFF_FFFF_FFFF
        body = _SENDER_BODY.pack(
            self.ssrc,
            ticks >> 32,
            ticks & 0xFFFF_FFFF,
            self.timestamp & 0xFFFF_FFFF,
            self.packets & 0xFFFF_FFFF,
            self.octets & 0xFFFF_FFFF,
        )
        return _packet(_SENDER, 0, body) + _named(self.ssrc, cname)


class ReceiverReport(msgspec.Struct, frozen=True, kw_only=True):
    """A receiver that is there; what it lost is not told."""

    ssrc: int

    def encode(self, *, cname: str = "streamward") -> bytes:
        """The report with the name that must go with it."""
        return _packet(_RECEIVER, 0, _SSRC.pack(self.ssrc)) + _named(self.ssrc, cname)


class Bye(msgspec.Struct, frozen=True, kw_only=True):
    """A source that leaves."""

    ssrc: int

    def encode(self) -> bytes:
        """The goodbye, after the empty report that it must follow."""
        return _packet(_RECEIVER, 0, _SSRC.pack(self.ssrc)) + _packet(_BYE, 1, _SSRC.pack(self.ssrc))


Report = SenderReport | ReceiverReport | Bye


def parse(content: bytes | memoryview) -> list[Report]:
    """The reports in one compound packet; other kinds are passed over."""
    return list(_reports(memoryview(content)))


def _reports(content: memoryview) -> Iterator[Report]:
    position = 0
    for _ in range(MOST_REPORTS):
        if position == len(content):
            return
        if len(content) - position < 4:
            raise MalformedPacket("RTCP header")
        first, kind, words = _HEADER.unpack_from(content, position)
        end = position + 4 + 4 * words
        if first >> 6 != 2 or end > len(content):
            raise MalformedPacket("RTCP length or version")
        report = _report(kind, first & 0x1F, content[position + 4 : end])
        if report is not None:
            yield report
        position = end


def _report(kind: int, count: int, body: memoryview) -> Report | None:
    if kind == _SENDER and len(body) >= _SENDER_BODY.size:
        ssrc, seconds, fraction, timestamp, packets, octets = _SENDER_BODY.unpack_from(body)
        wall_time = seconds - NTP_EPOCH + fraction / (1 << 32)
        return SenderReport(ssrc=ssrc, wall_time=wall_time, timestamp=timestamp, packets=packets, octets=octets)
    if kind == _RECEIVER and len(body) >= 4:
        return ReceiverReport(ssrc=_SSRC.unpack_from(body)[0])
    if kind == _BYE and count and len(body) >= 4:
        return Bye(ssrc=_SSRC.unpack_from(body)[0])
    return None


@dataclass(slots=True)
class WallClock:
    """The wall time of RTP timestamps, by the newest sender report."""

    clock_rate: int
    _report: SenderReport | None = None

    def observe(self, report: SenderReport) -> None:
        """Counts from this report on. One whose clock was never set (before 1970) tells nothing."""
        if report.wall_time > 0:
            self._report = report

    def at(self, timestamp: int) -> float | None:
        """Seconds since 1970 by the sender's clock; right within half a turn (6 h at 90 kHz) of the report."""
        if self._report is None:
            return None
        ticks = ((timestamp - self._report.timestamp + 0x8000_0000) & 0xFFFF_FFFF) - 0x8000_0000
        return self._report.wall_time + ticks / self.clock_rate


def _packet(kind: int, count: int, body: bytes) -> bytes:
    return _HEADER.pack(0x80 | count, kind, len(body) // 4) + body


def _named(ssrc: int, cname: str) -> bytes:
    """A source description with the one item that is mandatory."""
    name = cname.encode()[:255]
    item = _SSRC.pack(ssrc) + b"\1" + len(name).to_bytes(1) + name + b"\0"
    return _packet(_DESCRIPTION, 1, item + b"\0" * (-len(item) % 4))
