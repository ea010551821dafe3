"""An identity's key pair: made where it is used, kept in a file that only its owner can read, and sent nowhere."""

import base64
import json
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from streamward.model.errors import StreamwardError
from streamward.model.identity import Role
from streamward.protocol.tokens import identity_name, unpadded, unsigned_assertion
from streamward.runtime import private_file


class IdentityFileUnusable(StreamwardError):
    """A file that should hold an identity, and holds something else."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"the file {self.path} holds no identity: remove it and sign in again with a one-time code"


class KeyPair:
    """Proves an identity."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self._public = private.public_key().public_bytes_raw()

    @classmethod
    def new(cls) -> "KeyPair":
        """One that nobody has used."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def read(cls, text: str) -> "KeyPair":
        """The one that was written so."""
        return cls(Ed25519PrivateKey.from_private_bytes(base64.urlsafe_b64decode(text + "=")))

    @property
    def written(self) -> str:
        """The private half as text."""
        return unpadded(self._private.private_bytes_raw())

    @property
    def public_key(self) -> str:
        """The public half as a message carries it."""
        return unpadded(self._public)

    @property
    def identity_id(self) -> str:
        """The name of the identity that it proves."""
        return identity_name(self._public)

    def assertion(self, *, now: int, incarnation: str | None = None) -> str:
        """What is shown to be given a token."""
        said = unsigned_assertion(self.identity_id, now=now, incarnation=incarnation)
        return f"{said}.{unpadded(self._private.sign(said.encode()))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredIdentity:
    """An identity as it lies in its file, and where it is known."""

    url: str
    pair: KeyPair
    role: Role | None = None  # None: its code was not redeemed yet

    def save(self, path: Path) -> None:
        """Writes it for its owner only, in the place of what was there."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        private_file.replace(path, self._written())

    def _written(self) -> bytes:
        return json.dumps({"url": self.url, "private_key": self.pair.written, "role": self.role}).encode()

    @classmethod
    def load(cls, path: Path) -> "StoredIdentity":
        """The identity in that file."""
        content = private_file.read(path)
        try:
            said = json.loads(content)
            role = None if said["role"] is None else Role(said["role"])
            return cls(url=said["url"], pair=KeyPair.read(said["private_key"]), role=role)
        except (ValueError, KeyError, TypeError):
            raise IdentityFileUnusable(path) from None
