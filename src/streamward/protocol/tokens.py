"""What a token says: the claims of a bearer JWT between the host that mints it and every control plane."""

from typing import Literal

from streamward.model.identity import Role
from streamward.protocol.fields import Id, Message

ALGORITHM = "EdDSA"  # Ed25519; no other is accepted
ISSUER = "streamward"
AUDIENCE = "streamward-control"


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
