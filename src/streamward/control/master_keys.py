"""The keys that seal camera credentials: in a file that only its owner can read, or in a variable.

One key of 32 bytes to a line (or between commas), in base64; the first seals, every one opens. Whoever has them and the
database can read every camera's password; without them no one can, not even we.
"""

import base64
import binascii
import secrets
from pathlib import Path

from streamward.model.errors import StreamwardError
from streamward.model.secret import Secret
from streamward.runtime import private_file
from streamward.runtime.private_file import KeyFileUnusable

KEY_BYTES = 32


class MasterKeyMalformed(StreamwardError):
    """The variable holds no key."""

    def __str__(self) -> str:
        return "STREAMWARD_MASTER_KEY must hold 32 bytes in base64: make one with `openssl rand -base64 32`"


class MasterKeys:
    """Where the keys come from: the variable if it is set, else the file."""

    def __init__(self, path: Path, given: Secret | None = None) -> None:
        self._path = path
        self._given = given

    @property
    def is_file(self) -> bool:
        return self._given is None

    def make(self) -> None:
        """Makes the file if it is needed and not there."""
        if self.is_file:
            private_file.make_once(self._path, _line(secrets.token_bytes(KEY_BYTES)))

    def add(self) -> None:
        """Puts a new key first into the file."""
        keys = [secrets.token_bytes(KEY_BYTES), *self.read()]
        private_file.replace(self._path, b"".join(map(_line, keys)))

    def read(self) -> list[bytes]:
        """Every key, the one that seals first."""
        if self._given is not None:
            keys = _keys(self._given.reveal().replace(",", "\n"))
            if keys is None:
                raise MasterKeyMalformed
            return keys
        keys = _keys(private_file.read(self._path).decode(errors="replace"))
        if keys is None:
            raise KeyFileUnusable(self._path, "holds no master key")
        return keys


def _keys(text: str) -> list[bytes] | None:
    try:
        keys = [base64.b64decode(line.encode(), validate=True) for line in text.split()]
    except (binascii.Error, UnicodeEncodeError):
        return None
    return keys if keys and all(len(key) == KEY_BYTES for key in keys) else None


def _line(key: bytes) -> bytes:
    return base64.b64encode(key) + b"\n"
