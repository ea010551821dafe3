"""Merges renewals that arrive together: while one statement is under way, the next ones gather and go as one.

Two renewals of one runner never go together: they may name the same lease, and inside one statement there is no order.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from streamward.leases.lease import Denied
from streamward.leases.store import Renewal, Renewed, StoreUnavailable

MOST_LEASES = 1_000  # in one statement: about 50 ms

Outcome = Renewed | Denied
Send = Callable[[Sequence[Renewal]], Awaitable[list[Outcome]]]


@dataclass(frozen=True, slots=True)
class _Waiting:
    renewal: Renewal
    outcome: "asyncio.Future[Outcome]"

    def settle(self, outcome: Outcome | StoreUnavailable) -> None:
        """Answers, unless that was done or its caller is gone."""
        if self.outcome.done():
            return
        if isinstance(outcome, StoreUnavailable):
            self.outcome.set_exception(outcome)
        else:
            self.outcome.set_result(outcome)


class RenewalMerger:
    """Stands between the callers of `renew` and the database."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._waiting: list[_Waiting] = []
        self._flight: asyncio.Task[None] | None = None

    async def renew(self, renewal: Renewal) -> Outcome:
        """The outcome of this renewal, however it was sent."""
        waiting = _Waiting(renewal, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._flight is None:
            self._flight = asyncio.create_task(self._fly())
        return await waiting.outcome

    async def close(self) -> None:
        """Waits until everyone has an answer."""
        if self._flight is not None:
            await self._flight

    async def _fly(self) -> None:
        try:
            while batch := self._next():
                await self._settle(batch)
        finally:
            self._flight = None

    async def _settle(self, batch: Sequence[_Waiting]) -> None:
        try:
            outcomes = await self._send([waiting.renewal for waiting in batch])
        except StoreUnavailable:
            return
        else:
            for waiting, outcome in zip(batch, outcomes, strict=True):
                waiting.settle(outcome)
        finally:  # whatever went wrong, nobody waits for ever
            for waiting in batch:
                waiting.settle(StoreUnavailable())

    def _next(self) -> list[_Waiting]:
        """The longest waiting: at most one of each runner, and no more leases than one statement bears."""
        batch: list[_Waiting] = []
        later: list[_Waiting] = []
        runners: set[str] = set()
        leases = 0
        for waiting in self._waiting:
            renewal = waiting.renewal
            size = leases + len(renewal.leases)
            if renewal.owner.runner_id in runners or (batch and size > MOST_LEASES):
                later.append(waiting)
                continue
            batch.append(waiting)
            runners.add(renewal.owner.runner_id)
            leases = size
        self._waiting = later
        return batch
