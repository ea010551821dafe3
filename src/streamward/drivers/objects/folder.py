"""Objects as files that only their owner can read: `<folder>/<tenant>/<camera>/<day>/<name>`.

A file gets its name when all of it is on the disk, so nobody ever sees half of one; what a killed process left under
another name is nobody's, and begins with a dot.
"""

import asyncio
import contextlib
import itertools
import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

from streamward.model.ids import TenantId
from streamward.model.objects import ObjectKey, StoreAway
from streamward.runtime import failpoints, private_file

WRITTEN = failpoints.declare("objects.before-rename")


class FolderObjects:
    """A folder, made when the first object comes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, key: ObjectKey, content: bytes) -> None:
        """Writes an object; raises StoreAway."""
        try:
            await asyncio.to_thread(self._write, self._folder / str(key), content)
        except OSError as error:
            raise StoreAway(str(self._folder), error.strerror or type(error).__name__) from error

    async def get(self, key: ObjectKey) -> bytes | None:
        """Reads an object; raises StoreAway."""
        try:
            return await asyncio.to_thread((self._folder / str(key)).read_bytes)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreAway(str(self._folder), error.strerror or type(error).__name__) from error

    async def names(self, tenant_id: TenantId, *, limit: int) -> list[str]:
        """Lists files of a tenant; raises StoreAway."""
        try:
            return await asyncio.to_thread(self._names, tenant_id, limit)
        except OSError as error:
            raise StoreAway(str(self._folder), error.strerror or type(error).__name__) from error

    async def delete(self, names: Sequence[str]) -> None:
        """Removes files, and the folders that are empty by that; raises StoreAway."""
        try:
            await asyncio.to_thread(self._delete, names)
        except OSError as error:
            raise StoreAway(str(self._folder), error.strerror or type(error).__name__) from error

    def url(self, key: ObjectKey) -> str:
        """Good on this host."""
        return (self._folder / str(key)).absolute().as_uri()

    def _write(self, path: Path, content: bytes) -> None:
        for parent in reversed([path.parent, *path.parent.parents]):
            if not parent.exists():
                parent.mkdir(mode=0o700, exist_ok=True)
        draft = path.with_name(f".{secrets.token_hex(8)}")
        try:
            private_file.fill(draft, content)
            failpoints.reach(WRITTEN)
            draft.replace(path)
        except OSError:
            draft.unlink(missing_ok=True)
            raise
        private_file.sync(path.parent)

    def _names(self, tenant_id: TenantId, limit: int) -> list[str]:
        return [
            str(path.relative_to(self._folder)) for path in itertools.islice(_files(self._folder / tenant_id), limit)
        ]

    def _delete(self, names: Sequence[str]) -> None:
        for name in names:
            path = self._folder / name
            path.unlink(missing_ok=True)
            for parent in itertools.takewhile(lambda each: each != self._folder, path.parents):
                with contextlib.suppress(OSError):  # it is not empty, or another process removed it
                    parent.rmdir()


def _files(folder: Path) -> Iterator[Path]:
    """Every file below a folder; one that cannot be listed is an error, and not an empty one."""

    def fail(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):  # nothing was put, or another process deletes the same
            raise error

    for parent, _, names in os.walk(folder, onerror=fail):
        yield from (Path(parent) / name for name in names)
