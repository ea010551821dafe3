"""The keys that sign tokens: an Ed25519 key in a file that only its owner can read.

Every control plane over one database needs the same key file; whoever has it can be any runner. It is made at the
first start. A key is named in a token's `kid` header, so a ring may hold several while they are being changed.
"""

import hashlib
import hmac
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

from streamward.control import private_file
from streamward.control.private_file import KeyFileUnusable


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
    """Makes the key file if there is none."""
    private_file.make_once(
        path, Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )


def _read(path: Path) -> Ed25519PrivateKey:
    pem = private_file.read(path)
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise KeyFileUnusable(path, "holds no key in PEM form") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileUnusable(path, "holds a key that is not Ed25519")
    return key
