"""A message as it travels over the event bus, whichever that is: body, address, properties, CloudEvents attributes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from streamward.model.topic import Topic

MOST_BYTES = 256 * 1024  # of a body (S0-044); what is longer lies elsewhere, and a pointer is published
_LONGEST_NAME = 255  # bytes: AMQP's short strings


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message; whoever gets it twice knows it by its `message_id`."""

    exchange: str  # a durable topic exchange, made by whoever names it first
    routing_key: str
    message_id: str
    kind: str  # AMQP's `type`
    at: datetime  # with a zone; brokers keep whole seconds, the CloudEvents attribute keeps all of it
    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    expires_in: float | None = (
        None  # seconds in a queue after which nobody gets it any more; brokers count milliseconds
    )
    is_mandatory: bool = False  # refused if no queue wants it
    is_persistent: bool = True  # outlives a restart of the broker


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What happened, before it is addressed."""

    event_id: str
    source: str  # who says so, as a path: `/control`
    at: datetime
    body: bytes  # JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an event is published."""

    exchange: str
    routing_key: str


def of_event(event: Event, *, exchange: str, routing_key: str) -> Message:
    """The message that tells of an event about a camera."""
    topic = Topic.read(routing_key)
    return addressed(event, Place(exchange=exchange, routing_key=routing_key), kind=topic.kind, subject=topic.subject)


def addressed(event: Event, place: Place, *, kind: str, subject: str) -> Message:
    """The message that tells of an event about anything."""
    return Message(
        exchange=place.exchange,
        routing_key=place.routing_key,
        message_id=event.event_id,
        kind=kind,
        at=event.at,
        body=event.body,
        headers={f"cloudEvents_{name}": value for name, value in attributes(event, kind, subject).items()},
    )


def attributes(event: Event, kind: str, subject: str) -> dict[str, str]:
    """CloudEvents 1.0; in its AMQP form `_` is the separator that every client's selectors can name."""
    return {
        "specversion": "1.0",
        "id": event.event_id,
        "source": event.source,
        "type": kind,
        "subject": subject,
        "time": event.at.isoformat().replace("+00:00", "Z"),
    }


def unfit(message: Message, *, most_bytes: int = MOST_BYTES) -> str | None:
    """Why no bus takes it, now or ever; None: it can be published."""
    names = (message.exchange, message.routing_key, message.message_id, message.kind, *message.headers)
    if any(len(name.encode()) > _LONGEST_NAME for name in names):
        return f"a name in it is longer than {_LONGEST_NAME} bytes"
    if not (message.exchange and message.message_id):
        return "it has no exchange or no id"
    if len(message.body) > most_bytes:
        return f"its body is longer than {most_bytes} bytes"
    if message.expires_in is not None and message.expires_in < 0.001:
        return "it expires before anybody can get it"
    return None
