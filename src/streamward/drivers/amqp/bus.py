"""The event bus on RabbitMQ: publishes with confirms, declares, and hands out consumers with connections of their own.

Guaranteed: an answer within the seconds of `Patience`, whatever the broker and the network do; no user and no password
in any error. Not guaranteed: that a message without an answer did not arrive. Who sends it again sends the same
`message_id`, by which consumers know it.

Consumers do not share the publisher's connection: a broker short of disk or memory stops reading from those who
publish, and their acknowledgements would stand in the same line.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractExchange
from aiormq.exceptions import ChannelClosed, DeliveryError, PublishError

from streamward.drivers.amqp.consumer import AmqpConsumer
from streamward.drivers.amqp.line import GONE, Broker, Line, why
from streamward.drivers.amqp.wire import limits, to_amqp
from streamward.model.bus import Published, Queue, QueueRefused, Refused
from streamward.model.message import Message, unfit

RESTORE_EVERY = 1.0  # seconds
_RETURNED = Refused("no queue wants it")

T = TypeVar("T")


class AmqpBus:
    """One process's way to a broker; connects when there is something to do."""

    def __init__(self, broker: Broker, *, needed: Sequence[Queue] = ()) -> None:
        """Queues that are `needed` are declared again when one of their messages is returned after others arrived."""
        self._broker = broker
        self._line = Line(broker, _furnish)
        self._needed = needed
        self._reached: set[str] = set()  # exchanges at which a message was accepted
        self._restored_at = float("-inf")  # boot-time

    async def publish(self, message: Message) -> Published | Refused:
        """Sends one message and waits for the broker's word; raises BusAway.

        An exchange or a binding that was deleted at the broker is declared again, and the message sent once more.
        """
        if (reason := unfit(message)) is not None:
            return Refused(reason)
        answer = await self._publish(message)
        if answer == _RETURNED and await self._restore(message.exchange):
            answer = await self._publish(message)
        if answer == Published() and message.is_mandatory:
            self._reached.add(message.exchange)
        return answer

    async def _publish(self, message: Message) -> Published | Refused:
        link = await self._line.linked()
        try:
            async with asyncio.timeout(self._line.patience.confirm):
                exchange = await link.furniture.named(message.exchange)
                await exchange.publish(to_amqp(message), message.routing_key, mandatory=message.is_mandatory)
        except PublishError:
            return _RETURNED
        except DeliveryError:
            return Refused("not confirmed")
        except ValueError:
            return Refused("no AMQP message can be made of it")
        except ChannelClosed as err:  # the broker's way to refuse for good; whatever else was under way goes with it
            await self._line.let_go(link)
            return Refused(why(err))
        except GONE as err:
            raise await self._line.lost(link, err) from None  # what the library says may name the URL
        return Published()

    async def declare(self, queue: Queue) -> None:
        """Makes the queue if it is not there, and adds its bindings; raises QueueRefused, BusAway."""
        await self._aside(queue.name, partial(_declare, queue=queue))

    async def waiting(self, queue: str) -> int:
        """How many nobody has in hand; raises QueueRefused, BusAway."""
        return await self._aside(queue, partial(_waiting, queue=queue))

    def consume(self, queue: str, *, prefetch: int) -> AmqpConsumer:
        """A reader of a queue, with at most so many messages in hand."""
        return AmqpConsumer(self._broker, queue, prefetch=prefetch)

    async def reach(self) -> None:
        """Connects, if that has not happened yet; raises BusAway."""
        await self._line.linked()

    async def close(self) -> None:
        """Ends the publisher's connection, not the consumers'; a later publish makes a new one."""
        await self._line.close()

    async def _restore(self, exchange: str) -> bool:
        """Declares the needed queues of an exchange, at most once a second; returns whether that was done.

        Where nothing ever arrived the queues were never there, and this may be the wrong broker.
        """
        now = self._broker.clock.boot()
        queues = [each for each in self._needed if any(binding.exchange == exchange for binding in each.bindings)]
        if exchange not in self._reached or not queues or now - self._restored_at < RESTORE_EVERY:
            return False
        self._restored_at = now
        try:
            for queue in queues:
                await self.declare(queue)
        except QueueRefused:  # who publishes may not have the right: the control plane declares them too
            return False
        return True

    async def _aside(self, queue: str, ask: Callable[[AbstractChannel], Awaitable[T]]) -> T:
        """Asks about a queue on a channel of its own, which a broker closes when it says no."""
        link = await self._line.linked()
        try:
            async with asyncio.timeout(self._line.patience.confirm), link.connection.channel() as channel:
                return await ask(channel)
        except ChannelClosed as err:
            raise QueueRefused(queue, why(err)) from None
        except GONE as err:
            raise await self._line.lost(link, err) from None


class _Exchanges:
    """The exchanges of a channel that are known to be there."""

    def __init__(self, channel: AbstractChannel) -> None:
        self._channel = channel
        self._declaring = asyncio.Lock()
        self._known: dict[str, AbstractExchange] = {}

    async def named(self, name: str) -> AbstractExchange:
        """The durable topic exchange of that name, made if it is not there."""
        async with self._declaring:
            if name not in self._known:
                self._known[name] = await _exchange(self._channel, name)
            return self._known[name]


async def _furnish(channel: AbstractChannel) -> _Exchanges:
    return _Exchanges(channel)


async def _exchange(channel: AbstractChannel, name: str) -> AbstractExchange:
    return await channel.declare_exchange(name, aio_pika.ExchangeType.TOPIC, durable=True)


async def _declare(channel: AbstractChannel, queue: Queue) -> None:
    made = await channel.declare_queue(queue.name, durable=True, arguments=limits(queue))
    for binding in queue.bindings:
        await made.bind(await _exchange(channel, binding.exchange), binding.pattern)


async def _waiting(channel: AbstractChannel, queue: str) -> int:
    found = await channel.declare_queue(queue, passive=True)
    return found.declaration_result.message_count or 0
