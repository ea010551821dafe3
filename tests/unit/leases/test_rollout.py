"""How shards move to Workers of another make, one at a time, and back."""

from dataclasses import replace
from random import Random

import pytest

from streamward.leases.rollout import MOVED_WITHIN, Rollout
from streamward.leases.sharding import Shard
from streamward.model.ids import CameraId, ShardId, TenantId


def shard(name: str, make: int = 0) -> Shard:
    return Shard(shard_id=ShardId(name), tenant_id=TenantId("acme"), cameras=(CameraId(f"cam-of-{name}"),), make=make)


TWO = [shard("shard-0"), shard("shard-1")]
ALL = {ShardId(f"shard-{number}") for number in range(9)}


def living(*names: str) -> set[ShardId]:
    return {ShardId(name) for name in names}


def loaded(make: int) -> Rollout:
    """Another make is wanted, and a spare has it."""
    return replace(Rollout().want(make), loaded=make)


def makes(shards: list[Shard]) -> dict[str, int]:
    return {each.shard_id: each.make for each in shards}


def test_nothing_moves_without_cause() -> None:
    assert Rollout().step(TWO, living=ALL, now=0.0) == (Rollout(), TWO)
    assert Rollout().want(0) == Rollout()


def test_one_shard_moves_after_the_other() -> None:
    rollout, shards = loaded(1).step(TWO, living=living("shard-0", "shard-1"), now=0.0)
    assert makes(shards) == {"shard-2": 1, "shard-1": 0}
    both = living("shard-0", "shard-1", "shard-2")
    assert rollout.step(shards, living=both, now=1.0) == (rollout, shards)
    rollout, shards = rollout.step(shards, living=living("shard-1", "shard-2"), now=2.0)
    assert makes(shards) == {"shard-2": 1, "shard-0": 1}
    rollout, shards = rollout.step(shards, living=living("shard-0", "shard-2"), now=3.0)
    assert (rollout, makes(shards)) == (Rollout(wanted=1, proven=1, loaded=1), {"shard-2": 1, "shard-0": 1})


def test_a_new_worker_that_fails_gives_its_shard_back_to_the_old_one() -> None:
    rollout, shards = loaded(1).step(TWO, living=living("shard-0", "shard-1"), now=0.0)
    rollout = rollout.failed(1, "it is broken")
    rollout, shards = rollout.step(shards, living=living("shard-0", "shard-1", "shard-2"), now=1.0)
    assert makes(shards) == {"shard-0": 0, "shard-1": 0}
    rollout, shards = rollout.step(shards, living=living("shard-0", "shard-1"), now=2.0)
    assert (rollout.moving, rollout.problem, rollout.proven) == (None, "it is broken", 0)
    assert rollout.step(shards, living=ALL, now=3.0) == (rollout, shards)
    assert rollout.want(2).spare == 2


def test_those_that_had_moved_before_one_failed_go_back_too() -> None:
    shards = [shard("shard-2", 1), shard("shard-3", 1), shard("shard-4", 0)]
    rollout = Rollout(wanted=1, loaded=1).failed(1, "it is broken")
    for old in ("shard-2", "shard-3"):
        rollout, shards = rollout.step(shards, living=living("shard-2", "shard-3", "shard-4"), now=1.0)
        assert rollout.moving is not None
        assert rollout.moving.old == old
        alive = {each.shard_id for each in shards}
        rollout, shards = rollout.step(shards, living=alive, now=2.0)
    assert set(makes(shards).values()) == {0}


def test_a_worker_that_does_not_take_over_in_time_has_failed() -> None:
    rollout, shards = loaded(1).step(TWO[:1], living=living("shard-0"), now=0.0)
    rollout, shards = rollout.step(shards, living=living("shard-0"), now=MOVED_WITHIN + 1)
    assert rollout.problem == "its Worker did not take over in time"
    assert makes(shards) == {"shard-0": 0}


def test_a_failure_of_a_make_that_is_not_on_trial_is_no_news() -> None:
    rollout = Rollout().want(1)
    assert rollout.failed(0, "dead") == rollout
    assert Rollout(wanted=1, proven=1).failed(1, "dead").problem is None


def test_no_shard_moves_before_a_spare_has_loaded_what_is_wanted() -> None:
    rollout, shards = Rollout().want(1).step(TWO, living=ALL, now=0.0)
    assert (rollout, shards, rollout.target, rollout.spare) == (Rollout(wanted=1), TWO, 0, 1)
    _, shards = replace(rollout, loaded=1).step(shards, living=living("shard-0", "shard-1"), now=1.0)
    assert makes(shards) == {"shard-2": 1, "shard-1": 0}


def test_what_cannot_be_loaded_is_refused_also_where_there_is_no_shard() -> None:
    rollout, _ = Rollout().want(1).failed(1, "no module of that name").step([], living=[], now=1.0)
    assert (rollout.proven, rollout.target, rollout.spare, rollout.problem) == (0, 0, 0, "no module of that name")


def test_where_there_is_no_shard_what_could_be_loaded_is_proven() -> None:
    rollout, _ = loaded(1).step([], living=[], now=1.0)
    assert rollout.proven == 1


def test_a_shard_that_moves_ends_its_move_before_it_begins_another() -> None:
    rollout, shards = loaded(1).step(TWO[:1], living=living("shard-0"), now=0.0)
    rollout = replace(rollout.want(2), loaded=2)
    both = living("shard-0", "shard-1")
    assert rollout.step(shards, living=both, now=1.0) == (rollout, shards)
    late, after = rollout.step(shards, living=both, now=MOVED_WITHIN + 1)
    assert makes(after) == {"shard-2": 2}
    assert late.moving is not None
    rollout, shards = rollout.step(shards, living=living("shard-1"), now=2.0)
    assert makes(shards) == {"shard-0": 2}


def test_a_shard_that_ends_under_way_is_forgotten() -> None:
    rollout, _ = loaded(1).step(TWO[:1], living=living("shard-0"), now=0.0)
    rollout, shards = rollout.step([], living=living("shard-0"), now=1.0)
    assert (rollout.moving, shards) == (None, [])


@pytest.mark.parametrize("seed", range(100))
def test_whatever_fails_every_shard_is_of_one_make_in_the_end(seed: int) -> None:
    random, rollout, shards, now = Random(seed), Rollout(), list(TWO), 0.0
    alive = {each.shard_id for each in shards}
    for turn in range(400):
        now += random.uniform(0, 20)
        if turn < 200 and random.random() < 0.05:
            rollout = rollout.want(random.randrange(4))
        if turn < 200 and random.random() < 0.05:
            rollout = rollout.failed(random.choice(shards).make, "it is broken")
        if random.random() < 0.3:
            rollout = replace(rollout, loaded=rollout.wanted)
        rollout, shards = rollout.step(shards, living=alive, now=now)
        wanted = {each.shard_id for each in shards}
        assert len(wanted) == 2
        alive |= {each for each in wanted if random.random() < 0.5}
        alive -= {each for each in alive - wanted if random.random() < 0.3}
    assert (rollout.moving, {each.make for each in shards}) == (None, {rollout.target})
