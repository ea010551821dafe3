"""Tokens as an attacker or a careless client would make them."""

import base64
import json
from collections.abc import Callable
from typing import Any

import jwt
import msgspec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.utils import base64url_encode

from streamward.control.keys import Keyring
from streamward.protocol.tokens import AUDIENCE, ISSUER


def claims(now: int, **changed: Any) -> dict[str, Any]:
    """The claims of a good runner token, but for what is changed; None leaves a claim out."""
    good = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "r1",
        "role": "runner",
        "inc": "inc-1",
        "iat": now,
        "exp": now + 600,
    }
    return {name: value for name, value in (good | changed).items() if value is not None}


def signed(keyring: Keyring, payload: dict[str, Any], *, kid: str | None = None) -> str:
    """The claims under the ring's own key."""
    signing = keyring.signing
    headers = {"kid": kid or signing.kid}
    return jwt.encode(payload, signing.private, algorithm="EdDSA", headers=headers)


def unsigned(keyring: Keyring, payload: dict[str, Any]) -> str:
    """The claims under `alg: none`."""
    return jwt.encode(payload, "", algorithm="none", headers={"kid": keyring.signing.kid})


def signed_with_public_key(keyring: Keyring, payload: dict[str, Any]) -> str:
    """The claims under HS256 with the public key as the secret: the classic confusion of algorithms."""
    public = keyring.signing.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head = {"alg": "HS256", "typ": "JWT", "kid": keyring.signing.kid}
    text = b".".join(base64url_encode(msgspec.json.encode(part)) for part in (head, payload))
    # PyJWT refuses to sign with such a key, so the code is made by hand.
    algorithm = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    return (text + b"." + base64url_encode(algorithm.sign(text, public))).decode()


def with_other_payload(token: str, payload: dict[str, Any]) -> str:
    """A good token whose claims were exchanged."""
    head, _, code = token.split(".")
    return ".".join([head, base64.urlsafe_b64encode(msgspec.json.encode(payload)).decode().rstrip("="), code])


def segment(part: object) -> str:
    """A part of a token: bytes and texts as they are, everything else as JSON."""
    if isinstance(part, str):
        part = part.encode()
    return base64url_encode(part if isinstance(part, bytes) else json.dumps(part).encode()).decode()


def joined(head: object, payload: object, *, sign: Callable[[bytes], bytes]) -> str:
    """A token of any head and payload, with whatever `sign` makes of them."""
    text = f"{segment(head)}.{segment(payload)}"
    return f"{text}.{segment(sign(text.encode()))}"


def resigned(token: str, change: Callable[[bytes], bytes]) -> str:
    """A token with another signature in the place of its own."""
    text, _, code = token.rpartition(".")
    return f"{text}.{segment(change(base64.urlsafe_b64decode(code + '==')))}"
