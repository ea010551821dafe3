"""Tells the bus what is worth something now or never: nothing is kept, and nobody waits.

Guaranteed: what waits is bounded in number and age; a bus that is away costs its callers nothing, and when it is back
it is told nothing that is older than its own time to live.
"""

import asyncio
from collections import deque

from streamward.model.bus import BusAway, Publisher
from streamward.model.message import Message
from streamward.runtime.clock import Clock
from streamward.runtime.journal import Journal
from streamward.runtime.service import Service

MOST_WAITING = 2000  # messages
IDLE = 60.0  # seconds until it looks again, unless something is told
_AT_ONCE = 50
_NO_TTL = 10.0  # seconds for which a message without a time to live is worth something


class Teller:
    """What waits to be told; a service runs its ticks."""

    def __init__(self, publisher: Publisher, *, journal: Journal, clock: Clock) -> None:
        self.dropped = 0
        self._publisher = publisher
        self._clock = clock
        self._waiting: deque[tuple[float, Message]] = deque()  # with the boot-time until which it is worth something
        self._is_empty = asyncio.Event()
        self._is_empty.set()
        self._service = Service("teller", self, journal=journal)

    def tell(self, message: Message) -> None:
        """Hands a message over."""
        if len(self._waiting) >= MOST_WAITING:
            self._waiting.popleft()
            self.dropped += 1
        self._waiting.append((self._clock.boot() + (message.expires_in or _NO_TTL), message))
        self._is_empty.clear()
        self._service.poke()

    async def tick(self) -> float:
        """Publishes what waits and is still worth it."""
        while self._waiting:
            try:
                await asyncio.gather(*(self._publisher.publish(message) for message in self._next()))
            except BusAway as away:
                return away.retry_in
        self._is_empty.set()
        return IDLE

    async def emptied(self) -> None:
        """Waits until the bus has taken everything; with a bus that is away for as long as the caller bears it."""
        await self._is_empty.wait()

    async def __aenter__(self) -> "Teller":
        self._service.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._service.stop()

    def _next(self) -> list[Message]:
        now = self._clock.boot()
        some = [self._waiting.popleft() for _ in range(min(_AT_ONCE, len(self._waiting)))]
        worth = [message for until, message in some if now < until]
        self.dropped += len(some) - len(worth)
        return worth
