"""What is asked of the event bus: RabbitMQ, or the embedded one that is a file.

    publish ─→ topic exchange ─bindings→ each queue that wants it ─take→ consumer ─ack→ gone
                                              ↑                             │
                                              └── give back, close, death ──┘  comes again, `is_redelivered`

Guaranteed by every driver: what was answered by `Published` and is persistent is in every queue that wanted it then,
whatever is killed afterwards, until it is acknowledged, expires, or is pushed out by a limit. What was taken and not
acknowledged comes again when its consumer is closed, is killed or loses its connection. What one publisher publishes,
each after the word about the one before, comes in that order as long as nothing comes again.
Not guaranteed: once only. What was answered by BusAway may have arrived, and what was acknowledged while a broker died
may come again: repeats are known by `message_id`.

A bus that does not answer is an error: nobody can go on. A bus that does not want one message is an answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from streamward.model.errors import StreamwardError
from streamward.model.message import Message


class BusAway(StreamwardError):
    """The bus does not answer, or lets nobody in; what was sent to it may or may not have arrived."""

    def __init__(self, bus: str, why: str, *, retry_in: float) -> None:
        super().__init__(bus, why)
        self.bus = bus  # host and port, or a file; never a user or a password
        self.why = why
        self.retry_in = retry_in  # seconds until it is worth another try

    def __str__(self) -> str:
        return f"the event bus {self.bus} cannot be used: {self.why}"


class QueueRefused(StreamwardError):
    """A queue that cannot be had as it is wanted: it is there in another form, or is not there."""

    def __init__(self, queue: str, why: str) -> None:
        super().__init__(queue, why)
        self.queue = queue
        self.why = why

    def __str__(self) -> str:
        return f"the queue {self.queue} cannot be had: {self.why}"


@dataclass(frozen=True, slots=True)
class Published:
    """The bus has it, and keeps it for every queue that wants it."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The bus did not take this one; of several queues that want it, others may have it."""

    why: str


class Overflow(StrEnum):
    """What becomes of one message too many."""

    DROP_HEAD = "drop-head"  # the oldest gives way
    REJECT_PUBLISH = "reject-publish"  # the newest is refused


@dataclass(frozen=True, slots=True)
class Binding:
    """What a queue wants."""

    exchange: str
    pattern: str  # as `topic.matches` reads it


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A durable queue."""

    name: str
    bindings: tuple[Binding, ...] = ()
    message_ttl: float | None = None  # seconds after which nobody gets a message any more
    most: int | None = None  # messages that wait; those that are taken and not acknowledged do not count
    overflow: Overflow = Overflow.DROP_HEAD


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message in a consumer's hands."""

    message: Message  # without `is_mandatory`, which ends at the bus; `expires_in` as it was sent
    is_redelivered: bool  # somebody had it before, and may have acted on it
    tag: int  # its name towards the consumer that gave it


class Publisher(Protocol):
    """The way to the bus for those who only tell."""

    async def publish(self, message: Message) -> Published | Refused:
        """Sends one message and waits for the bus's word; raises BusAway."""
        ...

    async def close(self) -> None: ...


class Consumer(Protocol):
    """One reader of a queue; several share what comes. Whatever failed, the next `take` tries again."""

    async def take(self, *, at_most: int, within: float, gather: float = 0.0) -> list[Delivery]:
        """What waits, oldest first, as soon as there is any; nothing if none comes in so many seconds.

        With `gather`, fewer than `at_most` come only when so many seconds are over: larger groups cost less per
        message. With `prefetch` messages in hand nothing comes.

        Raises BusAway, and QueueRefused if there is no such queue.
        """
        ...

    async def ack(self, deliveries: Sequence[Delivery]) -> None:
        """They are done with and never come again; of those from before a lost connection nothing is said: they do."""
        ...

    async def give_back(self, deliveries: Sequence[Delivery], *, requeue: bool) -> None:
        """They come again, to whoever takes next, in their old place if they can; or are thrown away."""
        ...

    async def close(self) -> None:
        """Gives back what was not acknowledged."""
        ...


class Bus(Publisher, Protocol):
    """The way to the bus for those who listen too."""

    async def declare(self, queue: Queue) -> None:
        """Makes the queue if it is not there, and adds its bindings: none is ever taken away.

        Raises BusAway, and QueueRefused if the queue is there with other limits.
        """
        ...

    async def waiting(self, queue: str) -> int:
        """How many messages of a queue nobody has in hand; about, while others publish and take.

        Raises BusAway, and QueueRefused if there is no such queue.
        """
        ...

    def consume(self, queue: str, *, prefetch: int) -> Consumer:
        """A reader of a queue, with at most so many messages in hand."""
        ...
