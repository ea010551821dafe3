"""How tests wait for what real sockets, threads and processes bring: until something is so, and not for a while."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

PATIENCE = 60.0  # seconds: a busy machine is no failure
T = TypeVar("T")


class News(asyncio.Event):
    """To be set whenever something has changed."""

    async def until(self, look: Callable[[], T], *, within: float = PATIENCE) -> T:
        """Looks after each change until there is something to see."""
        async with asyncio.timeout(within):
            while not (seen := look()):
                self.clear()
                await self.wait()
        return seen
