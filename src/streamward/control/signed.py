"""Signed JSON (JWS, EdDSA) read in one way or none: whatever RFC 7515 lets somebody write differently is refused.

A second spelling of a good token would be another token to whoever remembers or revokes one.
"""

import base64
import binascii
import re
from collections.abc import Callable

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from streamward.model.errors import StreamwardError
from streamward.protocol import codec
from streamward.protocol.tokens import ALGORITHM, Head

LONGEST = 4096  # characters

# base64 without padding or anything between, and one spelling only of the 64 bytes of a signature.
_FORM = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{85}[AQgw]")


class NotSigned(StreamwardError):
    """A text that none of the keys signed, or that is written in another way than ours."""


def key_name(text: str) -> str:
    """Which key a text says that signed it; nothing is proven yet."""
    if len(text) > LONGEST or not _FORM.fullmatch(text):
        raise NotSigned
    head, _, _ = text.partition(".")
    try:
        return codec.decode(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)), Head).kid
    except (binascii.Error, codec.MalformedMessage):
        raise NotSigned from None


def payload(text: str, find: Callable[[str], Ed25519PublicKey | None]) -> bytes:
    """What the text says, proven by the key that it names."""
    key = find(key_name(text))
    if key is None:
        raise NotSigned
    try:
        signed: bytes = jwt.PyJWS().decode(text, key, algorithms=[ALGORITHM])
    except jwt.InvalidTokenError:
        raise NotSigned from None
    return signed
