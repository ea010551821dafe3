"""Parameter sets: which ones a stream has, by kind and number, and the picture size that they tell.

Only as much of them is read as that takes (ITU-T H.264 7.3.2, H.265 7.3.2). A set that cannot be read is kept, as the
decoder may know better; it just tells no size.
"""

from dataclasses import dataclass, field

from streamward.model.video import PictureSize, VideoCodec
from streamward.protocol.rtp import h264, h265
from streamward.protocol.rtp.nal import LARGEST_PARAMETER_SET, MOST_PARAMETER_SETS, join
from streamward.protocol.rtp.packet import RtpError

LARGEST_SIDE = 16384  # pixels

_WITH_CHROMA = frozenset({44, 83, 86, 100, 110, 118, 122, 128, 134, 135, 138, 139, 144, 244})  # profiles
_KINDS = {VideoCodec.H264: (h264.SPS, h264.PPS), VideoCodec.H265: (h265.VPS, h265.SPS, h265.PPS), VideoCodec.MJPEG: ()}


class MalformedParameterSet(RtpError):
    """A parameter set that ends too early, or says what cannot be."""

    def __str__(self) -> str:
        return "not a parameter set"


class _Bits:
    """The bits of a NAL unit, without the bytes that keep start codes out of it."""

    def __init__(self, nal: bytes) -> None:
        plain = nal[:LARGEST_PARAMETER_SET].replace(b"\0\0\3", b"\0\0")
        self._value = int.from_bytes(plain)
        self._left = 8 * len(plain)

    def take(self, count: int) -> int:
        """The next bits as a number."""
        self._left -= count
        if self._left < 0:
            raise MalformedParameterSet
        return self._value >> self._left & (1 << count) - 1

    def golomb(self) -> int:
        """An unsigned Exp-Golomb number."""
        zeros = 0
        while not self.take(1):
            zeros += 1
            if zeros > 32:
                raise MalformedParameterSet
        return (1 << zeros) - 1 + self.take(zeros)

    def signed(self) -> int:
        """A signed Exp-Golomb number."""
        code = self.golomb()
        return (code + 1) // 2 if code & 1 else -(code // 2)


@dataclass(slots=True)
class ParameterSets:
    """What a decoder has to know before a keyframe."""

    codec: VideoCodec
    size: PictureSize | None = None
    content: bytes = b""  # all of them in Annex B form, in the order of their kinds
    _by_number: dict[tuple[int, int], bytes] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether there is one of each kind."""
        return {kind for kind, _ in self._by_number} == set(_KINDS[self.codec])

    def holds(self, nals: list[bytes]) -> bool:
        """Whether these alone are a complete set."""
        return {_kind(self.codec, nal) for nal in nals} == set(_KINDS[self.codec])

    def learn(self, nal: bytes) -> None:
        """Takes in one set, in place of the one with its number."""
        if nal in self._by_number.values() or not 2 < len(nal) <= LARGEST_PARAMETER_SET:
            return
        kind = _kind(self.codec, nal)
        try:
            key = (kind, _number(self.codec, kind, nal))
        except MalformedParameterSet:
            return
        if kind not in _KINDS[self.codec] or (
            key not in self._by_number and len(self._by_number) >= MOST_PARAMETER_SETS
        ):
            return
        self._by_number[key] = nal
        self.content = join([each for _, each in sorted(self._by_number.items())])
        if kind == (h264.SPS if self.codec is VideoCodec.H264 else h265.SPS):
            self.size = picture_size(self.codec, nal) or self.size


def picture_size(codec: VideoCodec, sps: bytes) -> PictureSize | None:
    """The size that a sequence parameter set tells, if it can be read."""
    try:
        size = _h264_size(_Bits(sps[1:])) if codec is VideoCodec.H264 else _h265_size(_Bits(sps[2:]))
    except MalformedParameterSet:
        return None
    return size if 0 < size.width <= LARGEST_SIDE and 0 < size.height <= LARGEST_SIDE else None


def _kind(codec: VideoCodec, nal: bytes) -> int:
    return nal[0] & 0x1F if codec is VideoCodec.H264 else nal[0] >> 1 & 0x3F


def _number(codec: VideoCodec, kind: int, nal: bytes) -> int:
    """The id by which pictures name a set."""
    if codec is VideoCodec.H264:
        return _Bits(nal[4:] if kind == h264.SPS else nal[1:]).golomb()
    bits = _Bits(nal[2:])
    if kind == h265.VPS:
        return bits.take(4)
    if kind == h265.SPS:
        _skip_profile(bits)
    return bits.golomb()


def _h264_size(bits: _Bits) -> PictureSize:
    profile = bits.take(24) >> 16
    bits.golomb()
    chroma = _h264_chroma(bits) if profile in _WITH_CHROMA else 1
    bits.golomb()
    _skip_order_count(bits)
    bits.golomb()
    bits.take(1)
    width, height = 16 * (bits.golomb() + 1), 16 * (bits.golomb() + 1)
    frames_only = bits.take(1)
    if not frames_only:
        bits.take(1)
        height *= 2
    bits.take(1)
    unit_x = 2 if chroma in {1, 2} else 1
    unit_y = (2 if chroma == 1 else 1) * (2 - frames_only)
    return _cropped(bits, PictureSize(width, height), unit_x, unit_y)


def _h264_chroma(bits: _Bits) -> int:
    """The chroma format, and past the scaling matrices behind it."""
    chroma = bits.golomb()
    if chroma == 3:
        bits.take(1)
    bits.golomb()
    bits.golomb()
    bits.take(1)
    if bits.take(1):
        for place in range(8 if chroma != 3 else 12):
            if bits.take(1):
                _skip_scaling_list(bits, 16 if place < 6 else 64)
    return chroma


def _skip_scaling_list(bits: _Bits, size: int) -> None:
    last = following = 8
    for _ in range(size):
        if following:
            following = (last + bits.signed()) % 256
        last = following or last


def _skip_order_count(bits: _Bits) -> None:
    kind = bits.golomb()
    if kind == 0:
        bits.golomb()
    elif kind == 1:
        bits.take(1)
        bits.signed()
        bits.signed()
        count = bits.golomb()
        if count > 255:
            raise MalformedParameterSet
        for _ in range(count):
            bits.signed()


def _skip_profile(bits: _Bits) -> None:
    """Past everything before the number of an H.265 SPS."""
    bits.take(4)
    layers = bits.take(3)
    bits.take(1 + 96)
    present = [bits.take(2) for _ in range(layers)]
    if layers:
        bits.take(2 * (8 - layers))
    for flags in present:
        bits.take((88 if flags & 2 else 0) + (8 if flags & 1 else 0))


def _h265_size(bits: _Bits) -> PictureSize:
    _skip_profile(bits)
    bits.golomb()
    chroma = bits.golomb()
    if chroma == 3:
        bits.take(1)
    size = PictureSize(bits.golomb(), bits.golomb())
    return _cropped(bits, size, 2 if chroma in {1, 2} else 1, 2 if chroma == 1 else 1)


def _cropped(bits: _Bits, size: PictureSize, unit_x: int, unit_y: int) -> PictureSize:
    if not bits.take(1):
        return size
    left, right, top, bottom = (bits.golomb() for _ in range(4))
    return PictureSize(size.width - unit_x * (left + right), size.height - unit_y * (top + bottom))
