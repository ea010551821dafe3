"""Facts, told once to everyone."""

import asyncio
from dataclasses import dataclass

import pytest

from streamward.runtime import virtual_time
from streamward.runtime.journal import Journal


@dataclass(frozen=True)
class Happened:
    number: int


def test_every_sink_hears_every_fact_in_order():
    journal = Journal()
    first: list[object] = []
    second: list[object] = []
    journal.subscribe(first.append)
    journal.record(Happened(1))
    journal.subscribe(second.append)
    journal.record(Happened(2))
    assert (first, second) == ([Happened(1), Happened(2)], [Happened(2)])


def test_a_test_can_wait_for_the_first_fact_of_a_kind():
    async def main() -> Happened:
        journal = Journal()
        loop = asyncio.get_running_loop()
        for hour, fact in enumerate(["something else", Happened(1), Happened(2)], start=1):
            loop.call_later(3600 * hour, journal.record, fact)
        return await journal.first(Happened, within=1e6)

    assert virtual_time.run(main()) == Happened(1)


def test_two_facts_at_once_are_no_trouble_for_who_waits_for_one():
    async def main() -> Happened:
        journal = Journal()
        waiter = asyncio.create_task(journal.first(Happened))
        await asyncio.sleep(0)
        journal.record(Happened(1))
        journal.record(Happened(2))
        return await waiter

    assert virtual_time.run(main()) == Happened(1)


def test_who_waits_in_vain_is_told_so():
    with pytest.raises(TimeoutError):
        virtual_time.run(Journal().first(Happened, within=5.0))
