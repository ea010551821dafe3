"""Every accepted detection ends in exactly one closed batch, and each batch is told with one content, whatever happens.

The real intake, closer, relay and sweeper of two to four batchers run on memory twins and virtual time, while batchers
are killed between any two steps, calls fail before or after they had their effect, the index forgets its last seconds
or everything or brings back what was deleted, and messages come again.
"""

import pytest

from streamward.runtime.virtual_time import run
from tests.support.batching import World, a_world, rough, settle, violations
from tests.support.planted_batches import PLANTS, Plant

SEEDS = range(8)
SECONDS = 80.0  # of each, before the weather turns fair
STEPS = 50_000  # of all together, until then
TRIED = (4, *range(12))  # seeds, until a planted bug is caught; the first one catches them all


async def simulate(seed: int, plant: Plant = lambda _: None, *, seconds: float = SECONDS) -> tuple[list[str], World]:
    async with a_world(seed) as world:
        plant(world)
        await rough(world, batchers=2 + seed % 3, seconds=seconds)
        await settle(world)
        return await violations(world), world


@pytest.mark.parametrize("seed", SEEDS)
def test_every_accepted_detection_ends_in_exactly_one_batch_that_is_told(seed):
    found, world = run(simulate(seed), seed=seed)
    assert found == []
    assert len(world.db.detections) > 1000
    assert world.rough_steps > STEPS / len(SEEDS)


@pytest.mark.parametrize("name", sorted(PLANTS))
def test_a_planted_bug_is_caught(name):
    assert any(run(simulate(seed, PLANTS[name], seconds=40.0), seed=seed)[0] for seed in TRIED)
