"""Who is calling, what they may do, and how they prove it.

People and runners prove themselves alike: each makes a key pair and redeems a one-time code for an identity that holds
the public half. Short-lived tokens are given to whoever signs with the private half.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from streamward.model.ids import Incarnation, TenantId

CLOCKS_APART = 60.0  # seconds by which the clock of a host that signs may differ from the control plane's


class Role(StrEnum):
    """What a caller is."""

    RUNNER = "runner"
    VIEWER = "viewer"  # sees
    OPERATOR = "operator"  # and changes cameras, sites and runners
    ADMIN = "admin"  # and people and tenants

    def covers(self, wanted: "Role") -> bool:
        """Whether whoever is this may do what that may; runners and people have nothing in common."""
        if Role.RUNNER in (self, wanted):
            return self is wanted
        return _RANK.index(self) >= _RANK.index(wanted)


_RANK = (Role.VIEWER, Role.OPERATOR, Role.ADMIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The bearer of a valid token."""

    subject: str
    role: Role
    tenant_id: TenantId | None = None  # None: every tenant
    incarnation: Incarnation | None = None  # runners only
    only_releases: bool = False  # a runner's parent: may end that incarnation, and nothing else


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who makes a change, and from where."""

    subject: str
    role: str
    tenant_id: TenantId | None
    address: str  # of the client, as the socket tells it
    request_id: str


SYSTEM = Author(subject="streamward", role="system", tenant_id=None, address="-", request_id="-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """A one-time code that makes somebody known; only its hash is kept."""

    invitation_id: str
    code_hash: str
    subject: str
    role: Role
    tenant_id: TenantId | None
    expires_at: datetime
    used_at: datetime | None = None
    updated_at: datetime
    revision: int = 0  # set by the store: rises with each change


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A key pair's public half, and whom it proves."""

    identity_id: str
    subject: str
    role: Role
    tenant_id: TenantId | None
    public_key: str  # Ed25519, base64
    revoked_at: datetime | None = None
    updated_at: datetime
    revision: int = 0  # set by the store: a token made before it rose counts no more

    @property
    def is_live(self) -> bool:
        """Whether tokens are given for it."""
        return self.revoked_at is None
