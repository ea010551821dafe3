"""Clocks of tests: one that is moved by hand, and one that goes with the loop."""

import asyncio
from datetime import UTC, datetime, timedelta

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


class ManualClock:
    """Stands still until it is told to go on."""

    def __init__(self, start: datetime = START) -> None:
        self._start = start
        self._elapsed = 0.0

    def wall(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed)

    def boot(self) -> float:
        return self._elapsed

    def advance(self, seconds: float) -> None:
        """Lets time pass."""
        self._elapsed += seconds


class LoopClock:
    """Time as the virtual loop tells it; the wall clock can be set."""

    shift = 0.0

    def wall(self) -> datetime:
        return START + timedelta(seconds=self.boot() + self.shift)

    def boot(self) -> float:
        return asyncio.get_running_loop().time()
