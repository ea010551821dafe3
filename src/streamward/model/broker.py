"""What is asked of a message broker, and how a routing key reads.

    camera.created.<tenant>.<site>.<camera>        kind `camera.created`, subject `<tenant>/<site>/<camera>`

A broker that does not answer is an error: nobody can go on. A broker that does not want one message is an answer.
"""

from dataclasses import dataclass
from typing import Protocol, Self

from streamward.model.announcement import Announcement
from streamward.model.errors import StreamwardError


class BrokerAway(StreamwardError):
    """The broker does not answer, or lets nobody in; what was sent to it may or may not have arrived."""

    def __init__(self, broker: str, why: str, *, retry_in: float) -> None:
        super().__init__(broker, why)
        self.broker = broker  # host and port; never a user or a password
        self.why = why
        self.retry_in = retry_in  # seconds until it is worth another try

    def __str__(self) -> str:
        return f"the broker {self.broker} cannot be used: {self.why}"


@dataclass(frozen=True, slots=True)
class Published:
    """The broker has it, and keeps it for every queue that wants it."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The broker did not take this one."""

    why: str


class Publisher(Protocol):
    """The way to a broker."""

    async def publish(self, announcement: Announcement) -> Published | Refused:
        """Sends one message and waits for the broker's word; raises BrokerAway."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """What a routing key says: a kind of message, and whom it is about."""

    kind: str
    tenant: str
    site: str
    camera: str

    @classmethod
    def read(cls, routing_key: str) -> Self:
        """Every key of S0 ends in tenant, site and camera; ids have no dots."""
        kind, tenant, site, camera = routing_key.rsplit(".", maxsplit=3)
        return cls(kind=kind, tenant=tenant, site=site, camera=camera)

    @property
    def subject(self) -> str:
        return f"{self.tenant}/{self.site}/{self.camera}"
