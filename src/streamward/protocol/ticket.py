"""What a Manager hands to its parent so that it can give the runner's leases back when the Manager is dead."""

from datetime import datetime

from streamward.protocol.fields import ClearText, Id, Message


class AskReleaseToken(Message, frozen=True):
    """Runner, after it registered and now and then: a token good for nothing but ReleaseAll of this incarnation.

    Answered by ReleaseTokenGiven.
    """

    runner_id: Id
    incarnation: Id | None = None


class ReleaseTokenGiven(Message, frozen=True):
    """Control plane: the token, and until when it counts."""

    token: ClearText
    expires_at: datetime


class ReleaseTicket(Message, frozen=True):
    """Manager to its parent, which does not look into it before the Manager is dead (`runner.farewell`)."""

    url: str
    token: ClearText
    runner_id: Id
    incarnation: Id
    ttl_s: float  # of the leases; they run out by themselves later
    ca: str | None = None  # files, if the control plane speaks TLS
    certificate: str | None = None
    key: str | None = None
