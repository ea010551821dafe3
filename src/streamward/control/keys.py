"""The keys that sign tokens: an Ed25519 key in a file that only its owner can read.

Every control plane over one database needs the same key file; whoever has it can be any runner. It is made at the
first start. A key is named in a token's `kid` header, so a ring may hold several while they are being changed.
"""

import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from streamward.model.errors import StreamwardError


class KeyFileUnusable(StreamwardError):
    """The key file is readable by others, or holds no Ed25519 key."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(path, why)
        self.path = path
        self.why = why

    def __str__(self) -> str:
        return f"the key file {self.path} {self.why}"


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key and the name that tokens give it."""

    kid: str
    private: Ed25519PrivateKey

    @classmethod
    def of(cls, private: Ed25519PrivateKey) -> "SigningKey":
        """The key under a name made from its public half."""
        return cls(hashlib.sha256(private.public_key().public_bytes_raw()).hexdigest()[:16], private)

    def derive(self, purpose: str) -> bytes:
        """A secret for one other purpose, the same in every process that has this key."""
        return hmac.digest(self.private.private_bytes_raw(), f"streamward {purpose}".encode(), "sha256")


class Keyring:
    """The key that signs, and every key whose tokens are accepted."""

    def __init__(self, signing: SigningKey, accepted: Mapping[str, Ed25519PublicKey] | None = None) -> None:
        self.signing = signing
        self._by_kid = {**(accepted or {}), signing.kid: signing.private.public_key()}

    def find(self, kid: object) -> Ed25519PublicKey | None:
        """The key of that name, if its tokens are accepted."""
        return self._by_kid.get(kid) if isinstance(kid, str) else None


def new_keyring() -> Keyring:
    """A ring with a key that was never used."""
    return Keyring(SigningKey.of(Ed25519PrivateKey.generate()))


def load_keyring(path: Path) -> Keyring:
    """The ring with the key in that file."""
    return Keyring(SigningKey.of(_read(path)))


def make_key(path: Path) -> None:
    """Makes the key file if there is none.

    It is written whole under another name first: two processes that start together end up with one key.
    """
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(fresh)
    except FileExistsError:
        pass  # the other process was first: its key counts
    finally:
        fresh.unlink(missing_ok=True)


def _read(path: Path) -> Ed25519PrivateKey:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise KeyFileUnusable(
            path, "is not there: run `streamward control` once, or set STREAMWARD_DATA to its data folder"
        ) from None
    with file:
        if os.fstat(file.fileno()).st_mode & 0o077:
            raise KeyFileUnusable(path, "can be read by others: make it 0600, or delete it for a new key")
        pem = file.read(64_000)
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise KeyFileUnusable(path, "holds no key in PEM form") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileUnusable(path, "holds a key that is not Ed25519")
    return key
