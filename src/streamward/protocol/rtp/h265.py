"""H.265 in RTP packets (RFC 7798): single NAL units, aggregation packets and fragmentation units, both ways.

Decoding order numbers (`sprop-max-don-diff` > 0) are not read: no camera that we know sends them. No picture counts as
disposable, since a sub-layer's non-reference pictures may still be needed by a higher sub-layer.
"""

from collections.abc import Iterable, Iterator

from streamward.protocol.rtp.nal import KEY, PARAMETER, PICTURE, UnitBuffer

VPS, SPS, PPS = 32, 33, 34
HEADER_SIZE = 2
SMALLEST_PAYLOAD = 5

_AP, _FU = 48, 49
_START, _END = 0x80, 0x40


def _kinds(first: int) -> int:
    kind = first >> 1 & 0x3F
    if kind < VPS:
        return PICTURE | (KEY if 16 <= kind <= 23 else 0)
    return PARAMETER if kind in {VPS, SPS, PPS} else 0


KINDS = [_kinds(first) for first in range(256)]  # by a NAL unit's first byte


def kinds_of(nal: bytes | memoryview) -> int:
    """What a NAL unit is."""
    return KINDS[nal[0]]


def unpack(payload: memoryview, unit: UnitBuffer) -> bool:
    """Adds a packet's payload to its access unit; False: it makes no sense, and the unit is spoilt."""
    size = len(payload)
    if size < 2:
        return False
    first = payload[0]
    kind = first >> 1 & 0x3F
    if kind == _FU:
        return size > 3 and _fragment(first, payload, unit)
    if kind < _AP:
        unit.add(payload, KINDS[first], is_first_slice=size > 2 and payload[2] >= 0x80)
        return True
    return kind == _AP and _aggregate(payload, unit)


def _fragment(first: int, payload: memoryview, unit: UnitBuffer) -> bool:
    head = payload[2]
    if head & _START:
        whole = first & 0x81 | (head & 0x3F) << 1
        unit.begin(bytes([whole, payload[1]]), KINDS[whole], is_first_slice=payload[3] >= 0x80)
    if not unit.go_on(payload[3:]):
        return False
    if head & _END:
        unit.finish()
    return True


def _aggregate(payload: memoryview, unit: UnitBuffer) -> bool:
    position, size = 2, len(payload)
    while position + 2 < size:
        start = position + 2
        end = start + (payload[position] << 8 | payload[position + 1])
        nal = payload[start:end]
        if end > size or len(nal) < 2 or nal[0] >> 1 & 0x3F >= _AP:
            return False
        unit.add(nal, KINDS[nal[0]], is_first_slice=len(nal) > 2 and nal[2] >= 0x80)
        position = end
    return position == size > 2


def fragments(nal: bytes | memoryview, largest: int) -> Iterator[bytes]:
    """A NAL unit as the payloads of one packet or several."""
    if len(nal) <= largest:
        yield bytes(nal)
        return
    indicator = bytes([nal[0] & 0x81 | _FU << 1, nal[1]])
    kind, step, end = nal[0] >> 1 & 0x3F, largest - 3, len(nal)
    for position in range(2, end, step):
        mark = (_START if position == 2 else 0) | (_END if position + step >= end else 0)
        yield b"".join((indicator, bytes([mark | kind]), nal[position : position + step]))


def aggregate(nals: Iterable[bytes | memoryview]) -> bytes:
    """Several small NAL units as the payload of one packet: of the lowest layer and temporal id among them."""
    pieces = list(nals)
    layer = min((nal[0] & 1) << 5 | nal[1] >> 3 for nal in pieces)
    temporal = min(nal[1] & 7 for nal in pieces)
    header = bytes([_AP << 1 | layer >> 5, (layer & 0x1F) << 3 | temporal])
    return header + b"".join(len(nal).to_bytes(2) + bytes(nal) for nal in pieces)
