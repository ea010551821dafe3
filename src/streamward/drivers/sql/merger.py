"""Merges calls that arrive together: while statements are under way, the next ones gather and go as one.

Two calls with a key in common never go together, nor at the same time: two renewals of one runner, or two releases of
one camera, may name the same lease, and each would find it locked by the other.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from streamward.leases.store import Named, StoreUnavailable

MOST_LEASES = 1_000  # in one statement: some ten milliseconds


class Call(Protocol):
    """Something asked about leases."""

    @property
    def leases(self) -> Sequence[Named]: ...


C = TypeVar("C", bound=Call)
O = TypeVar("O")  # noqa: E741 - the outcome
Send = Callable[[Sequence[C]], Awaitable[list[O]]]


@dataclass(frozen=True, slots=True)
class _Waiting(Generic[C, O]):
    call: C
    keys: frozenset[Hashable]
    outcome: "asyncio.Future[O]"

    def settle(self, outcome: O | StoreUnavailable) -> None:
        """Answers, unless that was done or its caller is gone."""
        if self.outcome.done():
            return
        if isinstance(outcome, StoreUnavailable):
            self.outcome.set_exception(outcome)
        else:
            self.outcome.set_result(outcome)


class Merger(Generic[C, O]):
    """Stands between the callers of one port's method and the database."""

    def __init__(self, send: Send[C, O], *, keys: Callable[[C], Sequence[Hashable]], flights: int) -> None:
        self._send = send
        self._keys = keys
        self._most_flights = flights  # statements under way; the rest of the pool is for everything else
        self._waiting: list[_Waiting[C, O]] = []
        self._flights: set[asyncio.Task[None]] = set()
        self._flying = 0
        self._away: set[Hashable] = set()  # the keys of what is under way

    async def ask(self, call: C) -> O:
        """The outcome of this call, however it was sent."""
        outcome: asyncio.Future[O] = asyncio.get_running_loop().create_future()
        waiting = _Waiting(call, frozenset(self._keys(call)), outcome)
        self._waiting.append(waiting)
        if self._flying < self._most_flights:
            self._flying += 1
            flight = asyncio.create_task(self._fly())
            self._flights.add(flight)
            flight.add_done_callback(self._flights.discard)
        return await outcome

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

    async def _settle(self, batch: Sequence[_Waiting[C, O]]) -> None:
        try:
            outcomes = await self._send([waiting.call for waiting in batch])
        except StoreUnavailable:
            return
        else:
            for waiting, outcome in zip(batch, outcomes, strict=True):
                waiting.settle(outcome)
        finally:  # whatever went wrong, nobody waits for ever
            for waiting in batch:
                self._away -= waiting.keys
                waiting.settle(StoreUnavailable())

    def _next(self) -> list[_Waiting[C, O]]:
        """The longest waiting: at most one of each key, and no more leases than one statement bears."""
        batch: list[_Waiting[C, O]] = []
        later: list[_Waiting[C, O]] = []
        leases = 0
        for waiting in self._waiting:
            size = leases + len(waiting.call.leases)
            if not self._away.isdisjoint(waiting.keys) or (batch and size > MOST_LEASES):
                later.append(waiting)
                continue
            batch.append(waiting)
            self._away |= waiting.keys
            leases = size
        self._waiting = later
        return batch
