"""What dead Workers left unpublished, taken over by those that live: of the same runner and tenant, on the same host.

A Worker whose cameras were passed on to others has no successor that starts after it, so it is looked for what was left
not only at the start.
"""

import asyncio
from pathlib import Path
from typing import Protocol

from streamward.runtime.spool import Spool, abandoned

LOOK_EVERY = 10.0  # seconds


class Adopting(Protocol):
    """What publishes."""

    def adopt(self, spool: Spool) -> None: ...


class Heir:
    """Looks through the spools below a folder; a service runs its ticks."""

    def __init__(self, root: Path, outbox: Adopting, *, most_bytes: int) -> None:
        self._root = root
        self._outbox = outbox
        self._most_bytes = most_bytes

    async def tick(self) -> float:
        """Takes what nobody has; it is read beside the event loop, for it may be much."""
        for spool in await asyncio.to_thread(abandoned, self._root, most_bytes=self._most_bytes):
            self._outbox.adopt(spool)
        return LOOK_EVERY
