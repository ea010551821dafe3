"""One file of a spool: a header with its marks, then records.

The header is written in one piece and in place: of a process that is killed it holds the old state or the new one. A
record has its length and checksum before it; one that was cut short ends the file.

Each step is safe to cut. `handed` is written before a record is sent, so one that may have arrived is never counted as
lost. A drop is the header's new gap; taking the records out of the file follows, if need be at the next opening.
"""

import os
import struct
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

from streamward.runtime import failpoints
from streamward.runtime.spool.marks import HEADER_BYTES, Gap, Marks, pack, unpack

LONGEST = 4 * 2**20  # bytes of a record
AHEAD = 64  # records that one write marks as handed out

_BEFORE = struct.Struct("<II")  # length and checksum
_CHUNK = 256 * 1024

RECORD_BYTES = _BEFORE.size  # what a record takes beside its payload

APPENDING = failpoints.declare("spool.before-append")
APPENDED = failpoints.declare("spool.after-append")
HANDED = failpoints.declare("spool.after-handed")
DROPPED = failpoints.declare("spool.before-truncate")


@dataclass(frozen=True, slots=True)
class Record:
    """Something that was appended."""

    number: int  # counts the records of a spool
    payload: bytes


Entry = Record | Gap


class Segment:
    """One file, open."""

    def __init__(self, path: Path, file: int, marks: Marks) -> None:
        self.path = path
        self.marks = marks
        self.size = HEADER_BYTES
        self._file = file
        self._is_gap_sent = False  # by us
        self._settled: set[int] = set()  # confirmed out of order
        self._next = marks.confirmed  # to be read
        self._offset = HEADER_BYTES  # where it lies

    @classmethod
    def recover(cls, path: Path) -> "Segment":
        """A file that another process left, sealed."""
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        marks = unpack(os.pread(file, HEADER_BYTES, 0))
        segment = cls(path, file, marks or Marks.new(int(path.name)))
        end = segment._find_end()
        found = segment.marks.found(end)
        # Without a whole header, after a power cut, nobody knows what was sent.
        segment.change(found if marks else replace(found, handed=end))
        return segment

    @property
    def unread(self) -> int:
        """Records that were not handed out by us."""
        return self.marks.end - self._next

    def append(self, payload: bytes, *, is_synced: bool) -> None:
        """Writes one record; after an OSError the file is as before."""
        failpoints.reach(APPENDING)
        record = _BEFORE.pack(len(payload), zlib.crc32(payload)) + payload
        try:
            written = os.pwrite(self._file, record, self.size)
            if written < len(record):
                raise OSError(f"{written} of {len(record)} bytes were written")
            if is_synced:
                os.fdatasync(self._file)
        except OSError:
            os.ftruncate(self._file, self.size)
            raise
        self.size += len(record)
        self.marks = replace(self.marks, end=self.marks.end + 1)
        failpoints.reach(APPENDED)

    def change(self, marks: Marks) -> None:
        """From now on these marks hold."""
        os.pwrite(self._file, pack(marks), 0)
        self.marks = marks

    def read(self, most: int) -> list[Entry]:
        """The next that are to be sent, marked as handed out; after the last record of a sealed file, its gap."""
        count, marks = min(most, self.unread), self.marks
        if self._next + count > marks.handed:
            marks = replace(marks, handed=min(marks.end, self._next + max(count, AHEAD)))
        has_gap = count < most and bool(marks.sealed) and marks.gap is not None and not self._is_gap_sent
        if has_gap:
            self._is_gap_sent = True
            marks = replace(marks, is_gap_handed=True)
        if marks is not self.marks:
            self.change(marks)
        found: list[Entry] = [*self._records(count), *([marks.gap] if has_gap and marks.gap else [])]
        if found:
            failpoints.reach(HANDED)
        return found

    def confirm(self, entry: Entry) -> None:
        """It arrived."""
        marks = self.marks
        if isinstance(entry, Gap):
            return self.change(replace(marks, gap=None))
        self._settled.add(entry.number)
        confirmed = marks.confirmed
        while confirmed in self._settled:
            self._settled.remove(confirmed)
            confirmed += 1
        if confirmed > marks.confirmed:
            self.change(replace(marks, confirmed=confirmed))
        return None

    def drop(self) -> int:
        """Gives up what was never sent, for good; returns how many records that were."""
        lost = self.marks.end - self.marks.handed
        self.change(self.marks.drop())
        failpoints.reach(DROPPED)
        offset = self._offset
        for _ in range(self._next, self.marks.end):  # at most `AHEAD`
            length, _ = _BEFORE.unpack(os.pread(self._file, RECORD_BYTES, offset))
            offset += RECORD_BYTES + length
        os.ftruncate(self._file, offset)
        self.size = offset
        return lost

    def remove(self) -> None:
        """There is no such file any more."""
        self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        os.close(self._file)

    def _records(self, count: int) -> list[Record]:
        found: list[Record] = []
        while len(found) < count:
            chunk = os.pread(self._file, _CHUNK, self._offset)
            some = _whole(chunk, first=self._next, most=count - len(found))
            if not some:  # it is longer than the chunk
                length, _ = _BEFORE.unpack_from(chunk)
                some = _whole(os.pread(self._file, RECORD_BYTES + length, self._offset), first=self._next, most=1)
            found += some
            self._next += len(some)
            self._offset += sum(RECORD_BYTES + len(each.payload) for each in some)
        return found

    def _find_end(self) -> int:
        """The number after the last whole record, up to where it was sealed; what follows is taken out of the file."""
        offset, number, marks = HEADER_BYTES, self.marks.first, self.marks
        while not (marks.sealed and number >= marks.sealed):
            if number == marks.confirmed:
                self._offset = offset
            length = self._length_at(offset)
            if length is None:
                break
            offset += RECORD_BYTES + length
            number += 1
        os.ftruncate(self._file, offset)
        self.size = offset
        if marks.confirmed >= number:
            self._next, self._offset = number, offset
        return number

    def _length_at(self, offset: int) -> int | None:
        """Of the record that lies there; None: it is cut short, or there is none."""
        before = os.pread(self._file, RECORD_BYTES, offset)
        if len(before) < RECORD_BYTES:
            return None
        length, checksum = _BEFORE.unpack(before)
        payload = os.pread(self._file, min(length, LONGEST), offset + RECORD_BYTES)
        return length if len(payload) == length and zlib.crc32(payload) == checksum else None


def create(path: Path, marks: Marks) -> Segment:
    """A new file; after an OSError there is none."""
    segment = Segment(path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), marks)
    try:
        segment.change(marks)
    except OSError:
        segment.remove()
        raise
    return segment


def _whole(chunk: bytes, *, first: int, most: int) -> list[Record]:
    """The whole records at the beginning of a piece of a file."""
    found: list[Record] = []
    offset = 0
    while len(found) < most and offset + RECORD_BYTES <= len(chunk):
        length, _ = _BEFORE.unpack_from(chunk, offset)
        begin, offset = offset + RECORD_BYTES, offset + RECORD_BYTES + length
        if offset > len(chunk):
            break
        found.append(Record(first + len(found), chunk[begin:offset]))
    return found
