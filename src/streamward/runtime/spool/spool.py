"""The files of a spool, and the rules of what goes first and what gives way.

    <folder>/lock                    held by whoever uses the spool; the kernel lets go of it
    <folder>/00000000000000000001    segments, by the number of their first record; the last one is appended to

Guaranteed: what `append` returned from survives kill −9 of the process, for it is with the kernel (`write(2)`), and is
handed out until it is confirmed. The files take no more than `most_bytes`: the oldest records that were never handed
out give way, and each of them is counted in exactly one gap, whatever is killed when. What was handed out and not
confirmed is never dropped.
Not guaranteed: a power cut or a crash of the kernel, unless `is_synced` is asked for, by which each append waits for
the disk. Once only: what was handed out and not confirmed when a process died is handed out again. And the exact count
of records lost on a disk on which not even a header can be written, if the process is killed before that is over.

Live records first: `live` hands out what was appended since the last `roll`, `backlog` the rest, oldest first. `roll`
begins a new segment, and with that turns everything unread into backlog; a segment that is merely full stays live.

For one thread, and one folder for each start of a process: numbers begin anew in a spool that was emptied. Appending is
one write to the page cache; reading is from there if the backlog is young.
"""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from streamward.model.errors import StreamwardError
from streamward.runtime import failpoints, private_file
from streamward.runtime.spool.marks import HEADER_BYTES, Gap, Marks
from streamward.runtime.spool.segment import LONGEST, RECORD_BYTES, Entry, Segment, create

CONFIRMED = failpoints.declare("spool.before-confirm")
TRIMMED = failpoints.declare("spool.after-trim")
MERGED = failpoints.declare("spool.before-merge-removal")
ADOPTED = failpoints.declare("spool.after-adoption")
REMOVING = failpoints.declare("spool.before-folder-removal")

_PARTS = 16  # segments of a full spool: so much of it gives way at once
_FOR_GAPS = 4096  # bytes kept free for files that hold nothing but a gap
_SMALLEST_SEGMENT, _LARGEST_SEGMENT = 64 * 1024, 4 * 2**20


class SpoolInUse(StreamwardError):
    """A living process has this spool, or it is gone."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.folder = folder

    def __str__(self) -> str:
        return f"another process uses the spool {self.folder}"


class RecordTooLong(StreamwardError):
    """Something that no spool takes."""

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.length = length

    def __str__(self) -> str:
        return f"a record of {self.length} bytes is too long: {LONGEST} at most"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A record or a gap in somebody's hands."""

    entry: Entry
    segment: Segment


class Spool:
    """The files of one process, or of one that died and that we clean up after."""

    def __init__(self, folder: Path, *, most_bytes: int, is_synced: bool = False) -> None:
        """Takes the spool over, made if it is not there; raises SpoolInUse."""
        self.folder = folder
        self.lost = 0  # records that gave way or could not be written, since it was opened
        self.disk_error: OSError | None = None  # why the disk did not take the newest record at first; None: it did
        self._most_bytes = most_bytes - _FOR_GAPS
        self._segment_bytes = min(_LARGEST_SEGMENT, max(_SMALLEST_SEGMENT, most_bytes // _PARTS))
        self._is_synced = is_synced
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = _locked(folder)
        self._segments = list(_recovered(folder))  # by number; spent ones are gone
        self._live: Segment | None = None  # the last of them, if we append to it
        self._filled: list[Segment] = []  # those before it that were live until they were full, and have unread records
        self._number = max([1, *(each.marks.until for each in self._segments)])  # the next record's
        self._unrecorded: Gap | None = None  # could not be written, and neither could that

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(segment.size for segment in self._segments)

    @property
    def unread_live(self) -> int:
        """Records since the last roll that were not handed out yet."""
        return sum(segment.unread for segment in self._fresh())

    @property
    def is_empty(self) -> bool:
        """Whether everything was confirmed."""
        return self._unrecorded is None and all(segment.marks.is_spent for segment in self._segments)

    def append(self, payload: bytes) -> None:
        """Keeps one record; raises RecordTooLong, and nothing else: a full disk makes the oldest give way."""
        if len(payload) > LONGEST:
            raise RecordTooLong(len(payload))
        self.disk_error = None
        if not (self._make_room(RECORD_BYTES + len(payload) + HEADER_BYTES) and self._write(payload)):
            self._miss()
        self._number += 1

    def live(self, most: int) -> list[Waiting]:
        """What was appended since the last roll, in its order."""
        found: list[Waiting] = []
        for segment in self._fresh():
            found += [Waiting(entry, segment) for entry in segment.read(most - len(found))]
        self._filled = [segment for segment in self._filled if segment.unread]
        return found

    def backlog(self, most: int) -> list[Waiting]:
        """What waits from before, oldest first."""
        if self._live is not None and self._live.marks.gap is not None:
            self.roll()
        with contextlib.suppress(OSError):  # the disk is still full
            self._record_misses()
        found: list[Waiting] = []
        for segment in self._segments:
            if segment is not self._live and len(found) < most:
                found += [Waiting(entry, segment) for entry in segment.read(most - len(found))]
        return found

    def confirm(self, waiting: Waiting) -> None:
        """The bus has it: it is trimmed."""
        failpoints.reach(CONFIRMED)
        waiting.segment.confirm(waiting.entry)
        if waiting.segment.marks.is_spent and waiting.segment is not self._live:
            self._trim(waiting.segment)

    def roll(self) -> None:
        """From now on a new segment: what was not handed out yet is backlog."""
        self._filled = []
        self._seal()

    def close(self) -> None:
        """Lets go of it; what was not confirmed waits for the next who opens it. An empty one is removed."""
        self.roll()
        if self.is_empty:
            (self.folder / "lock").unlink(missing_ok=True)
            failpoints.reach(REMOVING)
            self.folder.rmdir()
        for segment in self._segments:
            segment.close()
        os.close(self._lock)

    def _write(self, payload: bytes) -> bool:
        """False: the disk does not take it, even if the oldest gives way."""
        while True:
            try:
                self._appendable(RECORD_BYTES + len(payload)).append(payload, is_synced=self._is_synced)
            except OSError as error:
                self.disk_error = error
                if not self._drop_oldest():
                    return False
            else:
                return True

    def _appendable(self, need: int) -> Segment:
        """The live segment, a new one if the present one is full or has a gap at its end."""
        live = self._live
        if live is not None and (live.marks.gap is not None or live.size + need > self._segment_bytes):
            self._filled.append(live)
            self._seal()
        if self._live is None:
            self._record_misses()
            self._live = self._create(Marks.new(self._number))
        return self._live

    def _fresh(self) -> list[Segment]:
        return self._filled if self._live is None else [*self._filled, self._live]

    def _seal(self) -> None:
        """Nothing is appended to the present segment any more."""
        live, self._live = self._live, None
        if live is not None:
            live.change(live.marks.seal())
            if live.marks.is_spent:
                self._trim(live)

    def _create(self, marks: Marks) -> Segment:
        segment = create(self.folder / f"{marks.first:020}", marks)
        self._segments.append(segment)
        if self._is_synced:
            private_file.sync(self.folder)
        return segment

    def _make_room(self, need: int) -> bool:
        while self.size + need > self._most_bytes:
            if not self._drop_oldest():
                return False
        return True

    def _drop_oldest(self) -> bool:
        """The oldest records that were never handed out give way; False: there are none."""
        for place, segment in enumerate(self._segments):
            if segment.marks.has_droppable:
                if segment is self._live:
                    self.roll()
                self.lost += segment.drop()
                self._merge(place)
                return True
        return False

    def _merge(self, place: int) -> None:
        """One gap for two neighbours of which nothing else is left: a long outage leaves one small file."""
        if place == 0:
            return
        before, segment = self._segments[place - 1], self._segments[place]
        gap, own = before.marks.gap, segment.marks.gap
        if not (before.marks.is_only_gap and segment.marks.is_only_gap) or gap is None or own is None:
            return
        if gap.until == own.first:
            segment.change(segment.marks.absorb(gap))
            failpoints.reach(MERGED)
            self._trim(before)

    def _miss(self) -> None:
        """The record is lost, and counted: in a file at once, or as soon as there can be one."""
        self.lost += 1
        try:
            if self._live is None:
                self._record_misses()
                self._live = self._create(Marks.new(self._number))
            self._live.change(self._live.marks.miss())
        except OSError:
            first = self._unrecorded.first if self._unrecorded else self._number
            self._unrecorded = Gap(first, self._number + 1)

    def _record_misses(self) -> None:
        gap = self._unrecorded
        if gap is not None:
            self._create(Marks.new(gap.first, gap))
            self._unrecorded = None

    def _trim(self, segment: Segment) -> None:
        self._segments.remove(segment)
        self._filled = [each for each in self._filled if each is not segment]
        segment.remove()
        failpoints.reach(TRIMMED)


def abandoned(root: Path, *, most_bytes: int) -> list[Spool]:
    """The spools below a folder whose processes died, now ours."""
    found: list[Spool] = []
    for folder in sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else ():
        try:
            found.append(Spool(folder, most_bytes=most_bytes))
        except SpoolInUse:
            continue
        failpoints.reach(ADOPTED)
    return found


def discard(folder: Path) -> bool:
    """Deletes a spool with all that was not published; False: a living process has it, or it is gone."""
    try:
        lock = _locked(folder)
    except SpoolInUse:
        return False
    try:
        shutil.rmtree(folder)
    finally:
        os.close(lock)
    return True


def _locked(folder: Path) -> int:
    """The lock, if nobody else has it; one whose file was removed meanwhile is nobody's."""
    path = folder / "lock"
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        raise SpoolInUse(folder) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_nlink == 0:
            raise BlockingIOError
    except BlockingIOError:
        os.close(lock)
        raise SpoolInUse(folder) from None
    return lock


def _recovered(folder: Path) -> Iterator[Segment]:
    """What a process left, without what it had finished with."""
    found = [Segment.recover(path) for path in sorted(folder.glob("[0-9]" * 20))]
    gaps = [segment.marks.gap for segment in found if segment.marks.gap]
    for segment in found:
        marks = segment.marks
        # Killed while two gaps became one: the wider one is the truth.
        is_told_twice = marks.is_only_gap and marks.gap and any(map(marks.gap.is_within, gaps))
        if marks.is_spent or is_told_twice:
            segment.remove()
        else:
            yield segment
