"""H.264 in RTP packets (RFC 6184, packetization modes 0 and 1): single NAL units, STAP-A and FU-A, both ways."""

from collections.abc import Iterable, Iterator

from streamward.protocol.rtp.nal import DISPOSABLE, KEY, PARAMETER, PICTURE, UnitBuffer

SPS, PPS = 7, 8
HEADER_SIZE = 1
SMALLEST_PAYLOAD = 4

_IDR = 5
_STAP_A, _FU_A = 24, 28
_START, _END = 0x80, 0x40
_HEADERS = [bytes([first]) for first in range(256)]


def _kinds(first: int) -> int:
    kind = first & 0x1F
    if 1 <= kind <= _IDR:
        return PICTURE | (KEY if kind == _IDR else 0) | (DISPOSABLE if not first & 0x60 else 0)
    return PARAMETER if kind in {SPS, PPS} else 0


KINDS = [_kinds(first) for first in range(256)]  # by a NAL unit's first byte


def kinds_of(nal: bytes | memoryview) -> int:
    """What a NAL unit is."""
    return KINDS[nal[0]]


def unpack(payload: memoryview, unit: UnitBuffer) -> bool:
    """Adds a packet's payload to its access unit; False: it makes no sense, and the unit is spoilt."""
    size = len(payload)
    if size == 0:
        return False
    first = payload[0]
    kind = first & 0x1F
    if kind == _FU_A:
        return size > 2 and _fragment(first, payload, unit)
    if 0 < kind < _STAP_A:
        unit.add(payload, KINDS[first], is_first_slice=size > 1 and payload[1] >= 0x80)
        return True
    return kind == _STAP_A and _aggregate(payload, unit)


def _fragment(first: int, payload: memoryview, unit: UnitBuffer) -> bool:
    head = payload[1]
    if head & _START:
        whole = first & 0xE0 | head & 0x1F
        unit.begin(_HEADERS[whole], KINDS[whole], is_first_slice=payload[2] >= 0x80)
    if not unit.go_on(payload[2:]):
        return False
    if head & _END:
        unit.finish()
    return True


def _aggregate(payload: memoryview, unit: UnitBuffer) -> bool:
    position, size = 1, len(payload)
    while position + 2 < size:
        start = position + 2
        end = start + (payload[position] << 8 | payload[position + 1])
        nal = payload[start:end]
        if end > size or end == start or not 0 < nal[0] & 0x1F < _STAP_A:
            return False
        unit.add(nal, KINDS[nal[0]], is_first_slice=len(nal) > 1 and nal[1] >= 0x80)
        position = end
    return position == size > 1


def fragments(nal: bytes | memoryview, largest: int) -> Iterator[bytes]:
    """A NAL unit as the payloads of one packet or several."""
    if len(nal) <= largest:
        yield bytes(nal)
        return
    indicator = bytes([nal[0] & 0xE0 | _FU_A])
    kind, step, end = nal[0] & 0x1F, largest - 2, len(nal)
    for position in range(1, end, step):
        mark = (_START if position == 1 else 0) | (_END if position + step >= end else 0)
        yield b"".join((indicator, bytes([mark | kind]), nal[position : position + step]))


def aggregate(nals: Iterable[bytes | memoryview]) -> bytes:
    """Several small NAL units as the payload of one packet."""
    pieces = list(nals)
    indicator = bytes([max(nal[0] & 0x60 for nal in pieces) | _STAP_A])
    return indicator + b"".join(len(nal).to_bytes(2) + bytes(nal) for nal in pieces)
