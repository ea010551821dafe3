"""Many lookups in few queries.

Strangers may make the control plane look something up. However many come at once, one query runs at a time and the next
takes everything that waits: nobody is turned away, and the connections by which leases are renewed stay free.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Generic, TypeVar

from streamward.model.errors import StreamwardError

MOST = 1000  # keys in one query

V = TypeVar("V")


class Lookups(Generic[V]):
    """Finds things by their keys; each answer was read after it was asked for."""

    def __init__(self, find: Callable[[Collection[str]], Awaitable[Mapping[str, V]]]) -> None:
        self._find = find
        self._waiting: dict[asyncio.Future[V | None], str] = {}
        self._running: asyncio.Task[None] | None = None

    async def find(self, key: str) -> V | None:
        """What has that key; raises what the query raises."""
        answer: asyncio.Future[V | None] = asyncio.get_running_loop().create_future()
        self._waiting[answer] = key
        if self._running is None or self._running.done():
            self._running = asyncio.get_running_loop().create_task(self._run(), name="lookups")
        return await answer

    async def _run(self) -> None:
        while self._waiting:
            asked = dict(list(self._waiting.items())[:MOST])
            for answer in asked:
                del self._waiting[answer]
            found, error = await self._found(set(asked.values()))
            for answer, key in asked.items():
                if answer.done():
                    continue  # whoever asked is gone
                if error is not None:
                    answer.set_exception(error)
                else:
                    answer.set_result(found.get(key))

    async def _found(self, keys: set[str]) -> tuple[Mapping[str, V], StreamwardError | None]:
        try:
            return await self._find(keys), None
        except StreamwardError as err:
            return {}, err
