"""JPEG in RTP packets (RFC 2435): each picture's headers are left out of the packets, and written anew here.

    type-specific₈ │ fragment offset₂₄ │ type₈ │ Q₈ │ width/8₈ │ height/8₈ │ restart header … │ tables … │ scan …

Types 0 and 1 (4:2:2 and 4:2:0), with or without restart markers, in sizes of up to 2040 by 2040 pixels. Quantization
tables are scaled by Q, or sent with the pictures (Q from 128 on) and remembered by it. Every picture is a keyframe.
"""

from struct import Struct

from streamward.protocol.rtp.nal import KEY, PICTURE, UnitBuffer

END = b"\xff\xd9"  # of a picture

_MAIN = Struct("!IBBBB")
_TABLES = Struct("!BBH")
_RESTART_SIZE = 4
_WITH_RESTARTS = 64
_SENT_TABLES = 128
_CHANGING_TABLES = 255  # sent with each picture, and not remembered
_SAMPLING = (0x21, 0x22)  # by type: of luminance, across and down

# ITU-T T.81, tables K.1 and K.2, row by row.
_LUMINANCE = (
    *(16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55),
    *(14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62),
    *(18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92),
    *(49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99),
)
_CHROMINANCE = (
    *(17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99),
    *(24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99),
    *(99,) * 32,
)
_ZIGZAG = sorted(
    range(64), key=lambda place: (place // 8 + place % 8, place // 8 if (place // 8 + place % 8) & 1 else place % 8)
)
_HUFFMAN = bytes.fromhex(  # tables K.3 to K.6, as a segment
    "ffc401a20000010501010101010100000000000000000102030405060708090a0b01000301010101010101010100000000000001"
    "02030405060708090a0b100002010303020403050504040000017d01020300041105122131410613516107227114328191a10823"
    "42b1c11552d1f02433627282090a161718191a25262728292a3435363738393a434445464748494a535455565758595a63646566"
    "6768696a737475767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6"
    "c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9fa11000201020404030407050404000102770001"
    "02031104052131061241510761711322328108144291a1b1c109233352f0156272d10a162434e125f11718191a262728292a3536"
    "3738393a434445464748494a535455565758595a636465666768696a737475767778797a82838485868788898a92939495969798"
    "999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae2e3e4e5e6e7e8e9eaf2f3f4f5f6"
    "f7f8f9fa"
)
_SCAN = bytes.fromhex("ffda000c03010002110311003f00")


class JpegDepacketizer:
    """The packets of one track."""

    def __init__(self) -> None:
        self._tables: dict[int, bytes] = {}  # segments by Q
        self._header_size = 0  # of the picture in the making

    def unpack(self, payload: memoryview, unit: UnitBuffer) -> bool:
        """Adds a packet's payload to its picture; False: it makes no sense, and the picture is spoilt."""
        if len(payload) < _MAIN.size:
            return False
        first, kind, quality, width, height = _MAIN.unpack_from(payload)
        offset, rest = first & 0xFFFFFF, payload[_MAIN.size :]
        interval = 0
        if kind >= _WITH_RESTARTS:
            interval, rest = int.from_bytes(rest[:2]), rest[_RESTART_SIZE:]
        if offset == 0:
            tables, rest = self._quantization(quality, rest)
            if tables is None or kind % _WITH_RESTARTS >= len(_SAMPLING) or kind >= _SENT_TABLES or not width * height:
                return False
            frame = _frame(_SAMPLING[kind % _WITH_RESTARTS], 8 * width, 8 * height)
            restarts = b"\xff\xdd\0\4" + interval.to_bytes(2) if interval else b""
            unit.content[:] = b"".join((b"\xff\xd8", tables, restarts, frame, _HUFFMAN, _SCAN))
            unit.kinds, unit.starts_picture, self._header_size = PICTURE | KEY, True, len(unit.content)
        elif not unit.kinds & PICTURE or len(unit.content) - self._header_size != offset:
            return False
        unit.content += rest
        return True

    def _quantization(self, quality: int, rest: memoryview) -> tuple[bytes | None, memoryview]:
        """The segment of quantization tables, if they are known, and what follows them in the packet."""
        if quality < _SENT_TABLES:
            if quality not in self._tables and 1 <= quality <= 99:
                self._tables[quality] = _segment(_scaled(_LUMINANCE, quality) + _scaled(_CHROMINANCE, quality), 0)
            return self._tables.get(quality), rest
        if len(rest) < _TABLES.size:
            return None, rest
        _, precision, size = _TABLES.unpack_from(rest)
        end = _TABLES.size + size
        if not size:
            return self._tables.get(quality), rest[end:]
        lengths = [128 if precision >> number & 1 else 64 for number in range(2)]
        sent = bytes(rest[_TABLES.size : end])
        if len(sent) == lengths[0]:
            sent, lengths = 2 * sent, [lengths[0]] * 2  # one for all
            precision = 3 if precision & 1 else 0
        if len(sent) != sum(lengths):
            return None, rest
        segment = _segment(sent, precision)
        if quality != _CHANGING_TABLES:
            self._tables[quality] = segment
        return segment, rest[end:]


def _scaled(table: tuple[int, ...], quality: int) -> bytes:
    """A table for a quality from 1 to 99, in the order in which coefficients are sent."""
    scale = 5000 // quality if quality < 50 else 200 - 2 * quality
    return bytes(min(max((table[place] * scale + 50) // 100, 1), 255) for place in _ZIGZAG)


def _segment(tables: bytes, precision: int) -> bytes:
    """Both tables; a set bit of `precision` says that one has 16 bits for each number."""
    first = 128 if precision & 1 else 64
    content = bytes([(precision & 1) << 4]) + tables[:first] + bytes([(precision >> 1 & 1) << 4 | 1]) + tables[first:]
    return b"\xff\xdb" + (len(content) + 2).to_bytes(2) + content


def _frame(sampling: int, width: int, height: int) -> bytes:
    """The frame header: luminance with the first table, both colours with the second."""
    components = bytes([1, sampling, 0, 2, 0x11, 1, 3, 0x11, 1])
    return b"\xff\xc0\0\x11\x08" + height.to_bytes(2) + width.to_bytes(2) + b"\3" + components
