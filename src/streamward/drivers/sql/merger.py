"""Merges renewals that arrive together: while statements are under way, the next ones gather and go as one.

Two renewals of one runner never go together, nor at the same time: they may name the same lease, and each would find
it locked by the other.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from streamward.leases.lease import Denied
from streamward.leases.store import Renewal, Renewed, StoreUnavailable
from streamward.model.ids import RunnerId

MOST_LEASES = 1_000  # in one statement: some ten milliseconds
MOST_FLIGHTS = 2  # statements under way; the rest of the pool is for everything else

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
        self._flights: set[asyncio.Task[None]] = set()
        self._flying = 0
        self._away: set[RunnerId] = set()  # whose renewals are under way

    async def renew(self, renewal: Renewal) -> Outcome:
        """The outcome of this renewal, however it was sent."""
        waiting = _Waiting(renewal, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._flying < MOST_FLIGHTS:
            self._flying += 1
            flight = asyncio.create_task(self._fly())
            self._flights.add(flight)
            flight.add_done_callback(self._flights.discard)
        return await waiting.outcome

    async def close(self) -> None:
        """Waits until everyone has an answer."""
        while self._flights:
            await asyncio.wait(self._flights)

    async def _fly(self) -> None:
        try:
            while batch := self._next():
                await self._settle(batch)
        finally:
            self._flying -= 1

    async def _settle(self, batch: Sequence[_Waiting]) -> None:
        try:
            outcomes = await self._send([waiting.renewal for waiting in batch])
        except StoreUnavailable:
            return
        else:
            for waiting, outcome in zip(batch, outcomes, strict=True):
                waiting.settle(outcome)
        finally:  # whatever went wrong, nobody waits for ever
            self._away.difference_update(waiting.renewal.owner.runner_id for waiting in batch)
            for waiting in batch:
                waiting.settle(StoreUnavailable())

    def _next(self) -> list[_Waiting]:
        """The longest waiting: at most one of each runner, and no more leases than one statement bears."""
        batch: list[_Waiting] = []
        later: list[_Waiting] = []
        leases = 0
        for waiting in self._waiting:
            renewal = waiting.renewal
            size = leases + len(renewal.leases)
            if renewal.owner.runner_id in self._away or (batch and size > MOST_LEASES):
                later.append(waiting)
                continue
            batch.append(waiting)
            self._away.add(renewal.owner.runner_id)
            leases = size
        self._waiting = later
        return batch
