"""H.264 in RTP packets (RFC 6184, packetization modes 0 and 1): single NAL units, STAP-A and FU-A, both ways.

A decoder can begin with more than IDR pictures, which some encoders send only once: open groups of pictures begin with
an I picture, and with intra refresh no picture is intra as a whole. Both are marked by a recovery point message
(ITU-T H.264 D.2.8), which is read here.
"""

from collections.abc import Iterable, Iterator

from streamward.protocol.rtp.nal import DISPOSABLE, EXACT, KEY, PARAMETER, PICTURE, RECOVERY, UnitBuffer, split

SPS, PPS = 7, 8
HEADER_SIZE = 1
SMALLEST_PAYLOAD = 4

_SLICES = frozenset({1, 2})  # of a picture that is not IDR, and of its first partition
_IDR = 5
_SEI = 6
_RECOVERY_POINT = 6  # a payload type
_I_SLICES = frozenset({2, 4, 7, 9})  # I and SI
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
    return _message_kinds(nal) if nal[0] & 0x1F == _SEI else KINDS[nal[0]]


def is_intra(annexb: bytes) -> bool:
    """Whether all slices of a picture that is not IDR are intra."""
    slices = [nal for nal in split(annexb) if nal[0] & 0x1F in _SLICES]
    return bool(slices) and all(_slice_type(nal) in _I_SLICES for nal in slices)


def _slice_type(nal: bytes | memoryview) -> int:
    """The second Exp-Golomb number of a slice, behind that of its first macroblock; -1: it ends before."""
    bits = "".join(f"{byte:08b}" for byte in nal[1:12])
    value = -1
    for _ in range(2):
        zeros = len(bits) - len(bits.lstrip("0"))
        if len(bits) < 2 * zeros + 1:
            return -1
        value, bits = int(bits[zeros : 2 * zeros + 1], 2) - 1, bits[2 * zeros + 1 :]
    return value


def _message_kinds(nal: bytes | memoryview) -> int:
    """Whether one of the messages of an SEI NAL unit is a recovery point: after no more frames, or after some."""
    content = bytes(nal[1:256]).replace(b"\0\0\3", b"\0\0")
    position = 0
    while position + 2 < len(content):
        kind, size = content[position], content[position + 1]  # larger ones are longer than what is read here
        if kind == _RECOVERY_POINT:
            return RECOVERY | (EXACT if content[position + 2] & 0x80 else 0)
        position += 2 + size
    return 0


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
        kinds = KINDS[first] if kind != _SEI else _message_kinds(payload)
        unit.add(payload, kinds, is_first_slice=size > 1 and payload[1] >= 0x80)
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
        unit.add(nal, kinds_of(nal), is_first_slice=len(nal) > 1 and nal[1] >= 0x80)
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
