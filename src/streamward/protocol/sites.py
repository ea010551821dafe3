"""Dial budgets on the wire (S0-033, S0-034)."""

from datetime import datetime

from streamward.protocol.fields import Id, Message, Version


class NamedDial(Message, frozen=True):
    """Runner is about to make a first connection, or has made it; with camera and version a retry costs nothing.

    An empty body names no camera: each such call takes a token of its own.
    """

    camera_uuid: Id | None = None
    version: Version | None = None

    def __post_init__(self) -> None:
        if (self.camera_uuid is None) != (self.version is None):
            raise ValueError("camera_uuid and version go together")


class DialToken(Message, frozen=True):
    """Control plane: go; so many tokens are left."""

    site_id: str
    tokens: float
    reserve: float


class DialFinished(Message, frozen=True):
    """Control plane: the dial no longer counts as in flight; false if it had ended, or was not known."""

    site_id: str
    finished: bool


class SiteBudget(Message, frozen=True):
    """Control plane: a site's budget now; `refill_rate` is in tokens per minute."""

    site_id: str
    tokens: float
    capacity: int
    refill_rate: float
    reserve: float
    reserve_size: int
    in_flight: int
    updated_at: datetime
