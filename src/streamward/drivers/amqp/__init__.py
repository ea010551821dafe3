"""RabbitMQ: the event bus over AMQP 0-9-1."""

from streamward.drivers.amqp.bus import AmqpBus
from streamward.drivers.amqp.line import PATIENCE, Broker, Patience

__all__ = ["PATIENCE", "AmqpBus", "Broker", "Patience"]
