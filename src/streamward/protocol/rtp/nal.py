"""NAL units, the pieces that both codecs are made of, and the access unit that is put together from them.

An access unit is the pieces of one picture, in Annex B form: each behind a start code.
"""

from collections.abc import Iterator

START_CODE = b"\0\0\0\1"
LARGEST_PARAMETER_SET = 4096
MOST_PARAMETER_SETS = 64

# What a NAL unit is, as bits: plain numbers, for they are looked up for every packet.
PICTURE = 1  # a slice
KEY = 2  # of a picture that needs no other
PARAMETER = 4
DISPOSABLE = 8  # no other picture needs it
RECOVERY = 16  # a message: a decoder that begins here shows whole pictures from some later one on
EXACT = 32  # the same, from this one on

_SHORT_CODE = b"\0\0\1"


def split(annexb: bytes) -> Iterator[memoryview]:
    """The NAL units of an access unit, without start codes."""
    view = memoryview(annexb)
    start = annexb.find(_SHORT_CODE)
    while start >= 0:
        start += 3
        following = annexb.find(_SHORT_CODE, start)
        end = len(annexb) if following < 0 else following
        while end > start and annexb[end - 1] == 0:  # zeros belong to the next start code: no NAL unit ends in one
            end -= 1
        if end > start:
            yield view[start:end]
        start = following


def join(nals: Iterator[bytes] | list[bytes] | tuple[bytes, ...]) -> bytes:
    """NAL units in Annex B form."""
    return b"".join(START_CODE + nal for nal in nals)


class UnitBuffer:
    """An access unit in the making."""

    __slots__ = ("_kinds", "_open", "content", "kinds", "parameters", "starts_picture")

    def __init__(self) -> None:
        self.content = bytearray()
        self.kinds = 0  # of all its NAL units
        self.starts_picture = False  # whether its first slice is a picture's first
        self.parameters: list[bytes] = []
        self._open = -1  # where the NAL unit that is not finished begins
        self._kinds = 0  # of that

    def begin(self, header: bytes, kinds: int, *, is_first_slice: bool) -> None:
        """A NAL unit begins with this header; one that was left unfinished is taken as it is."""
        if self._open >= 0:
            self.finish()
        self.content += START_CODE
        self._open, self._kinds = len(self.content), kinds
        self.content += header
        if kinds & PICTURE and not self.kinds & PICTURE:
            self.starts_picture = is_first_slice
        self.kinds |= kinds

    def add(self, nal: memoryview, kinds: int, *, is_first_slice: bool) -> None:
        """A whole NAL unit."""
        self.begin(b"", kinds, is_first_slice=is_first_slice)
        self.content += nal
        self.finish()

    def go_on(self, piece: memoryview) -> bool:
        """The next piece of the NAL unit that was begun; False: none was."""
        if self._open < 0:
            return False
        self.content += piece
        return True

    def finish(self) -> None:
        """The NAL unit that was begun is whole."""
        if self._kinds & PARAMETER and self._open >= 0:
            self._keep_parameters()
        self._open = -1

    def _keep_parameters(self) -> None:
        """Sets that are too large or too many are part of the unit, and nothing more."""
        size = len(self.content) - self._open
        if size <= LARGEST_PARAMETER_SET and len(self.parameters) < MOST_PARAMETER_SETS:
            self.parameters.append(bytes(self.content[self._open :]))
