"""Ways to stores, index and bus that take a while (in `virtual_time`), fail, and are cut when a process dies.

A call may fail before or after it had its effect: between any two steps of a program lies a moment to kill it at.
"""

import asyncio
import inspect
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from streamward.insight.store import IndexAway
from streamward.leases.store import StoreUnavailable
from streamward.model.bus import BusAway

LONGEST_WAY = 0.05  # seconds there, and again back

FAILURES: dict[str, Callable[[], Exception]] = {
    "database": lambda: StoreUnavailable("simulated"),
    "index": lambda: IndexAway("simulated", "told to"),
    "bus": lambda: BusAway("simulated", "told to", retry_in=1.0),
}


@dataclass
class Weather:
    """How bad things are, and how many calls there were."""

    rng: random.Random
    failing: float = 0.0  # share of calls
    away: set[str] = field(default_factory=set)
    steps: int = 0

    async def travel(self, to: str) -> None:
        """One way; may end in a failure."""
        self.steps += 1
        await asyncio.sleep(self.rng.random() * LONGEST_WAY)
        if to in self.away or self.rng.random() < self.failing:
            raise FAILURES[to]()


class Life:
    """Whether a process lives; whatever it asks for after its death never comes."""

    def __init__(self, weather: Weather) -> None:
        self.weather = weather
        self.is_over = False

    async def travel(self, to: str) -> None:
        if self.is_over:
            await asyncio.get_running_loop().create_future()
        await self.weather.travel(to)


class Shaky:
    """Anything with async methods, behind such a way; its parts and what it hands out are behind the same."""

    def __init__(self, thing: Any, to: str, life: Life, *, parts: tuple[str, ...] = ()) -> None:
        self._thing, self._to, self._life, self._parts = thing, to, life, parts

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._thing, name)
        if name in self._parts:
            return Shaky(found, self._to, self._life)
        if name == "consume":
            return lambda *args, **named: ShakyConsumer(found(*args, **named), self._to, self._life)
        if name == "close" or not inspect.iscoroutinefunction(found):
            return found

        async def call(*args: Any, **named: Any) -> Any:
            await self._life.travel(self._to)
            answer = await found(*args, **named)
            await self._life.travel(self._to)
            return answer

        return call


class ShakyConsumer(Shaky):
    """A reader of a queue: when its connection goes, everything in hand goes back to the queue."""

    def __getattr__(self, name: str) -> Any:
        call = super().__getattr__(name)
        if name == "close":
            return call

        async def or_lost(*args: Any, **named: Any) -> Any:
            try:
                return await call(*args, **named)
            except BusAway:
                await self._thing.close()
                raise

        return or_lost
