"""Signed models: one file that holds a model, its name and version, a picture to try it on, and a signature.

    NAME.bundle (a zip)    bundle.json ← signature (Ed25519)
                           model, picture ← their SHA-256 in bundle.json

Guaranteed of what `opened` returns: whoever has the private key signed exactly this model under this name and version.
Not guaranteed: that it is the newest one. An older bundle is as well signed as a newer one (see `used`).
"""

import base64
import hashlib
import io
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from streamward.drivers.detectors.refusal import ModelRefused
from streamward.model.errors import StreamwardError
from streamward.protocol import codec
from streamward.protocol.bundles import ModelBundle
from streamward.protocol.tokens import unpadded
from streamward.runtime import private_file

SUFFIX = ".bundle"
DESCRIPTION, SIGNATURE, MODEL, PICTURE = "bundle.json", "signature", "model", "picture"
LARGEST = {DESCRIPTION: 64 << 10, SIGNATURE: 64, MODEL: 512 << 20, PICTURE: 16 << 20}  # bytes
_LARGEST_KEY = 64_000  # bytes
_BROKEN = (KeyError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError)


class SigningKeyUnusable(StreamwardError):
    """A file that holds no Ed25519 key of the half that is needed."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(path, why)
        self.path = path
        self.why = why

    def __str__(self) -> str:
        return f"the key file {self.path} {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedBundle:
    """What a bundle holds."""

    about: ModelBundle
    model: bytes
    picture: bytes | None


def packed(about: ModelBundle, model: bytes, picture: bytes | None, *, key: Ed25519PrivateKey) -> bytes:
    """A bundle; the description's digests are those of what it goes with."""
    described = codec.encode(about)
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as bundle:
        for name, content in ((DESCRIPTION, described), (SIGNATURE, key.sign(described)), (MODEL, model)):
            bundle.writestr(name, content)
        if picture is not None:
            bundle.writestr(PICTURE, picture)
    return written.getvalue()


def opened(content: bytes, *, key: str | None) -> OpenedBundle:
    """What it holds; raises ModelRefused, also if that key did not sign it. Without a key nobody is asked."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as bundle:
            parts = {name: _member(bundle, name) for name in bundle.namelist() if name in LARGEST}
        described, signature, model = parts[DESCRIPTION], parts[SIGNATURE], parts[MODEL]
    except _BROKEN as error:
        raise ModelRefused("it is no bundle, or only a part of one") from error
    if key is not None:
        _check(described, signature, key)
    try:
        about = codec.decode(described, ModelBundle)
    except codec.MalformedMessage as error:
        raise ModelRefused(f"its description cannot be read: {error}") from error
    picture = parts.get(PICTURE) if about.picture is not None else None
    if _digest(model) != about.model or (picture and _digest(picture)) != about.picture:
        raise ModelRefused("it holds something else than what was signed")
    return OpenedBundle(about=about, model=model, picture=picture)


def new_key(path: Path) -> Path:
    """Makes a key pair: the private half in a file of its owner's alone, the public one beside it."""
    public = path.with_name(f"{path.name}.pub")
    if path.exists() or public.exists():
        raise SigningKeyUnusable(path, "is there already")
    key = Ed25519PrivateKey.generate()
    form = serialization.Encoding.PEM
    private_file.make_once(
        path, key.private_bytes(form, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    public.write_bytes(key.public_key().public_bytes(form, serialization.PublicFormat.SubjectPublicKeyInfo))
    return public


def private_key_in(path: Path) -> Ed25519PrivateKey:
    """What signs; raises SigningKeyUnusable and KeyFileUnusable."""
    try:
        key = serialization.load_pem_private_key(private_file.read(path), None)
    except (ValueError, TypeError) as error:
        raise SigningKeyUnusable(path, "holds no private key in PEM form") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SigningKeyUnusable(path, "holds no Ed25519 key")
    return key


def public_key_in(path: Path) -> str:
    """What signatures are checked with, as messages carry it; raises SigningKeyUnusable."""
    try:
        with path.open("rb") as file:
            key = serialization.load_pem_public_key(file.read(_LARGEST_KEY))
    except OSError as error:
        raise SigningKeyUnusable(path, f"cannot be read: {(error.strerror or str(error)).lower()}") from error
    except ValueError as error:
        raise SigningKeyUnusable(path, "holds no public key in PEM form") from error
    if not isinstance(key, Ed25519PublicKey):
        raise SigningKeyUnusable(path, "holds no Ed25519 key")
    return unpadded(key.public_bytes_raw())


def _check(described: bytes, signature: bytes, key: str) -> None:
    try:
        Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(f"{key}=")).verify(signature, described)
    except InvalidSignature as error:
        raise ModelRefused("its signature is not that of the key in STREAMWARD_MODELS_KEY") from error


def _member(bundle: zipfile.ZipFile, name: str) -> bytes:
    with bundle.open(name) as file:
        content = file.read(LARGEST[name] + 1)
    if len(content) > LARGEST[name]:
        raise ValueError(name)
    return content


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
