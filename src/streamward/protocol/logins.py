"""Who may log in at cameras now, on the wire (DESIGN 8).

A login is a digest of host, port, user and password. Messages have it only on connections that also deliver the
password itself; the control plane stores a digest of it under a key that is not in the database.
"""

from typing import Annotated

import msgspec

from streamward.leases.logins import LoginOutcome, Permission
from streamward.protocol.fields import Id, Message

MAX_LOGINS = 200  # in one list of one message

LoginDigest = Annotated[
    str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$(?!\n)", description="SHA-256 of host, port, user and password")
]


class NamedLogin(Message, frozen=True):
    """A login that a runner is about to try for a camera that it holds."""

    camera_uuid: Id
    login: LoginDigest


class ToldLogin(NamedLogin, frozen=True):
    """How a login ended; a first challenge and a stale nonce are no refusal."""

    outcome: LoginOutcome


class AskLogins(Message, frozen=True):
    """Runner tells how logins ended and asks for the next ones, in this order; answered by LoginAnswers."""

    runner_id: Id
    told: Annotated[list[ToldLogin], msgspec.Meta(max_length=MAX_LOGINS)] = msgspec.field(default_factory=list)
    asks: Annotated[list[NamedLogin], msgspec.Meta(max_length=MAX_LOGINS)] = msgspec.field(default_factory=list)
    incarnation: Id | None = None


class AnsweredLogin(Message, frozen=True):
    """What a runner may do now: go, wait for somebody who is finding out, or leave it for `retry_in_ms`."""

    camera_uuid: str
    login: str
    permission: Permission
    retry_in_ms: int


class LoginAnswers(Message, frozen=True):
    """Control plane: one answer for each ask, but for cameras that the runner does not hold."""

    items: list[AnsweredLogin]


class LoginRetried(Message, frozen=True):
    """Control plane: whether the camera's login was parked; if so, a runner tries it once more within seconds."""

    camera_uuid: str
    was_parked: bool
