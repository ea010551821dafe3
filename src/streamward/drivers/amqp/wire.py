"""Our messages in the library's form, and back."""

from datetime import UTC, datetime
from typing import Any

import aio_pika
from aio_pika.abc import AbstractIncomingMessage

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


def from_amqp(message: AbstractIncomingMessage) -> Message:
    """As it came; what other publishers left out is empty."""
    return Message(
        exchange=message.exchange or "",
        routing_key=message.routing_key or "",
        message_id=message.message_id or "",
        kind=message.type or "",
        at=message.timestamp or _NO_TIME,
        body=message.body,
        content_type=message.content_type or "",
        headers={name: str(value) for name, value in message.headers.items()},
        expires_in=None if message.expiration is None else float(message.expiration),  # type: ignore[arg-type]
        is_persistent=message.delivery_mode is aio_pika.DeliveryMode.PERSISTENT,
    )


def limits(queue: Queue) -> dict[str, Any]:
    """A queue's limits as RabbitMQ's arguments."""
    found: dict[str, Any] = {}
    if queue.message_ttl is not None:
        found["x-message-ttl"] = int(queue.message_ttl * 1000)
    if queue.most is not None:
        found |= {"x-max-length": queue.most, "x-overflow": queue.overflow.value}
    return found
