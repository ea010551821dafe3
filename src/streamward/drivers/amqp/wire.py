"""Our messages in the library's form, and back."""

from datetime import UTC, datetime
from typing import Any

import aio_pika
from aiormq.abc import DeliveredMessage

from streamward.model.bus import Queue
from streamward.model.message import Message

_NO_TIME = datetime.fromtimestamp(0, UTC)


def to_amqp(message: Message) -> aio_pika.Message:
    """As it is sent."""
    return aio_pika.Message(
        message.body,
        message_id=message.message_id,
        type=message.kind,
        timestamp=message.at,
        expiration=message.expires_in,
        content_type=message.content_type,
        delivery_mode=aio_pika.DeliveryMode.PERSISTENT
        if message.is_persistent
        else aio_pika.DeliveryMode.NOT_PERSISTENT,
        headers=dict(message.headers),
    )


def from_amqp(message: DeliveredMessage) -> Message:
    """As it came; what other publishers left out is empty."""
    said = message.header.properties
    return Message(
        exchange=message.exchange or "",
        routing_key=message.routing_key or "",
        message_id=said.message_id or "",
        kind=said.message_type or "",
        at=said.timestamp or _NO_TIME,
        body=message.body,
        content_type=said.content_type or "",
        headers={name: str(value) for name, value in (said.headers or {}).items()},
        expires_in=None if not said.expiration else float(said.expiration) / 1000,
        is_persistent=said.delivery_mode == aio_pika.DeliveryMode.PERSISTENT,
    )


def limits(queue: Queue) -> dict[str, Any]:
    """A queue's limits as RabbitMQ's arguments."""
    found: dict[str, Any] = {}
    if queue.message_ttl is not None:
        found["x-message-ttl"] = int(queue.message_ttl * 1000)
    if queue.most is not None:
        found |= {"x-max-length": queue.most, "x-overflow": queue.overflow.value}
    return found
