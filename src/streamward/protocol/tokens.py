"""What a token says: the claims of a bearer JWT between the host that mints it and every control plane."""

import base64
import hashlib
from typing import Literal

import msgspec

from streamward.model.identity import Role
from streamward.protocol.fields import Id, Message

ALGORITHM: Literal["EdDSA"] = "EdDSA"  # Ed25519; no other is accepted
ISSUER = "streamward"
AUDIENCE = "streamward-control"
ASSERTED_TO = "streamward-tokens"  # the audience of an assertion


class Head(Message, frozen=True):
    """The header, exactly: whatever else RFC 7515 knows to put there (keys, places of keys, extensions) is refused."""

    alg: Literal["EdDSA"]
    typ: Literal["JWT"]
    kid: Id  # which of our keys signed


class Claims(Message, frozen=True, omit_defaults=True):
    """The payload; instants are seconds since 1970, as JWT wants them."""

    iss: str
    aud: str
    sub: Id  # the runner_id, or the operator's name
    role: Role
    iat: int
    exp: int
    nbf: int | None = None
    inc: Id | None = None  # a runner's incarnation
    tenant: Id | None = None  # none: every tenant
    idn: Id | None = None  # the identity that it was given to; none: it was minted on the control host
    rev: int = 0  # the revision of that identity
    only: Literal["release-all"] | None = None  # a runner's, good for that call and no other


class Assertion(Message, frozen=True, omit_defaults=True):
    """What somebody signs with the key of an identity, which is named in the header, to be given a token."""

    aud: str
    sub: Id  # the identity
    iat: int
    inc: Id | None = None  # a runner's incarnation


def identity_name(public_key: bytes) -> str:
    """How an identity is called: by its key, so that its bearer knows its name before anyone else."""
    return hashlib.sha256(public_key).hexdigest()[:32]


def unsigned_assertion(identity_id: str, *, now: int, incarnation: str | None = None) -> str:
    """An assertion up to its signature."""
    head = Head(alg=ALGORITHM, typ="JWT", kid=identity_id)
    said = Assertion(aud=ASSERTED_TO, sub=identity_id, iat=now, inc=incarnation)
    return ".".join(unpadded(msgspec.json.encode(part)) for part in (head, said))


def unpadded(content: bytes) -> str:
    """Bytes as JWT writes them."""
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
