"""RTP packets (RFC 3550, 5.1): reading one costs no copy.

V=2 P X CC │ M PT │ sequence₁₆ │ timestamp₃₂ │ SSRC₃₂ │ CSRC … │ extension … │ payload │ padding
"""

from struct import Struct

import msgspec

from streamward.model.errors import StreamwardError

HEADER_SIZE = 12
LARGEST_PACKET = 65535

_HEADER = Struct("!BBHII")
_PLAIN = 0x80  # version 2, nothing besides the fixed header


class RtpError(StreamwardError):
    """The root of what this package raises."""


class MalformedPacket(RtpError):
    """Bytes that are no packet."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what

    def __str__(self) -> str:
        return f"not a packet: {self.what}"


class RtpPacket(msgspec.Struct, frozen=True, gc=False):
    """One packet; the payload is a view into what it was read from."""

    payload_type: int
    has_marker: bool
    sequence: int
    timestamp: int
    ssrc: int
    payload: memoryview


def parse(content: memoryview) -> RtpPacket:
    """Reads one packet."""
    if len(content) < HEADER_SIZE:
        raise MalformedPacket("too short")
    first, second, sequence, timestamp, ssrc = _HEADER.unpack_from(content)
    payload = content[HEADER_SIZE:] if first == _PLAIN else _inner(first, content)
    return RtpPacket(second & 0x7F, second >= 0x80, sequence, timestamp, ssrc, payload)


def build(packet: RtpPacket) -> bytes:
    """The packet as it is sent."""
    second = packet.has_marker << 7 | packet.payload_type
    header = _HEADER.pack(_PLAIN, second, packet.sequence, packet.timestamp, packet.ssrc)
    return header + packet.payload


def _inner(first: int, content: memoryview) -> memoryview:
    """The payload between what may stand before and after it."""
    if first >> 6 != 2:
        raise MalformedPacket("version")
    start, end = HEADER_SIZE + 4 * (first & 0x0F), len(content)
    if first & 0x10:
        if start + 4 > end:
            raise MalformedPacket("extension")
        start += 4 + 4 * int.from_bytes(content[start + 2 : start + 4])
    if first & 0x20:
        padding = content[-1]
        if padding == 0:
            raise MalformedPacket("padding")
        end -= padding
    if start > end:
        raise MalformedPacket("payload")
    return content[start:end]
