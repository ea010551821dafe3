"""Groups of pictures in files of a folder instead of in memory (S4-40): one file for each camera, without a name.

    event loop ─put→ queue ─one thread→ file of the camera, over and over from its beginning ─units→ whoever cuts

A file loses its name before anything is written to it. So nobody finds it in the folder, and when its Worker ends,
however that ends, the kernel takes it back: nothing of a camera is ever left behind, and Workers may share a folder.

Guaranteed: the event loop never waits for the disk; a camera's file never has more bytes than its ring. What the disk
cannot take, or not in time, is lost, counted and told once: clips are shorter then, and everything else goes on.
"""

import asyncio
import contextlib
import os
import secrets
import stat
import threading
from array import array
from collections.abc import Callable
from math import isnan, nan
from pathlib import Path
from queue import SimpleQueue

from streamward.model.errors import StreamwardError
from streamward.vision.lane import ArrivedUnit
from streamward.vision.ring import Group, Units

MOST_WAITING = 16 << 20  # bytes of all cameras that wait to be written
_ENDS_WITHIN = 2.0  # seconds that a disk has when everything ends

Work = Callable[[], object]


class ClipFolderUnusable(StreamwardError):
    """A folder that is not only ours, or none."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(path, why)
        self.path = path
        self.why = why

    def __str__(self) -> str:
        return f"the folder for clips {self.path} {self.why}"


class ClipsNotWritten(StreamwardError):
    """The last seconds of cameras, or some of them, cannot be kept."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return f"clips have gaps or are empty, for what cameras send cannot be written to the folder ({self.why})"


def opened(path: Path) -> int:
    """A descriptor of a folder that only its owner, this user, can change; made if it is not there."""
    try:
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700, parents=True)
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        why = "is a link" if path.is_symlink() else f"cannot be used ({(error.strerror or '').lower()})"
        raise ClipFolderUnusable(path, why) from error
    found = os.fstat(folder)
    if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        os.close(folder)
        raise ClipFolderUnusable(path, "can be changed by others: make it this user's and 0700")
    return folder


def checked(path: Path | None) -> str | None:
    """Where it is, if it can be used, before there is a Worker that would; raises ClipFolderUnusable."""
    if path is None:
        return None
    os.close(opened(path.absolute()))
    return str(path.absolute())


class ClipFolder:
    """What one process keeps in a folder."""

    def __init__(
        self, path: Path, *, tell: Callable[[ClipsNotWritten], None], most_waiting: int = MOST_WAITING
    ) -> None:
        """Raises ClipFolderUnusable; `tell` is called at most once, by a thread."""
        self.lost = 0  # groups
        self._folder = opened(path)
        self._tell = tell
        self._most_waiting = most_waiting
        self._waiting = 0  # bytes
        self._is_told = False
        self._lock = threading.Lock()
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="clips", daemon=True)
        self._thread.start()

    def shelf(self, most_bytes: int) -> "FileShelf":
        """That of one camera, whose ring has at most so many bytes."""
        return FileShelf(self, most_bytes)

    def file(self) -> int:
        """A new file without a name."""
        name = secrets.token_hex(16)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(name, flags, 0o600, dir_fd=self._folder)
        os.unlink(name, dir_fd=self._folder)
        return file

    def do(self, work: Work) -> None:
        """Has the thread do it, after all that it was told before."""
        self._queue.put(work)

    def has_room(self, size: int) -> bool:
        """Takes room for so many bytes that wait."""
        with self._lock:
            has_room = self._waiting + size <= self._most_waiting
            self._waiting += size if has_room else 0
        return has_room

    def give_room(self, size: int) -> None:
        """They wait no more."""
        with self._lock:
            self._waiting -= size

    def lose(self, why: str) -> None:
        """One group is lost."""
        with self._lock:
            self.lost += 1
            is_news, self._is_told = not self._is_told, True
        if is_news:
            self._tell(ClipsNotWritten(why))

    async def close(self) -> None:
        """Keeps nothing any more; a disk that hangs is waited for no longer than a moment."""
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join, _ENDS_WITHIN)

    def _work(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
        os.close(self._folder)


class FileShelf:
    """One camera's file: written from its beginning to its end, and then again from its beginning.

    What a ring still has is never written over: it all fits.
    """

    def __init__(self, folder: ClipFolder, most_bytes: int) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._lock = threading.Lock()  # of the threads that write and read
        self._file: int | None = None
        self._place = 0  # where the next group begins
        self._is_open = True

    def put(self, units: Units) -> Group:
        group = FiledGroup(self, units)
        if self._folder.has_room(group.size):
            self._folder.do(group.file)
        else:
            group.lose()
            self._folder.lose("the disk is too slow")
        return group

    def close(self) -> None:
        self._folder.do(self._end)

    def filed(self, units: Units) -> int | None:
        """Writes them; where they begin, or None: they are lost."""
        content = b"".join(unit.content for unit in units)
        try:
            with self._lock:
                return self._written(content) if self._is_open else None
        except OSError as error:
            self._folder.lose((error.strerror or "it cannot be written").lower())
            return None
        finally:
            self._folder.give_room(len(content))

    def passed_over(self, size: int) -> None:
        """Nobody wants what waited to be written."""
        self._folder.give_room(size)

    def read(self, group: "FiledGroup", place: int) -> bytes:
        """What lies there, unless it was forgotten: then it may be written over."""
        with self._lock:
            if self._file is None or group.is_forgotten:
                return b""
            first = os.pread(self._file, min(group.size, self._most_bytes - place), place)
            return first + os.pread(self._file, group.size - len(first), 0)

    def _written(self, content: bytes) -> int:
        if self._file is None:
            self._file = self._folder.file()
        place, before = self._place, self._most_bytes - self._place
        _write(self._file, content[:before], place)
        _write(self._file, content[before:], 0)
        self._place = (place + len(content)) % self._most_bytes
        return place

    def _end(self) -> None:
        with self._lock:
            self._is_open = False
            if self._file is not None:
                os.close(self._file)
                self._file = None


class FiledGroup:
    """In memory until it is written."""

    def __init__(self, shelf: FileShelf, units: Units) -> None:
        self._shelf = shelf
        self._waiting: Units | None = units
        self._place: int | None = None
        self._moments = array("d", [unit.arrived_at for unit in units])
        self._marks = array("d", [nan if unit.shown_at is None else unit.shown_at for unit in units])
        self._sizes = array("I", [len(unit.content) for unit in units])
        self.size = sum(self._sizes)
        self.is_forgotten = False

    def units(self) -> Units:
        waiting, place = self._waiting, self._place
        if waiting is not None or place is None:
            return waiting or ()
        content = memoryview(self._shelf.read(self, place))
        return tuple(self._cut(content)) if len(content) == self.size else ()

    def forget(self) -> None:
        self.is_forgotten = True

    def lose(self) -> None:
        """It will not be written."""
        self._waiting = None

    def file(self) -> None:
        """The thread's: writes it, if anybody may still want it."""
        if self._waiting is None or self.is_forgotten:
            self._shelf.passed_over(self.size)
        else:
            self._place = self._shelf.filed(self._waiting)
        self._waiting = None

    def _cut(self, content: memoryview) -> list[ArrivedUnit]:
        """A group has one keyframe, its first."""
        units: list[ArrivedUnit] = []
        place = 0
        for arrived_at, mark, size in zip(self._moments, self._marks, self._sizes, strict=True):
            units.append(
                ArrivedUnit(
                    content=bytes(content[place : place + size]),
                    is_keyframe=not units,
                    arrived_at=arrived_at,
                    shown_at=None if isnan(mark) else mark,
                )
            )
            place += size
        return units


def _write(file: int, content: bytes, place: int) -> None:
    """All of it: a disk that is nearly full takes a part first."""
    while content:
        written = os.pwrite(file, content, place)
        content, place = content[written:], place + written
