"""The database's time, carried on by the boot-time clock between two looks at it.

Batches are judged by it, so that several batchers on hosts whose clocks differ agree.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from streamward.runtime.clock import Clock

LOOK_EVERY = 5.0  # seconds, if nothing that was stored told the time meanwhile


class DatabaseTime:
    """One batcher's view of it."""

    def __init__(self, ask: Callable[[], Awaitable[datetime]], *, clock: Clock) -> None:
        self._ask = ask
        self._clock = clock
        self._seen: tuple[datetime, float] | None = None  # and the boot-time at which it was

    def saw(self, at: datetime) -> None:
        """To be told right after an answer that tells the time."""
        self._seen = (at, self._clock.boot())

    async def now(self) -> datetime:
        """Asks the database if nobody has for a while; raises StoreUnavailable."""
        if self._seen is None or self._clock.boot() - self._seen[1] >= LOOK_EVERY:
            self.saw(await self._ask())
        assert self._seen is not None
        at, boot = self._seen
        return at + timedelta(seconds=self._clock.boot() - boot)
