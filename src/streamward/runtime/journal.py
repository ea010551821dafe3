"""What happens is recorded once, as a typed fact; log, metrics, feeds and tests read the same facts.

A sink is any function of one fact. It must not block and must not raise: a fact is told to all sinks at once, in the
order in which they subscribed.
"""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

Sink = Callable[[Any], None]
F = TypeVar("F")


class Journal:
    """Tells facts to whoever listens."""

    def __init__(self) -> None:
        self._sinks: list[Sink] = []

    def subscribe(self, sink: Sink) -> None:
        """From now on tells every fact to this sink too."""
        self._sinks.append(sink)

    def record(self, fact: object) -> None:
        """States that something happened."""
        for sink in tuple(self._sinks):
            sink(fact)

    async def first(self, kind: type[F], *, within: float = 60.0) -> F:
        """Waits for the next fact of a kind: how tests wait."""
        found: asyncio.Future[F] = asyncio.get_running_loop().create_future()

        def look(fact: object) -> None:
            if isinstance(fact, kind) and not found.done():
                found.set_result(fact)

        self.subscribe(look)
        try:
            return await asyncio.wait_for(found, within)
        finally:
            self._sinks.remove(look)
