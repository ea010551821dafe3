"""A reader of a RabbitMQ queue, on a connection of its own that is made again when it is lost.

The broker pushes up to `prefetch` messages ahead. When the connection goes, everything in hand goes back to the queue:
acknowledging it afterwards says nothing, and it comes again.
"""

import asyncio
import contextlib
import errno
from collections import deque
from collections.abc import Awaitable, Iterable, Sequence
from itertools import islice

from aio_pika.abc import AbstractChannel
from aiormq.abc import DeliveredMessage
from aiormq.exceptions import ChannelClosed

from streamward.drivers.amqp.line import GONE, Broker, Line, why
from streamward.drivers.amqp.wire import from_amqp
from streamward.model.bus import Delivery, QueueRefused


class AmqpConsumer:
    """Subscribes when the first message is wanted."""

    def __init__(self, broker: Broker, queue: str, *, prefetch: int) -> None:
        self._queue = queue
        self._prefetch = prefetch
        self._line = Line(broker, self._subscribe)
        self._tags = 0
        self._in_hand: dict[int, DeliveredMessage] = {}  # by our tag, in the order in which they came

    async def take(self, *, at_most: int, within: float, gather: float = 0.0) -> list[Delivery]:
        """What waits, oldest first; raises BusAway, QueueRefused."""
        link = await self._line.linked()
        arrived = link.furniture
        await arrived.wait(at_most, gather)
        await arrived.wait(1, within)
        if arrived.is_over:  # what came and was not taken goes back with the rest
            raise await self._line.lost(link, ConnectionResetError(errno.ECONNRESET, ""))
        return [self._deliver(arrived.messages.popleft()) for _ in range(min(at_most, len(arrived.messages)))]

    async def ack(self, deliveries: Sequence[Delivery]) -> None:
        """They never come again; raises BusAway."""
        tags = [each.tag for each in deliveries if each.tag in self._in_hand]
        if tags and set(tags) == set(islice(self._in_hand, len(tags))):  # the oldest in hand: one word for all
            await self._tell([_ack(self._in_hand[max(tags)], multiple=True)])
        else:
            await self._tell(_ack(self._in_hand[tag]) for tag in tags)
        self._forget(tags)

    async def give_back(self, deliveries: Sequence[Delivery], *, requeue: bool) -> None:
        """They come again, or are thrown away; raises BusAway."""
        tags = [each.tag for each in deliveries if each.tag in self._in_hand]
        await self._tell(_nack(self._in_hand[tag], requeue=requeue) for tag in tags)
        self._forget(tags)

    async def close(self) -> None:
        """Gives back what was not acknowledged."""
        self._in_hand.clear()
        await self._line.close()

    async def _subscribe(self, channel: AbstractChannel) -> "_Arrived":
        self._in_hand.clear()
        arrived = _Arrived()
        try:
            await channel.set_qos(prefetch_count=self._prefetch)
            underlay = await channel.get_underlay_channel()
            channel.close_callbacks.add(arrived.end)
            underlay.on_consumer_cancel_callbacks.add(arrived.end)  # the queue was removed
            # Past the library's own messages: making one of each that comes takes as long as reading it.
            await underlay.basic_consume(self._queue, arrived.add)
        except ChannelClosed as err:
            raise QueueRefused(self._queue, why(err)) from None
        return arrived

    async def _tell(self, words: Iterable[Awaitable[None]]) -> None:
        link = await self._line.linked()
        try:
            async with asyncio.timeout(self._line.patience.confirm):
                for word in words:
                    await word
        except GONE as err:
            raise await self._line.lost(link, err) from None

    def _deliver(self, message: DeliveredMessage) -> Delivery:
        self._tags += 1
        self._in_hand[self._tags] = message
        return Delivery(from_amqp(message), is_redelivered=bool(message.redelivered), tag=self._tags)

    def _forget(self, tags: Iterable[int]) -> None:
        for tag in tags:
            self._in_hand.pop(tag, None)


async def _ack(message: DeliveredMessage, *, multiple: bool = False) -> None:
    await message.channel.basic_ack(message.delivery_tag or 0, multiple=multiple)


async def _nack(message: DeliveredMessage, *, requeue: bool) -> None:
    await message.channel.basic_nack(message.delivery_tag or 0, requeue=requeue)


class _Arrived:
    """What a subscription brought, until it ended."""

    def __init__(self) -> None:
        self.messages: deque[DeliveredMessage] = deque()
        self.is_over = False
        self._wanted = 1
        self._changed = asyncio.Event()

    async def add(self, message: DeliveredMessage) -> None:
        self.messages.append(message)
        if len(self.messages) >= self._wanted:
            self._changed.set()

    def end(self, *_: object) -> None:
        self.is_over = True
        self._changed.set()

    async def wait(self, count: int, within: float) -> None:
        """Waits until there are so many messages, or the end, or so many seconds are over."""
        if len(self.messages) < count and within > 0 and not self.is_over:
            self._wanted = count
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(within):
                    await self._changed.wait()
