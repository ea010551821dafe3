"""Objects as files that only their owner can read: `<folder>/<tenant>/<camera>/<day>/<name>`.

A file gets its name when all of it is on the disk, so nobody ever sees half of one; what a killed process left under
another name is nobody's, and begins with a dot.
"""

import asyncio
import secrets
from pathlib import Path

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
