"""The valve: takes in nothing more while something that everybody shares is nearly used up (S2-34, S2-35).

Sources are asked once a second at most. One that is missing, fails or is slow counts as normal: what watches must never
stop the flow by being broken.
"""

import asyncio
from collections.abc import Mapping
from typing import Protocol

from streamward.batcher.facts import PressureChanged
from streamward.insight.pressure import Pressure, judge
from streamward.model.bus import Bus
from streamward.protocol.batches import ANALYSIS, HELD_SHARE, MOST_WAITING
from streamward.runtime.clock import Clock
from streamward.runtime.journal import Journal

ASK_EVERY = 1.0  # seconds
ANSWER_WITHIN = 1.0


class PressureSource(Protocol):
    """Something that can be used up; an entry point of the group `streamward.pressure` makes one."""

    async def level(self) -> Pressure: ...


class Valve:
    """Asks every source."""

    def __init__(self, sources: Mapping[str, PressureSource], *, journal: Journal, clock: Clock) -> None:
        self._sources = sources
        self._journal = journal
        self._clock = clock
        self._asked_at: float | None = None  # boot-time
        self.level = Pressure.NORMAL
        self.by_source: dict[str, Pressure] = dict.fromkeys(sources, Pressure.NORMAL)

    async def should_apply_backpressure(self) -> bool:
        """Whether whoever takes detections in should wait."""
        now = self._clock.boot()
        if self._asked_at is None or now - self._asked_at >= ASK_EVERY:
            self._asked_at = now
            levels = await asyncio.gather(*map(_asked, self._sources.values()))
            self.by_source = dict(zip(self._sources, levels, strict=True))
            self._change(Pressure.CRITICAL if Pressure.CRITICAL in levels else Pressure.NORMAL)
        return self.level is Pressure.CRITICAL

    def _change(self, level: Pressure) -> None:
        if level is not self.level:
            self.level = level
            names = [name for name, each in self.by_source.items() if each is Pressure.CRITICAL]
            self._journal.record(PressureChanged(level=level, sources=", ".join(names)))


async def _asked(source: PressureSource) -> Pressure:
    try:
        async with asyncio.timeout(ANSWER_WITHIN):
            return await source.level()
    except Exception:  # noqa: BLE001 somebody else's code: S2-35
        return Pressure.NORMAL


class QueueDepth:
    """The analysis queue as a source; only for those who name it, for without an analyst it stops everything."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def level(self) -> Pressure:
        """By how many batches wait."""
        return judge(await self._bus.waiting(ANALYSIS.name), MOST_WAITING, critical=HELD_SHARE)
