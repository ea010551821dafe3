"""Which consumers live: each holds one byte of a lock file, and the kernel lets go of it however the process ends.

Locks of the open file description (`F_OFD_*`), not of the process: those would be lost when any descriptor of the file
is closed, and could not be told apart within one process. Owners have numbers that are never used twice, so neither a
process id nor a byte ever comes back as somebody else.
"""

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FLOCK = "hhqqi4x"  # struct flock of 64-bit Linux: type, whence, start, length, pid
_SETUP = 0  # the byte that is held while a file is made


class Owners:
    """One process's view of the lock file."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def hold(self, owner: int) -> bool:
        """Takes the owner's byte; False: another has it."""
        try:
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _lock(fcntl.F_WRLCK, owner))
        except BlockingIOError:
            return False
        return True

    def let_go(self, owner: int) -> None:
        """From now on it counts as dead."""
        fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _lock(fcntl.F_UNLCK, owner))

    def is_alive(self, owner: int) -> bool:
        """Whether another than us holds its byte."""
        found = fcntl.fcntl(self._file, fcntl.F_OFD_GETLK, _lock(fcntl.F_WRLCK, owner))
        return bool(struct.unpack(_FLOCK, found)[0] != fcntl.F_UNLCK)

    @contextmanager
    def setting_up(self) -> Iterator[None]:
        """One process at a time."""
        fcntl.fcntl(self._file, fcntl.F_OFD_SETLKW, _lock(fcntl.F_WRLCK, _SETUP))
        try:
            yield
        finally:
            self.let_go(_SETUP)

    def close(self) -> None:
        """Lets go of everything."""
        os.close(self._file)


def _lock(kind: int, byte: int) -> bytes:
    return struct.pack(_FLOCK, kind, os.SEEK_SET, byte, 1, 0)
