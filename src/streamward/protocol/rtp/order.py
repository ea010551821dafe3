"""Packets in the order in which they were sent, and what is missing between them.

A packet from the future waits until those before it came, or until more than `window` wait: then what is missing is
lost. Packets from the past are dropped; many of them in a row mean that the sender counts anew.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from streamward.protocol.rtp.packet import RtpPacket

DEFAULT_WINDOW = 16  # packets
LARGEST_GAP = 3000  # packets: what is further off is not waited for
RESTART_AFTER = 8  # packets from the past, in a row


class Arrived(msgspec.Struct, frozen=True, gc=False):
    """A packet whose turn it is."""

    packet: RtpPacket
    lost: int = 0  # packets missing before it
    is_restart: bool = False  # what is missing before it, nobody knows


@dataclass(slots=True)
class Order:
    """The sequence of one source. Who sees `is_next` may skip `arrive` and count `expected` on."""

    window: int = DEFAULT_WINDOW
    expected: int = -1  # none yet
    parked: dict[int, RtpPacket] = field(default_factory=dict)
    _late: int = 0  # packets from the past, since
    _late_at: int = -1  # this one was expected

    def arrive(self, packet: RtpPacket) -> list[Arrived]:
        """What may be used now that this packet is here."""
        if self.expected < 0:
            return [self._taken(packet, is_restart=True)]
        ahead = (packet.sequence - self.expected) & 0xFFFF
        if ahead >= 0x8000:
            return self._from_the_past(packet)
        self.parked[packet.sequence] = _copied(packet) if ahead else packet
        if ahead > LARGEST_GAP:
            return list(self._flushed())
        released = list(self._in_turn())
        if len(self.parked) > self.window:
            released += self._past_the_gap()
        return released

    def _from_the_past(self, packet: RtpPacket) -> list[Arrived]:
        self._late = self._late + 1 if self.expected == self._late_at else 1
        self._late_at = self.expected
        if self._late < RESTART_AFTER:
            return []
        released = list(self._flushed())
        return [*released, self._taken(packet, is_restart=True)]

    def _in_turn(self) -> Iterator[Arrived]:
        while (packet := self.parked.pop(self.expected, None)) is not None:
            yield self._taken(packet)

    def _past_the_gap(self) -> list[Arrived]:
        nearest = min(self.parked.values(), key=lambda each: (each.sequence - self.expected) & 0xFFFF)
        del self.parked[nearest.sequence]
        return [self._taken(nearest), *self._in_turn()]

    def _flushed(self) -> Iterator[Arrived]:
        while self.parked:
            yield from self._past_the_gap()

    def _taken(self, packet: RtpPacket, *, is_restart: bool = False) -> Arrived:
        lost = 0 if is_restart else (packet.sequence - self.expected) & 0xFFFF
        self.expected = (packet.sequence + 1) & 0xFFFF
        return Arrived(packet, lost, is_restart)


def _copied(packet: RtpPacket) -> RtpPacket:
    """One that waits must not keep alive all that was read with it."""
    return msgspec.structs.replace(packet, payload=memoryview(bytes(packet.payload)))
