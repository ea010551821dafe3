"""Renewals that arrive together are sent together, each answered by itself."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from streamward.drivers.sql.merger import MOST_LEASES, Merger
from streamward.leases.lease import Denied
from streamward.leases.store import Named, Renewal, Renewed, StoreUnavailable
from streamward.model.ids import CameraId, Generation
from tests.support.builders import an_owner

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def a_renewal(runner: str, *, leases: int = 1) -> Renewal:
    named = tuple(Named(CameraId(f"{runner}-{number}"), Generation(1)) for number in range(leases))
    return Renewal(owner=an_owner(runner), leases=named)


class SlowDatabase:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.sent: list[list[str]] = []
        self.answers = asyncio.Semaphore(0)
        self.failure: Exception | None = None

    async def send(self, renewals: Sequence[Renewal]) -> list[Renewed | Denied]:
        self.sent.append([renewal.owner.runner_id for renewal in renewals])
        await self.answers.acquire()
        if self.failure is not None:
            raise self.failure
        return [self._renewed(renewal) for renewal in renewals]

    def _renewed(self, renewal: Renewal) -> Renewed:
        lost = tuple(named.camera_id for named in renewal.leases)
        return Renewed(at=NOW, kept=(), lost=lost, busy=(), unlisted=())

    def answer(self, times: int) -> None:
        for _ in range(times):
            self.answers.release()


def a_merger(database: SlowDatabase) -> Merger[Renewal, Renewed | Denied]:
    return Merger(database.send, keys=lambda renewal: [renewal.owner.runner_id], flights=2)


async def ask(merger: Merger[Renewal, Renewed | Denied], *renewals: Renewal) -> list["asyncio.Task[Renewed | Denied]"]:
    """Asks one after the other, each as soon as the one before is under way or waits."""
    asked = []
    for renewal in renewals:
        asked.append(asyncio.create_task(merger.ask(renewal)))
        for _ in range(3):
            await asyncio.sleep(0)
    return asked


async def test_while_statements_are_under_way_the_next_gather_and_go_as_one():
    database = SlowDatabase()
    merger = a_merger(database)
    asked = await ask(merger, *(a_renewal(f"r{number}") for number in range(6)))
    assert database.sent == [["r0"], ["r1"]]
    database.answer(3)
    outcomes = await asyncio.gather(*asked)
    assert database.sent[2] == ["r2", "r3", "r4", "r5"]
    assert [outcome.lost for outcome in outcomes if isinstance(outcome, Renewed)] == [(f"r{n}-0",) for n in range(6)]
    await merger.close()


async def test_two_renewals_of_one_runner_go_one_after_the_other():
    database = SlowDatabase()
    merger = a_merger(database)
    asked = await ask(merger, a_renewal("r0"), a_renewal("r0"), a_renewal("r1"))
    assert database.sent == [["r0"], ["r1"]]
    database.answer(3)
    await asyncio.gather(*asked)
    assert database.sent == [["r0"], ["r1"], ["r0"]]
    await merger.close()


async def test_a_statement_bears_so_many_leases_and_no_more():
    database = SlowDatabase()
    merger = a_merger(database)
    many = MOST_LEASES // 2
    asked = await ask(merger, a_renewal("a"), a_renewal("b"), *(a_renewal(f"r{n}", leases=many) for n in range(3)))
    database.answer(9)
    await asyncio.gather(*asked)
    assert database.sent == [["a"], ["b"], ["r0", "r1"], ["r2"]]
    await merger.close()


async def test_a_failure_is_told_to_everyone_in_it_and_to_nobody_else():
    database = SlowDatabase()
    merger = a_merger(database)
    asked = await ask(merger, a_renewal("r0"), a_renewal("r1"))
    database.failure = StoreUnavailable()
    database.answer(2)
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StoreUnavailable, StoreUnavailable]
    database.failure = None
    database.answer(1)
    assert isinstance(await merger.ask(a_renewal("r0")), Renewed)
    await merger.close()


async def test_a_caller_that_goes_away_takes_nobody_with_it():
    database = SlowDatabase()
    merger = a_merger(database)
    first, second, third = await ask(merger, a_renewal("r0"), a_renewal("r1"), a_renewal("r2"))
    first.cancel()
    third.cancel()
    database.answer(3)
    assert isinstance(await second, Renewed)
    with pytest.raises(asyncio.CancelledError):
        await first
    await merger.close()
