"""Wakes everyone who waits for a change.

A ring counts up; a waiter names the count it has seen. Rings are never lost between two waits of one process; a count
of another process (another control plane behind the same address, or one before a restart) answers at once.
"""

import asyncio
import secrets


class Bell:
    """One process's counter of changes."""

    def __init__(self, instance: str | None = None) -> None:
        self._instance = instance or secrets.token_hex(4)
        self._count = 0
        self._rung = asyncio.Event()
        self.is_closed = False  # nobody is to wait any longer

    @property
    def cursor(self) -> str:
        """What has been seen so far, as a text to hand back to `wait`."""
        return f"{self._instance}-{self._count}"

    def ring(self) -> None:
        """Something changed."""
        self._count += 1
        self._rung.set()
        self._rung = asyncio.Event()

    def close(self) -> None:
        """Wakes everyone for good: the process ends."""
        self.is_closed = True
        self.ring()

    async def wait(self, after: str | None, *, at_most: float) -> bool:
        """Returns True once something changed after that cursor, False when the time is over."""
        if self.is_closed or (after is not None and after != self.cursor):
            return True
        try:
            async with asyncio.timeout(at_most):
                await self._rung.wait()
        except TimeoutError:
            return False
        return True
