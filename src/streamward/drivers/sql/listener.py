"""Hears of changes that any control plane made, on a connection of its own, and rings the bell.

Not guaranteed: every single change. What happened while the connection was gone is not told; a new connection rings
once for all of it, and who waits looks again every two seconds anyway.
"""

import asyncio
import random
from typing import Any

import asyncpg

from streamward.drivers.sql.engine import CALL_TIMEOUT, connect_postgres
from streamward.runtime.backoff import Backoff, BackoffSpec
from streamward.runtime.bell import Bell
from streamward.runtime.clock import Clock

CHANNEL = "streamward"
ASK_EVERY = 5.0  # seconds of silence after which the connection must show that it lives
_BACKOFF = BackoffSpec(first=0.1, longest=2.0, steady=10.0)


class Listener:
    """One control plane's ear on the database."""

    def __init__(self, url: str, *, clock: Clock, bell: Bell) -> None:
        self._url = url
        self._clock = clock
        self._bell = bell
        self._backoff = Backoff(_BACKOFF, random.SystemRandom())
        self._task: asyncio.Task[None] | None = None
        self._hears = asyncio.Event()

    async def start(self) -> None:
        """Listens from now on; returns when it does."""
        self._task = asyncio.create_task(self._run())
        try:
            async with asyncio.timeout(CALL_TIMEOUT):
                await self._hears.wait()
        except TimeoutError:
            await self.stop()
            raise

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            since = self._clock.boot()
            try:
                await self._listen()
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
                await asyncio.sleep(self._backoff.failed(after=self._clock.boot() - since))

    async def _listen(self) -> None:
        connection = await connect_postgres(self._url)
        try:
            await connection.add_listener(CHANNEL, self._heard)
            self._hears.set()
            self._bell.ring()
            await self._stay(connection)
        finally:
            connection.terminate()

    async def _stay(self, connection: Any) -> None:
        """Until the connection is gone."""
        gone = asyncio.Event()
        connection.add_termination_listener(lambda _: gone.set())
        while not connection.is_closed():
            try:
                async with asyncio.timeout(ASK_EVERY):  # without a task of its own for each wait
                    await gone.wait()
            except TimeoutError:
                await connection.execute("SELECT 1")
        raise ConnectionResetError

    def _heard(self, *_: object) -> None:
        self._bell.ring()
