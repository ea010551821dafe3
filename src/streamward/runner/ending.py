"""Whether a process is to end, how long that may take, and with which exit code."""

import asyncio
import os
from collections.abc import Callable

from streamward.protocol.worker_link import WorkerExit

_ANSWERED = 0.05  # seconds in which whoever asked may still get its answer


class Ending:
    """Asked for by signals, by HTTP, by a Manager, or by what the process found out itself; the first word counts."""

    def __init__(self, *, grace: float, exit_now: Callable[[int], object] = os._exit) -> None:
        self.code = WorkerExit.FAILED
        self.within = grace
        self._exit_now = exit_now
        self._wanted = asyncio.Event()
        self._is_stopping = False

    def drain(self, code: WorkerExit = WorkerExit.DRAINED, *, within: float | None = None) -> None:
        """In good order, within the grace, or sooner."""
        if not self._wanted.is_set() and not self._is_stopping:
            self.code = code
            self.within = self.within if within is None else min(within, self.within)
            self._wanted.set()

    def stop(self) -> None:
        """At once: connections are cut, and what is not out waits in the spool."""
        self._is_stopping = True
        asyncio.get_running_loop().call_later(_ANSWERED, self._exit_now, WorkerExit.TERMINATED)

    @property
    def is_wanted(self) -> bool:
        """Whether it is to end."""
        return self._is_stopping or self._wanted.is_set()

    async def wanted(self) -> None:
        """Waits until it is to end."""
        await self._wanted.wait()
