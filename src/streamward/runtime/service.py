"""A service: one task that ticks, rests for as long as the tick said, and ticks again until it is stopped.

A tick that fails does not end the service. The first failure of a kind is recorded at once; its repeats are counted and
recorded once per interval, so that a dead database fills no disk. This is one of the two places that catch everything.

Guaranteed: one tick at a time; a poke during a tick leads to another one; after `stop` no tick runs.
Not guaranteed: that a tick runs to its end. `stop` cancels it, so each step of a tick must be safe to cut.
"""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Protocol, Self

from streamward.model.errors import StreamwardError
from streamward.runtime.journal import Journal

RETRY_AFTER = 1.0  # seconds until a tick that failed runs again
REPORT_EVERY = 60.0  # seconds in which failures of one kind are recorded once


class Ticks(Protocol):
    """What a service runs."""

    async def tick(self) -> float:
        """Reads, decides, applies; returns in how many seconds to do it again."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TickFailed:
    """A service could not do its work, so many times since this was last said."""

    service: str
    error: BaseException
    times: int


class AlreadyRunning(StreamwardError):
    """A service was started twice."""

    def __init__(self, service: str) -> None:
        super().__init__(service)
        self.service = service

    def __str__(self) -> str:
        return f"{self.service} is already running"


class Service:
    """Runs the ticks of one long-lived thing."""

    def __init__(self, name: str, body: Ticks, *, journal: Journal) -> None:
        self.name = name
        self._body = body
        self._journal = journal
        self._poked = asyncio.Event()
        self._failures = Failures()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        """Whether it ticks."""
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        """Begins to tick, the first time at once."""
        if self.is_running:
            raise AlreadyRunning(self.name)
        self._task = asyncio.get_running_loop().create_task(self._run(), name=self.name)

    def poke(self) -> None:
        """Ends the present rest, or skips the next one."""
        self._poked.set()

    async def stop(self) -> None:
        """Ends it, in the middle of a tick if need be, and waits until it has ended."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None
        self._tell(self._failures.untold())

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    async def _run(self) -> None:
        while not _is_cancelled():  # also when a tick swallowed the cancellation
            rest = await self._tick()
            self._tell(self._failures.due(asyncio.get_running_loop().time()))
            await self._rest(rest)

    async def _tick(self) -> float:
        try:
            return await self._body.tick()
        except asyncio.CancelledError as err:
            if _is_cancelled():
                raise
            self._failures.count(err)  # something inside the tick was cancelled, not the service
        except Exception as err:  # noqa: BLE001 the loop outlives whatever a tick meets
            self._failures.count(err)
        return RETRY_AFTER

    async def _rest(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._poked.wait()
        except TimeoutError:
            pass
        self._poked.clear()

    def _tell(self, failures: list[tuple[BaseException, int]]) -> None:
        for error, times in failures:
            self._journal.record(TickFailed(service=self.name, error=error, times=times))


@contextlib.asynccontextmanager
async def ticking(bodies: Mapping[str, Ticks], *, journal: Journal) -> AsyncIterator[None]:
    """Services of several things, by their names, for as long as the block lasts."""
    async with contextlib.AsyncExitStack() as running:
        for name, body in bodies.items():
            await running.enter_async_context(Service(name, body, journal=journal))
        yield


class Failures:
    """Counts errors by class, and says which are to be told now."""

    def __init__(self, *, every: float = REPORT_EVERY) -> None:
        self._every = every
        self._counted: dict[type[BaseException], tuple[BaseException, int]] = {}
        self._told_at: dict[type[BaseException], float] = {}

    def count(self, error: BaseException) -> None:
        """Takes in one more error."""
        _, times = self._counted.get(type(error), (error, 0))
        self._counted[type(error)] = (error, times + 1)

    def due(self, now: float) -> list[tuple[BaseException, int]]:
        """The newest error of each class whose interval is over, with the number of its kind since it was last told."""
        kinds = [kind for kind in self._counted if now - self._told_at.get(kind, -math.inf) >= self._every]
        self._told_at.update(dict.fromkeys(kinds, now))
        return [self._counted.pop(kind) for kind in kinds]

    def untold(self) -> list[tuple[BaseException, int]]:
        """Everything that has not been told yet."""
        left = list(self._counted.values())
        self._counted.clear()
        return left


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
