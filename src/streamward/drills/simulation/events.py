"""Simulated time: a queue of things to do, and clocks that run a little wrong."""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class EventQueue:
    """What happens when, in true time."""

    def __init__(self) -> None:
        self.now = 0.0
        self._order = 0
        self._heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []

    def after(self, delay: float, action: Callable[..., None], *args: Any) -> None:
        """Does something so many seconds from now."""
        self._order += 1
        heapq.heappush(self._heap, (self.now + max(0.0, delay), self._order, action, args))

    def run_until(self, end: float) -> None:
        """Lets time pass."""
        heap = self._heap
        while heap and heap[0][0] <= end:
            self.now, _, action, args = heapq.heappop(heap)
            action(*args)
        self.now = end


@dataclass(slots=True)
class HostClock:
    """A host's clocks: boot-time runs at its own rate; wall time can be set; monotonic time sleeps with the host."""

    queue: EventQueue
    rate: float
    offset: float
    wall_shift: float = 0.0
    slept: float = 0.0  # boot-time spent in suspend so far

    def boot(self) -> float:
        return self.offset + self.rate * self.queue.now

    def monotonic(self) -> float:
        return self.boot() - self.slept

    def wall(self) -> datetime:
        return EPOCH + timedelta(seconds=self.boot() + self.wall_shift)


@dataclass(slots=True)
class DatabaseClock:
    """The database's wall clock: drifts, and jumps when somebody sets it."""

    queue: EventQueue
    rate: float
    shift: float = 0.0
    steps: list[float] = field(default_factory=list)  # when it was set

    def wall(self) -> datetime:
        return EPOCH + timedelta(seconds=self.rate * self.queue.now + self.shift)

    def step(self, seconds: float) -> None:
        self.shift += seconds
        self.steps.append(self.queue.now)

    @property
    def last_step_at(self) -> float:
        """When it was last set."""
        return self.steps[-1] if self.steps else -math.inf
