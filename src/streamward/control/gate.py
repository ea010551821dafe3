"""How many strangers are served at once.

Whoever has no token yet may still make the control plane ask its database. A gate lets them do so one at a time, so
that however many come they never take the connections by which leases are renewed, and turns away whom it could not
serve soon.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from streamward.model.errors import StreamwardError

WAITING = 256  # callers; more would wait longer than they would bear


class Crowded(StreamwardError):
    """Too many ask at once."""

    def __str__(self) -> str:
        return "too many ask for tokens or show codes at once: try again in a moment"


class Gate:
    """One at a time, and not too many behind it."""

    def __init__(self, *, waiting: int = WAITING) -> None:
        self._turn = asyncio.Lock()
        self._most = waiting
        self._waiting = 0

    @asynccontextmanager
    async def passed(self) -> AsyncIterator[None]:
        """Within is one caller; refuses one who would have to wait behind too many."""
        if self._waiting >= self._most:
            raise Crowded
        self._waiting += 1
        try:
            await self._turn.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._turn.release()
