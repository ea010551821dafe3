"""The keys that sign tokens: Ed25519 keys in a file that only its owner can read.

The first key of the file signs, every one is accepted, under the name that a token gives in its `kid` header: so keys
are changed while tokens of both count. A staged key is accepted and is to sign next. Every control plane over one
database needs the same file; whoever has it can be any runner. It is made at the first start.
"""

import hashlib
import hmac
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from streamward.runtime import private_file
from streamward.runtime.private_file import KeyFileUnusable

# What stands before a block of PEM is a comment to every other reader of such files.
_BLOCK = re.compile(
    r"(?P<notes>(?:(?!-----BEGIN ).*\n)*)(?P<pem>-----BEGIN [^-]+-----\n(?s:.+?)-----END [^-]+-----\n?)"
)
_MADE = re.compile(r"^Made: (\S+)$", re.MULTILINE)
_STAGED = "Staged"


class KeyUse(StrEnum):
    """What a key on the ring is for."""

    SIGNS = "signs"  # new tokens
    STAGED = "staged"  # accepted, and signs once it is activated
    ACCEPTED = "accepted"  # it has signed tokens that may still live


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key and the name that tokens give it."""

    kid: str
    private: Ed25519PrivateKey
    made_at: datetime | None = None  # None: by a version that did not write it down
    is_staged: bool = False

    @classmethod
    def of(
        cls, private: Ed25519PrivateKey, *, made_at: datetime | None = None, is_staged: bool = False
    ) -> "SigningKey":
        """The key under a name made from its public half."""
        kid = hashlib.sha256(private.public_key().public_bytes_raw()).hexdigest()[:16]
        return cls(kid, private, made_at, is_staged)

    def derive(self, purpose: str) -> bytes:
        """A secret for one other purpose, the same in every process that has this key."""
        return hmac.digest(self.private.private_bytes_raw(), f"streamward {purpose}".encode(), "sha256")


class Keys(Protocol):
    """The keys as they are now."""

    @property
    def signing(self) -> SigningKey:
        """The key that signs."""
        ...

    def find(self, kid: object) -> Ed25519PublicKey | None:
        """The key of that name, if its tokens are accepted."""
        ...

    def derive(self, purpose: str) -> list[bytes]:
        """A secret of each accepted key for one other purpose, that of the signing key first."""
        ...


class Keyring:
    """The key that signs, and after it every other key whose tokens are accepted."""

    def __init__(self, signing: SigningKey, *accepted: SigningKey) -> None:
        self.keys = (signing, *accepted)
        self._by_kid = {key.kid: key.private.public_key() for key in self.keys}

    @property
    def signing(self) -> SigningKey:
        return self.keys[0]

    @property
    def staged(self) -> SigningKey | None:
        """The key that is to sign next."""
        return next((key for key in self.keys[1:] if key.is_staged), None)

    def find(self, kid: object) -> Ed25519PublicKey | None:
        return self._by_kid.get(kid) if isinstance(kid, str) else None

    def derive(self, purpose: str) -> list[bytes]:
        return [key.derive(purpose) for key in self.keys]

    def uses(self) -> Iterator[tuple[SigningKey, KeyUse]]:
        """Each key and what it is for."""
        yield self.signing, KeyUse.SIGNS
        for key in self.keys[1:]:
            yield key, KeyUse.STAGED if key is self.staged else KeyUse.ACCEPTED


def new_key(*, made_at: datetime | None = None) -> SigningKey:
    """A key that was never used."""
    return SigningKey.of(Ed25519PrivateKey.generate(), made_at=made_at)


def new_keyring() -> Keyring:
    """A ring with a key that was never used."""
    return Keyring(new_key())


def load_keyring(path: Path) -> Keyring:
    """The ring with the keys in that file."""
    keys = [_key(path, block) for block in _BLOCK.finditer(_text(path))]
    if not keys:
        raise KeyFileUnusable(path, "holds no key in PEM form")
    return Keyring(*keys)


def save_keyring(path: Path, ring: Keyring) -> None:
    """Puts the ring in the place of the one in that file, all at once."""
    private_file.replace(path, _written(ring))


def make_key(path: Path) -> None:
    """Makes the key file if there is none."""
    private_file.make_once(path, _written(Keyring(new_key(made_at=datetime.now(UTC)))))


def _text(path: Path) -> str:
    return private_file.read(path).decode("ascii", errors="replace").replace("\r\n", "\n")


def _key(path: Path, block: re.Match[str]) -> SigningKey:
    try:
        key = load_pem_private_key(block["pem"].encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise KeyFileUnusable(path, "holds no key in PEM form") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileUnusable(path, "holds a key that is not Ed25519")
    return SigningKey.of(key, made_at=_made_at(block["notes"]), is_staged=_STAGED in block["notes"].splitlines())


def _made_at(notes: str) -> datetime | None:
    found = _MADE.search(notes)
    try:
        return None if found is None else datetime.fromisoformat(found[1]).astimezone(UTC)
    except ValueError:
        return None  # only people look at it


def _written(ring: Keyring) -> bytes:
    return b"".join(map(_block, ring.keys))


def _block(key: SigningKey) -> bytes:
    notes = [] if key.made_at is None else [f"Made: {key.made_at.isoformat(timespec='seconds')}"]
    notes += [_STAGED] if key.is_staged else []
    pem = key.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return "".join(f"{note}\n" for note in notes).encode() + pem
