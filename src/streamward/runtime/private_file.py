"""Files that only their owner can read."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from streamward.model.errors import StreamwardError

_LONGEST = 64_000  # bytes


class KeyFileUnusable(StreamwardError):
    """A key file that is not there, is readable by others, or holds something else."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(path, why)
        self.path = path
        self.why = why

    def __str__(self) -> str:
        return f"the key file {self.path} {self.why}"


def make_once(path: Path, content: bytes) -> None:
    """Writes the file if there is none; two processes that start together end up with one content."""
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _written(path, content) as fresh, contextlib.suppress(FileExistsError):  # the other process was first
        path.hardlink_to(fresh)


def replace(path: Path, content: bytes) -> None:
    """Puts another content in the file's place, all at once."""
    with _written(path, content) as fresh:
        fresh.replace(path)


def read(path: Path) -> bytes:
    """What the file holds, if nobody else could read it."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise KeyFileUnusable(
            path, "is not there: run `streamward control` once, or set STREAMWARD_DATA to its data folder"
        ) from None
    with file:
        if os.fstat(file.fileno()).st_mode & 0o077:
            raise KeyFileUnusable(path, "can be read by others: make it 0600")
        return file.read(_LONGEST)


def fill(path: Path, content: bytes) -> None:
    """Writes a file that is not there yet, and waits until its content is on the disk; its name may not be yet."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync(folder: Path) -> None:
    """Waits until the names of a folder's files are on the disk."""
    file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


@contextlib.contextmanager
def _written(path: Path, content: bytes) -> Iterator[Path]:
    """The content whole and on disk, under another name in the same folder."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        fill(fresh, content)
        yield fresh
    finally:
        fresh.unlink(missing_ok=True)
