"""From access units to RTP packets: cut once, sent to many.

    access unit ─packetize→ Packets (payloads, shared) ─RtpSender.frames→ [header, payload, header, payload, …]

Only the 16 bytes of a frame's and packet's header differ between two clients; the payloads are the same objects for
all, ready for `writelines`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from struct import Struct
from types import ModuleType

from streamward.model.video import VideoCodec
from streamward.protocol.rtp import h264, h265, nal
from streamward.protocol.rtp.packet import HEADER_SIZE, LARGEST_PACKET, RtpError
from streamward.protocol.rtp.rtcp import SenderReport

DEFAULT_PAYLOAD = 1400  # bytes: with all headers below the 1,500 of an Ethernet frame

_FRAME = Struct("!BBHBBHII")  # `$`, channel, length, then the header of RTP
_PACKET = Struct("!BBHII")
_MARKER = 0x80
_CODECS: dict[VideoCodec, ModuleType] = {VideoCodec.H264: h264, VideoCodec.H265: h265}


class UnfitPayload(RtpError):
    """A largest payload into which nothing could be put, or that no packet could hold."""

    def __init__(self, largest: int) -> None:
        super().__init__(largest)
        self.largest = largest

    def __str__(self) -> str:
        return f"payloads of {self.largest} bytes cannot be sent"


@dataclass(frozen=True, slots=True)
class Packets:
    """The payloads of one access unit."""

    payloads: tuple[bytes, ...]
    before_picture: int  # how many of them come before the first slice
    octets: int

    def with_message(self, message: bytes) -> "Packets":
        """The same picture with one more NAL unit in front of its first slice; nothing is copied."""
        place = self.before_picture
        payloads = (*self.payloads[:place], message, *self.payloads[place:])
        return Packets(payloads, place + 1, self.octets + len(message))


def packetize(codec: VideoCodec, annexb: bytes, *, largest: int = DEFAULT_PAYLOAD) -> Packets:
    """Cuts an access unit. Small NAL units before its picture share a packet."""
    form = _CODECS[codec]
    if not form.SMALLEST_PAYLOAD <= largest <= LARGEST_PACKET - HEADER_SIZE:
        raise UnfitPayload(largest)
    nals = [each for each in nal.split(annexb) if len(each) >= form.HEADER_SIZE]
    first = next((place for place, each in enumerate(nals) if form.kinds_of(each) & nal.PICTURE), len(nals))
    payloads = list(_gathered(form, nals[:first], largest))
    before_picture = len(payloads)
    for each in nals[first:]:
        payloads += form.fragments(each, largest)
    return Packets(tuple(payloads), before_picture, sum(map(len, payloads)))


def _gathered(form: ModuleType, nals: Iterable[memoryview], largest: int) -> Iterator[bytes]:
    """As many NAL units to a packet as fit."""
    together: list[memoryview] = []
    room = largest - 2  # the longer of the two codecs' headers
    for each in nals:
        if together and sum(len(other) + 2 for other in together) + len(each) + 2 > room:
            yield from _flushed(form, together, largest)
            together = []
        together.append(each)
    if together:
        yield from _flushed(form, together, largest)


def _flushed(form: ModuleType, nals: list[memoryview], largest: int) -> Iterator[bytes]:
    if len(nals) > 1:
        yield form.aggregate(nals)
    else:
        yield from form.fragments(nals[0], largest)


@dataclass(slots=True)
class RtpSender:
    """One client's count of what it is sent."""

    ssrc: int
    payload_type: int
    sequence: int  # of the next packet
    offset: int = 0  # added to every timestamp
    channel: int = 0
    packets: int = 0
    octets: int = 0

    def frames(self, unit: Packets, timestamp: int) -> list[bytes]:
        """The unit as `$` frames for `writelines`."""
        pack, channel, kind, ssrc = _FRAME.pack, self.channel, self.payload_type, self.ssrc
        sequence, ticks = self.sequence, (timestamp + self.offset) & 0xFFFF_FFFF
        written: list[bytes] = []
        for payload in unit.payloads:
            size = len(payload) + HEADER_SIZE
            written += (pack(0x24, channel, size, 0x80, kind, sequence & 0xFFFF, ticks, ssrc), payload)
            sequence += 1
        if written:
            last = (sequence - 1) & 0xFFFF
            written[-2] = pack(0x24, channel, size, 0x80, kind | _MARKER, last, ticks, ssrc)
        self._count(unit)
        return written

    def datagrams(self, unit: Packets, timestamp: int) -> list[bytes]:
        """The unit as packets."""
        ticks, last = (timestamp + self.offset) & 0xFFFF_FFFF, len(unit.payloads) - 1
        written = []
        for place, payload in enumerate(unit.payloads):
            second = self.payload_type | (_MARKER if place == last else 0)
            header = _PACKET.pack(0x80, second, (self.sequence + place) & 0xFFFF, ticks, self.ssrc)
            written.append(header + payload)
        self._count(unit)
        return written

    def report(self, wall_time: float, timestamp: int) -> SenderReport:
        """What a sender report says now."""
        ticks = (timestamp + self.offset) & 0xFFFF_FFFF
        return SenderReport(
            ssrc=self.ssrc, wall_time=wall_time, timestamp=ticks, packets=self.packets, octets=self.octets
        )

    def _count(self, unit: Packets) -> None:
        self.sequence = (self.sequence + len(unit.payloads)) & 0xFFFF
        self.packets += len(unit.payloads)
        self.octets += unit.octets
