"""The event bus in memory: the twin of the embedded and the real one, for services on virtual time.

Keeps what the port promises as long as the process lives; several `MemoryBus` on one `MemoryQueues` are as many
processes on one broker.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from streamward.model.bus import Binding, Delivery, Overflow, Published, Queue, QueueRefused, Refused
from streamward.model.message import Message, unfit
from streamward.model.topic import matches
from streamward.runtime.clock import Clock


@dataclass(slots=True)
class _Entry:
    message: Message
    expires_at: float | None  # boot-time
    was_delivered: bool = False


@dataclass(slots=True)
class _Kept:
    """A queue and what waits in it, by the order of publishing."""

    queue: Queue
    bindings: set[Binding] = field(default_factory=set)
    ready: dict[int, _Entry] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def wants(self, message: Message) -> bool:
        return any(
            binding.exchange == message.exchange and matches(binding.pattern, message.routing_key)
            for binding in self.bindings
        )

    def expire(self, now: float) -> None:
        gone = [
            place for place, entry in self.ready.items() if entry.expires_at is not None and entry.expires_at <= now
        ]
        for place in gone:
            del self.ready[place]

    def put(self, place: int, entry: _Entry) -> None:
        """In its place in the order; wakes whoever waits."""
        self.ready[place] = entry
        if place != max(self.ready):
            self.ready = dict(sorted(self.ready.items()))
        self.changed.set()
        self.changed = asyncio.Event()


class MemoryQueues:
    """What outlives every process that uses it."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.by_name: dict[str, _Kept] = {}
        self.published = 0

    def named(self, queue: str) -> _Kept:
        """The queue of that name; raises QueueRefused."""
        if queue not in self.by_name:
            raise QueueRefused(queue, "there is none")
        return self.by_name[queue]


class MemoryBus:
    """One process's way to the queues."""

    def __init__(self, queues: MemoryQueues) -> None:
        self._queues = queues

    async def publish(self, message: Message) -> Published | Refused:
        """Puts it into every queue that wants it."""
        if (reason := unfit(message)) is not None:
            return Refused(reason)
        wanting = [kept for kept in self._queues.by_name.values() if kept.wants(message)]
        if message.is_mandatory and not wanting:
            return Refused("no queue wants it")
        self._queues.published += 1
        taken = [self._enter(kept, message) for kept in wanting]
        return Published() if all(taken) else Refused("not confirmed")

    async def declare(self, queue: Queue) -> None:
        """Makes the queue if it is not there, and adds its bindings."""
        kept = self._queues.by_name.setdefault(queue.name, _Kept(queue))
        there, wanted = kept.queue, queue
        if (there.message_ttl, there.most, there.overflow) != (wanted.message_ttl, wanted.most, wanted.overflow):
            raise QueueRefused(queue.name, "it is there with other limits")
        kept.bindings.update(queue.bindings)

    async def waiting(self, queue: str) -> int:
        """How many nobody has in hand; raises QueueRefused."""
        kept = self._queues.named(queue)
        kept.expire(self._queues.clock.boot())
        return len(kept.ready)

    def consume(self, queue: str, *, prefetch: int) -> "MemoryConsumer":
        """A reader of a queue, with at most so many messages in hand."""
        return MemoryConsumer(self._queues, queue, prefetch=prefetch)

    async def close(self) -> None:
        """Consumers are closed for themselves."""

    def _enter(self, kept: _Kept, message: Message) -> bool:
        now, limits = self._queues.clock.boot(), kept.queue
        kept.expire(now)
        is_full = limits.most is not None and len(kept.ready) >= limits.most
        if is_full and limits.overflow is Overflow.REJECT_PUBLISH:
            return False
        lives = [each for each in (limits.message_ttl, message.expires_in) if each is not None]
        kept.put(
            self._queues.published, _Entry(replace(message, is_mandatory=False), now + min(lives) if lives else None)
        )
        if is_full:
            del kept.ready[min(kept.ready)]
        return True


class MemoryConsumer:
    """Has what it took until it says what became of it."""

    def __init__(self, queues: MemoryQueues, queue: str, *, prefetch: int) -> None:
        self._queues = queues
        self._queue = queue
        self._prefetch = prefetch
        self._in_hand: dict[int, _Entry] = {}

    async def take(self, *, at_most: int, within: float, gather: float = 0.0) -> list[Delivery]:
        """What waits, oldest first."""
        await self._wait(at_most, within=gather)
        await self._wait(1, within=within)
        return self._claim(at_most)

    async def ack(self, deliveries: Sequence[Delivery]) -> None:
        """They never come again."""
        for each in deliveries:
            self._in_hand.pop(each.tag, None)

    async def give_back(self, deliveries: Sequence[Delivery], *, requeue: bool) -> None:
        """They come again, or are thrown away."""
        for each in deliveries:
            entry = self._in_hand.pop(each.tag, None)
            if entry is not None and requeue:
                self._kept().put(each.tag, entry)

    async def close(self) -> None:
        """Gives back what was not acknowledged."""
        while self._in_hand:
            self._kept().put(*self._in_hand.popitem())

    def _kept(self) -> _Kept:
        return self._queues.named(self._queue)

    async def _wait(self, count: int, *, within: float) -> None:
        """Waits until so many could be taken, or so many seconds are over."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                while len(self._free()) < count:
                    await self._kept().changed.wait()

    def _free(self) -> list[int]:
        """The places of what could be taken now."""
        kept = self._kept()
        kept.expire(self._queues.clock.boot())
        return list(kept.ready)[: max(0, self._prefetch - len(self._in_hand))]

    def _claim(self, at_most: int) -> list[Delivery]:
        kept = self._kept()
        places = self._free()[:at_most]
        return [self._deliver(place, kept.ready.pop(place)) for place in places]

    def _deliver(self, place: int, entry: _Entry) -> Delivery:
        delivery = Delivery(entry.message, is_redelivered=entry.was_delivered, tag=place)
        entry.was_delivered = True
        self._in_hand[place] = entry
        return delivery
