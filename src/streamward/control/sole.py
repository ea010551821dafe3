"""Sees to it that a SQLite file has one control plane: two would each keep their own time and wake only their own."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from streamward.model.errors import StreamwardError


class DatabaseInUse(StreamwardError):
    """Another control plane has this file."""

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(path, holder)
        self.path = path
        self.holder = holder

    def __str__(self) -> str:
        return (
            f"another control plane (process {self.holder or 'unknown'}) uses the SQLite database {self.path}: "
            "stop it, or set STREAMWARD_DATABASE_URL to PostgreSQL, which takes several"
        )


class DatabaseFileUnusable(StreamwardError):
    """The file cannot be made where it should be."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(path, why)
        self.path = path
        self.why = why

    def __str__(self) -> str:
        return f"cannot use the SQLite database {self.path} ({self.why}): set STREAMWARD_DATABASE_URL to another one"


@contextlib.contextmanager
def sole_use(path: Path) -> Iterator[None]:
    """Holds the file for this process; the operating system lets go of it however the process ends."""
    try:
        lock = path.with_name(f"{path.name}.lock").open("a+")
    except OSError as err:
        raise DatabaseFileUnusable(path, str(err.strerror).lower()) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise DatabaseInUse(path, lock.read(20).strip()) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield
