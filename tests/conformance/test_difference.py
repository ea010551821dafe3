"""The bridge from the simulation to SQL: random stories get the same answers from memory and from each database.

The simulation proves the rule on the memory store. What holds there holds in SQL as far as these stories reach.
"""

import random
from functools import partial

from tests.support.scripts import Teller, story
from tests.support.stores import MakeRows, a_world, memory_rows, postgres_rows, sqlite_rows


async def _compare(make_rows: MakeRows, *, stories: int) -> None:
    for seed in [random.getrandbits(32) for _ in range(stories)]:
        # Each world has a clock of its own: the steps move both alike.
        async with a_world(memory_rows) as reference, a_world(make_rows) as tried:
            teller = Teller(reference, tried)
            for number, step in enumerate(story(seed, length=120)):
                expected, found = await teller.tell(step)
                assert found == expected, f"seed {seed}, step {number}: {step}"


async def test_sqlite_answers_as_memory_does(migrated_file):
    await _compare(partial(sqlite_rows, migrated_file), stories=20)


async def test_postgresql_answers_as_memory_does(postgres):
    await _compare(partial(postgres_rows, postgres), stories=6)
