"""How far one file of a spool has got: a value that moves itself, kept in the file's header.

    │ record 7 │ record 8 │ record 9 │ …             [confirmed, handed): sent, and nobody knows yet
      ↑ first    ↑ confirmed  ↑ handed     ↑ end     [handed, end): never sent; only these may be dropped

A gap stands for records that were dropped, of this file and of files before it; it follows the records of its file and
is sent in its turn, as a count. One that was ever sent stays as it is: told twice with two counts it would be two gaps.
"""

import struct
import zlib
from dataclasses import dataclass, replace

_MAGIC = b"SWSPOOL1"
_FORM = struct.Struct("<8sQQQQQQ?7x")  # magic, first, confirmed, handed, sealed, gap from, gap until, gap handed
_CHECK = struct.Struct("<I")

HEADER_BYTES = _FORM.size + _CHECK.size


@dataclass(frozen=True, slots=True)
class Gap:
    """Records that were dropped before anybody got them."""

    first: int
    until: int  # the first that was not

    @property
    def count(self) -> int:
        return self.until - self.first

    def is_within(self, other: "Gap") -> bool:
        """Whether the other tells all of it, and more."""
        return self != other and other.first <= self.first and self.until <= other.until


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What the header says, and where the records end."""

    first: int  # at least 1
    end: int  # the number after the last record; found by reading them
    confirmed: int  # all before it arrived
    handed: int  # none from here on was ever sent
    sealed: int = 0  # `end`, once nothing is appended any more
    gap: Gap | None = None
    is_gap_handed: bool = False  # ever, by whomever

    @classmethod
    def new(cls, first: int, gap: Gap | None = None) -> "Marks":
        """A file without records; one with a gap has nothing else."""
        return cls(first=first, end=first, confirmed=first, handed=first, sealed=first if gap else 0, gap=gap)

    @property
    def has_droppable(self) -> bool:
        """Whether there are records that were never sent."""
        return self.handed < self.end

    @property
    def is_spent(self) -> bool:
        """Whether everything arrived."""
        return self.confirmed == self.end and self.gap is None

    @property
    def is_only_gap(self) -> bool:
        """Whether nothing is left but a gap that was never sent."""
        return self.confirmed == self.end and self.gap is not None and not self.is_gap_handed

    @property
    def until(self) -> int:
        """The first number that is free after it."""
        return max(self.end, self.gap.until if self.gap else 0)

    def seal(self) -> "Marks":
        """Nothing is appended any more."""
        return self if self.sealed else replace(self, sealed=self.end)

    def drop(self) -> "Marks":
        """What was never sent is a gap."""
        return replace(self, end=self.handed, sealed=self.handed, gap=Gap(self.handed, self.until))

    def miss(self) -> "Marks":
        """One more record could not even be written: nothing can be appended after it."""
        return replace(self, gap=Gap(self.gap.first if self.gap else self.end, self.until + 1))

    def absorb(self, before: Gap) -> "Marks":
        """Takes over the gap right before its own."""
        return replace(self, gap=Gap(before.first, self.until))

    def found(self, end: int) -> "Marks":
        """The records that are there end here; those that should follow were lost by a power cut."""
        gap = Gap(end, self.until if self.gap else self.sealed) if self.sealed > end else self.gap
        confirmed, handed = min(self.confirmed, end), min(self.handed, end)
        return replace(self, end=end, confirmed=confirmed, handed=handed, sealed=end, gap=gap)


def pack(marks: Marks) -> bytes:
    """The header."""
    gap = marks.gap or Gap(0, 0)
    places = (marks.first, marks.confirmed, marks.handed, marks.sealed, gap.first, gap.until, marks.is_gap_handed)
    form = _FORM.pack(_MAGIC, *places)
    return form + _CHECK.pack(zlib.crc32(form))


def unpack(header: bytes) -> Marks | None:
    """What a header says, with `end` still to be found; None: it is not whole."""
    if len(header) != HEADER_BYTES or _CHECK.unpack_from(header, _FORM.size)[0] != zlib.crc32(header[: _FORM.size]):
        return None
    magic, first, confirmed, handed, sealed, gap_from, gap_until, is_gap_handed = _FORM.unpack_from(header)
    if magic != _MAGIC:
        return None
    return Marks(
        first=first,
        end=max(handed, sealed),
        confirmed=confirmed,
        handed=handed,
        sealed=sealed,
        gap=Gap(gap_from, gap_until) if gap_until else None,
        is_gap_handed=is_gap_handed,
    )
