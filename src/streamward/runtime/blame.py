"""What a process was doing when it died: a page of memory that it shares with whoever started it.

    thread ─ doing(camera) ─→ … crashes here … ─→ the reader sees the name of that camera

A decoder or a detector that crashes takes its process along, and nobody in it can say any more which camera it was. So
each thread writes a name down before, and wipes it out after; the kernel keeps the page for the reader however the
writer ends. Writing takes microseconds and no system call. What is read while the writer lives may be half written, and
of more names at a time than there are slots the later ones are not written.
"""

import contextlib
import mmap
import os
from collections import deque
from collections.abc import Iterator
from typing import Self

LONGEST = 64  # bytes of a name, as of any id
SLOTS = 63  # names at a time

_SLOT = LONGEST + 1  # its length, then the name
_LOOK = 128  # added to the length of what is looked at
_SIZE = 4096


class Board:
    """The page, as its writer or its reader has it."""

    def __init__(self, page: mmap.mmap) -> None:
        self._page = page
        self._free = deque(range(0, SLOTS * _SLOT, _SLOT))  # where nothing is written

    @classmethod
    def over(cls, file: int) -> Self:
        """The page behind a descriptor, which is closed."""
        try:
            return cls(mmap.mmap(file, _SIZE))
        finally:
            os.close(file)

    @contextlib.contextmanager
    def doing(self, name: str, *, is_look: bool = False) -> Iterator[None]:
        """Within, this thread is at work on that: looks at it, or whatever else."""
        try:
            at = self._free.pop()
        except IndexError:
            yield
            return
        content = name.encode()[:LONGEST]
        self._page[at + 1 : at + 1 + len(content)] = content
        self._page[at] = len(content) | (_LOOK if is_look else 0)
        try:
            yield
        finally:
            self._page[at] = 0
            self._free.append(at)

    def names(self) -> list[str]:
        """What the threads are at work on, or were when they died."""
        return self._read(range(1, _LOOK << 1))

    def looks(self) -> list[str]:
        """What they look at, or did."""
        return self._read(range(_LOOK, _LOOK << 1))

    def _read(self, marks: range) -> list[str]:
        places = (at for at in range(0, SLOTS * _SLOT, _SLOT) if self._page[at] in marks)
        found = (self._page[at + 1 : at + 1 + min(self._page[at] & ~_LOOK, LONGEST)] for at in places)
        return sorted({name.decode(errors="replace") for name in found})

    def close(self) -> None:
        """Lets go of the page."""
        self._page.close()


def new_page() -> int:
    """The descriptor of an empty page, to be given to both ends."""
    file = os.memfd_create("streamward-board")
    os.ftruncate(file, _SIZE)
    return file
