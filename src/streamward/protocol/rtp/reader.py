"""From RTP packets to access units: whole pictures, and facts about what went wrong between them.

Units of H.264 and H.265 are in Annex B form, those of MJPEG are JPEG files.

A unit ends with the marker, or where the timestamp changes; a marker before any slice ends nothing, and a sender whose
markers are found to lie (a picture goes on behind one) is followed by timestamps alone.

Loss. A unit of which a packet is missing, or may be missing, is dropped. If another picture may have needed it,
every unit up to the next whole keyframe or recovery point is handed out as *damaged*: a decoder can go on with it and
show smears, or wait. A gap within one picture that no other needs (H.264 `nal_ref_idc` 0) damages nothing else. Before
the first keyframe or recovery point with known parameter sets everything is damaged.

Keyframes are IDR pictures (H.265: IRAP) and I pictures behind parameter sets or an exact recovery point. Recovery
points are the other pictures that are marked so, and where one is waited for, any I picture. Of H.265 they are not
read.

Guaranteed: memory stays below `largest_unit` + twice a packet + its parameter sets + the packets that wait for
their turn; no input raises. Not guaranteed: that a unit decodes; encoders and networks do as they like within a
packet.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from streamward.model.video import PictureSize, VideoCodec
from streamward.protocol.rtp import h264, h265, jpeg
from streamward.protocol.rtp.nal import DISPOSABLE, EXACT, KEY, PARAMETER, PICTURE, RECOVERY, UnitBuffer
from streamward.protocol.rtp.order import DEFAULT_WINDOW, Order
from streamward.protocol.rtp.packet import MalformedPacket, RtpPacket, parse
from streamward.protocol.rtp.parameter_sets import ParameterSets

LARGEST_UNIT = 8 * 1024 * 1024
FORWARD_JUMP = 5.0  # seconds between two pictures that are no pause any more
BACKWARD_JUMP = 1.0  # seconds: pictures that are shown before the one sent first go back by less

_UNPACK = {VideoCodec.H264: h264.unpack, VideoCodec.H265: h265.unpack}


class AccessUnit(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One picture, as a decoder takes it; parameter sets stand in front of a keyframe and of a recovery point."""

    content: bytes
    is_keyframe: bool
    is_damaged: bool  # a picture that it needs may be missing
    is_disposable: bool = False  # no other picture needs it
    is_recovery_point: bool = False  # a decoder can begin here, and shows whole pictures a little later
    timestamp: int  # ticks of the track's clock, unwrapped: it goes on past 2³²

    def __repr__(self) -> str:
        return f"AccessUnit({len(self.content)} bytes at {self.timestamp}, key={self.is_keyframe})"


class DropReason(StrEnum):
    """Why a unit was not handed out."""

    LOSS = "loss"
    MALFORMED = "malformed"
    TOO_LARGE = "too_large"
    MARKER = "marker"  # the rest of a picture whose marker came too early
    SOURCE = "source"  # its sender was replaced in the middle of it


class UnitDropped(msgspec.Struct, frozen=True):
    """A picture that nobody will see."""

    reason: DropReason


class PacketsLost(msgspec.Struct, frozen=True):
    """Packets that never came."""

    count: int


class PacketRefused(msgspec.Struct, frozen=True):
    """Bytes on the RTP channel that are no packet."""


class SequenceRestarted(msgspec.Struct, frozen=True):
    """The sender counts its packets anew."""


class SourceChanged(msgspec.Struct, frozen=True):
    """Another sender: sequence and timestamps begin anew."""

    ssrc: int


class PayloadTypeChanged(msgspec.Struct, frozen=True):
    """Packets of a type that was not described; they are passed over. A camera that changed its codec shows so."""

    payload_type: int


class TimestampJumped(msgspec.Struct, frozen=True):
    """Time between two pictures that no camera needs; negative: backwards."""

    seconds: float


class PictureSizeChanged(msgspec.Struct, frozen=True):
    """From the next unit on pictures have another size; None: there was none before."""

    before: PictureSize | None
    after: PictureSize | None


Fact = (
    UnitDropped
    | PacketsLost
    | PacketRefused
    | SequenceRestarted
    | SourceChanged
    | PayloadTypeChanged
    | TimestampJumped
    | PictureSizeChanged
)
Found = AccessUnit | Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderSpec:
    """What is known of a track before its first packet."""

    codec: VideoCodec
    payload_type: int
    clock_rate: int = 90_000
    parameter_sets: tuple[bytes, ...] = ()
    window: int = DEFAULT_WINDOW  # packets that may wait for their turn; 0: the order is never mended
    largest_unit: int = LARGEST_UNIT


class RtpReader:
    """The packets of one track."""

    def __init__(self, spec: ReaderSpec) -> None:
        self._spec = spec
        self._unpack = _UNPACK.get(spec.codec) or jpeg.JpegDepacketizer().unpack
        self._end = jpeg.END if spec.codec is VideoCodec.MJPEG else b""  # of each unit
        self._parameters = ParameterSets(spec.codec)
        for nal in spec.parameter_sets:
            self._parameters.learn(nal)
        self._order = Order(spec.window)
        self._ssrc = -1  # none yet
        self._foreign: int | None = None  # the payload type that was told of since the unit before
        self._unit = UnitBuffer()
        self._timestamp = -1  # of the unit in the making; -1: none
        self._spoilt: DropReason | None = None
        self._follows_gap = True  # whether the beginning of that unit may be missing
        self._is_damaged = True
        self._closed = -1  # timestamp of the unit before, whatever became of it
        self._last = -1  # timestamp of the unit that was handed out last
        self._unwrapped = 0
        self._trusts_marker = True

    @property
    def size(self) -> PictureSize | None:
        """The pictures' size, if parameter sets told it."""
        return self._parameters.size

    @property
    def buffered(self) -> int:
        """Bytes that wait for the rest of their unit, or for their turn."""
        return len(self._unit.content) + sum(len(each.payload) for each in self._order.parked.values())

    def receive(self, content: memoryview) -> Sequence[Found]:
        """What is found with one more packet; mostly nothing."""
        try:
            packet = parse(content)
        except MalformedPacket:
            return (PacketRefused(),)
        order = self._order
        if packet.sequence == order.expected and packet.ssrc == self._ssrc and not order.parked:
            order.expected = (packet.sequence + 1) & 0xFFFF
            return self._take(packet)
        return self._out_of_order(packet)

    def _out_of_order(self, packet: RtpPacket) -> list[Found]:
        found: list[Found] = []
        if packet.ssrc != self._ssrc:
            if self._ssrc >= 0:
                found += self._replaced(packet)
            self._ssrc = packet.ssrc
        for arrived in self._order.arrive(packet):
            if arrived.lost:
                found.append(PacketsLost(arrived.lost))
            if arrived.is_restart and self._last >= 0:
                found.append(SequenceRestarted())
            if arrived.lost or arrived.is_restart:
                found += self._gap(arrived.packet)
            found += self._take(arrived.packet)
        return found

    def _replaced(self, packet: RtpPacket) -> list[Found]:
        """Forgets the sender that was."""
        found: list[Found] = [SourceChanged(packet.ssrc)]
        if self._timestamp >= 0:
            self._spoilt = DropReason.SOURCE
            found += self._close()
        self._order = Order(self._spec.window)
        self._closed = self._last = -1
        return found

    def _gap(self, packet: RtpPacket) -> list[Found]:
        """Packets are missing before this one."""
        if self._timestamp < 0:
            self._follows_gap = self._is_damaged = True
            return []
        self._spoil(self._spoilt or DropReason.LOSS)
        if packet.timestamp == self._timestamp:
            return []
        found = self._close()
        self._follows_gap = self._is_damaged = True
        return found

    def _take(self, packet: RtpPacket) -> Sequence[Found]:
        """The packet whose turn it is."""
        if packet.payload_type != self._spec.payload_type:
            return self._pass_over(packet.payload_type)
        found: Sequence[Found] = ()
        if packet.timestamp != self._timestamp:
            if self._timestamp >= 0:
                found = self._close()
            self._timestamp = packet.timestamp
        unit = self._unit
        if self._spoilt is None:
            if not self._unpack(packet.payload, unit):
                self._spoil(DropReason.MALFORMED)
            elif len(unit.content) > self._spec.largest_unit:
                self._spoil(DropReason.TOO_LARGE)
        if packet.has_marker and self._trusts_marker and (unit.kinds & PICTURE or self._spoilt):
            return [*found, *self._close()] if found else self._close()
        return found

    def _pass_over(self, payload_type: int) -> Sequence[Found]:
        if payload_type == self._foreign:
            return ()
        self._foreign = payload_type
        return (PayloadTypeChanged(payload_type),)

    def _spoil(self, reason: DropReason) -> None:
        """Nothing of the unit is kept but what it was."""
        self._spoilt = reason
        self._unit.content.clear()

    def _close(self) -> list[Found]:
        """The unit in the making is over."""
        unit, timestamp = self._unit, self._timestamp
        reason = self._spoilt or self._doubt(unit, timestamp)
        self._unit, self._timestamp, self._spoilt, self._follows_gap = UnitBuffer(), -1, None, False
        self._closed, self._foreign = timestamp, None
        if reason is not None:
            self._is_damaged = self._is_damaged or not unit.kinds & DISPOSABLE
            return [UnitDropped(reason)]
        found = self._learn(unit.parameters) if unit.parameters else []
        if not unit.kinds & PICTURE:
            return found  # parameter sets or messages alone: the next unit has the picture
        found += self._unwrap(timestamp)
        content = bytes(unit.content) + self._end
        is_keyframe, is_recovery_point = self._random_access(unit.kinds, content)
        if is_keyframe or is_recovery_point:
            self._is_damaged = self._is_damaged and not self._parameters.is_complete
            if not self._parameters.holds(unit.parameters):
                content = self._parameters.content + content
        found.append(
            AccessUnit(
                content=content,
                is_keyframe=is_keyframe,
                is_damaged=self._is_damaged,
                is_disposable=unit.kinds & DISPOSABLE != 0,
                is_recovery_point=is_recovery_point,
                timestamp=self._unwrapped,
            )
        )
        return found

    def _random_access(self, kinds: int, content: bytes) -> tuple[bool, bool]:
        """Whether a picture is a keyframe, or else a recovery point."""
        if kinds & KEY:
            return True, False
        is_marked = kinds & (RECOVERY | PARAMETER) != 0
        if self._spec.codec is not VideoCodec.H264 or not (is_marked or self._is_damaged):
            return False, False
        is_intra = h264.is_intra(content)
        if is_intra and kinds & (EXACT | PARAMETER):
            return True, False
        return False, is_intra or kinds & RECOVERY != 0

    def _doubt(self, unit: UnitBuffer, timestamp: int) -> DropReason | None:
        """Whether the unit's beginning is elsewhere."""
        if not unit.kinds & PICTURE or unit.starts_picture:
            return None
        if self._follows_gap:
            return DropReason.LOSS
        if timestamp != self._closed:
            return None  # arbitrary slice order: rare, and the decoder's to judge
        self._trusts_marker = False
        return DropReason.MARKER

    def _learn(self, nals: list[bytes]) -> list[Found]:
        before = self._parameters.size
        for nal in nals:
            self._parameters.learn(nal)
        after = self._parameters.size
        return [PictureSizeChanged(before, after)] if after != before else []

    def _unwrap(self, timestamp: int) -> list[Found]:
        """Follows the timestamp over the end of its 32 bits."""
        if self._last < 0:
            self._last = self._unwrapped = timestamp
            return []
        ticks = ((timestamp - self._last + 0x8000_0000) & 0xFFFF_FFFF) - 0x8000_0000
        self._last = timestamp
        self._unwrapped += ticks
        seconds = ticks / self._spec.clock_rate
        return [] if -BACKWARD_JUMP <= seconds <= FORWARD_JUMP else [TimestampJumped(seconds)]
