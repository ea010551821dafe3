"""One-time codes, identities and the tokens that they are given."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from streamward.model.identity import Identity, Invitation, Role
from streamward.protocol.fields import ClearText, Id, Message

DAY = 86_400
PersonRole = Literal["viewer", "operator", "admin"]

CodeLifetime = Annotated[int, msgspec.Meta(ge=60, le=7 * DAY, description="seconds")]
PublicKey = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{43}$(?!\n)", description="Ed25519, base64url")]


class CreateInvitation(Message, frozen=True):
    """Operator invites a runner, admin anyone; answered by InvitationMade. Those of all tenants name one or none."""

    subject: Id
    role: Role
    tenant_id: Id | None = None
    ttl_s: CodeLifetime = DAY


class InvitationDetails(Message, frozen=True):
    """Control plane: an invitation that was not used yet; its code is told only once, to who made it."""

    invitation_id: str
    subject: str
    role: Role
    tenant_id: str | None
    expires_at: datetime


class InvitationMade(InvitationDetails, frozen=True):
    """Control plane: the code, which makes one identity."""

    code: ClearText


class InvitationPage(Message, frozen=True):
    """Control plane: invitations in the order of their ids; `next_cursor` is null on the last page."""

    items: list[InvitationDetails]
    next_cursor: str | None


class InvitationRemoved(Message, frozen=True):
    """Control plane: the code is worth nothing any more."""

    invitation_id: str


class RedeemCode(Message, frozen=True):
    """Somebody new shows a code and the public half of a key pair; answered by IdentityDetails.

    Sent again with the same key it is answered again, for the answer may have been lost.
    """

    code: ClearText
    public_key: PublicKey


class IdentityDetails(Message, frozen=True):
    """Control plane: whom a key pair proves."""

    identity_id: str
    subject: str
    role: Role
    tenant_id: str | None
    revoked_at: datetime | None
    updated_at: datetime


class IdentityPage(Message, frozen=True):
    """Control plane: identities in the order of their ids; `next_cursor` is null on the last page."""

    items: list[IdentityDetails]
    next_cursor: str | None


class ChangeIdentity(Message, frozen=True):
    """Admin gives a person another role; answered by IdentityDetails. Tokens of before count no more."""

    role: PersonRole | UnsetType = UNSET


class IdentityRevoked(Message, frozen=True):
    """Control plane: no token of this identity counts any more."""

    identity_id: str


class RunnerRevoked(Message, frozen=True):
    """Control plane: no token of this runner counts any more, and its leases run out."""

    runner_id: str


class AskToken(Message, frozen=True):
    """Whoever has an identity signs an `Assertion` with its private key; answered by TokenGiven."""

    assertion: ClearText


class TokenGiven(Message, frozen=True):
    """Control plane: a token, and whose; ask again before it ends."""

    access_token: ClearText
    token_type: Literal["Bearer"]
    expires_in: int
    server_time: datetime
    subject: str
    role: Role
    tenant_id: str | None
    incarnation: str | None


def invitation_details(invitation: Invitation) -> InvitationDetails:
    """An invitation without its code."""
    return InvitationDetails(
        invitation_id=invitation.invitation_id,
        subject=invitation.subject,
        role=invitation.role,
        tenant_id=invitation.tenant_id,
        expires_at=invitation.expires_at,
    )


def identity_details(identity: Identity) -> IdentityDetails:
    """An identity as people see it."""
    return IdentityDetails(
        identity_id=identity.identity_id,
        subject=identity.subject,
        role=identity.role,
        tenant_id=identity.tenant_id,
        revoked_at=identity.revoked_at,
        updated_at=identity.updated_at,
    )
