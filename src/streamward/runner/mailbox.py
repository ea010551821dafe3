"""From threads to the event loop: many words, few wake-ups.

Waking the loop costs more than what most words say. What is posted is heard when somebody wakes the loop, or else
`QUIET_FOR` later at most, always in the order in which it was posted; each word in a turn of its own, so that one that
raises keeps no other from being heard.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

QUIET_FOR = 0.1  # seconds

Hear = Callable[..., None]


class Mailbox:
    """Made, read and closed in the event loop; posted to by any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._words: deque[tuple[Hear, tuple[Any, ...]]] = deque()
        self._is_woken = False
        self._timer = self._loop.call_later(QUIET_FOR, self._tick)

    def post(self, heard: Hear, *what: object) -> None:
        """A word that can wait a moment."""
        self._words.append((heard, what))

    def wake(self) -> None:
        """What was posted is heard now; two threads at once may wake the loop twice, which does no harm."""
        if not self._is_woken:
            self._is_woken = True
            self._loop.call_soon_threadsafe(self._deliver)

    def close(self) -> None:
        """What was posted is heard, and nothing more by itself."""
        self._timer.cancel()
        self._deliver()

    def _tick(self) -> None:
        self._timer = self._loop.call_later(QUIET_FOR, self._tick)
        self._deliver()

    def _deliver(self) -> None:
        self._is_woken = False  # first: a word that comes while these are read wakes again
        while self._words:
            heard, what = self._words.popleft()
            self._loop.call_soon(heard, *what)
