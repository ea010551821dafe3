"""How often a Worker is tried again, and what a Manager does for its shards and its spare."""

import math

from hypothesis import given
from hypothesis import strategies as st

from streamward.leases.sharding import Shard
from streamward.leases.supervision import (
    MOST_RESTARTS,
    PROBE_EVERY,
    STEADY,
    Action,
    EndWorker,
    GiveSpare,
    Past,
    Restarts,
    StartWorker,
    Worker,
    plan,
)
from streamward.model.ids import CameraId, ShardId, TenantId

A, B = ShardId("shard-0"), ShardId("shard-1")
CALM = Past(by_shard={})


def shards(*names: ShardId) -> list[Shard]:
    return [Shard(shard_id=name, tenant_id=TenantId("t-01"), cameras=(CameraId(f"cam-{name}"),)) for name in names]


def dying(times: int, *, every: float = 1.0, lived_for: float = 0.0) -> Restarts:
    past = Restarts()
    for death in range(times):
        past = past.died(death * every, lived_for=lived_for)
    return past


def test_the_first_restart_is_at_once_and_each_further_one_waits_longer():
    waits = [dying(times).retry_at - (times - 1) for times in range(1, MOST_RESTARTS + 1)]
    assert waits == [0.0, 0.5, 1.0, 2.0, 4.0]


def test_more_deaths_within_a_minute_than_the_budget_degrade():
    assert not dying(MOST_RESTARTS).is_degraded
    past = dying(MOST_RESTARTS + 1)
    assert past.is_degraded
    assert not past.is_due(MOST_RESTARTS + PROBE_EVERY - 0.1)
    assert past.is_due(MOST_RESTARTS + PROBE_EVERY)


def test_deaths_of_more_than_a_minute_ago_do_not_count():
    past = dying(40, every=15.0, lived_for=14.0)
    assert (len(past.deaths), past.is_degraded) == (4, False)


def test_a_probe_that_dies_leaves_it_degraded_and_the_memory_bounded():
    past = dying(30, every=70.0)
    assert not past.is_degraded
    for probe in range(20):
        past = dying(MOST_RESTARTS + 1) if probe == 0 else past.died(probe * 100.0, lived_for=1.0)
        assert past.is_degraded
        assert len(past.deaths) <= MOST_RESTARTS


def test_a_worker_that_lived_for_a_minute_has_its_whole_budget_again():
    past = dying(MOST_RESTARTS + 1)
    assert past.proven(lived_for=STEADY - 1) is past
    assert past.proven(lived_for=STEADY) == Restarts()
    later = past.died(500.0, lived_for=STEADY)
    assert (later.is_degraded, later.retry_at) == (False, 500.0)


def test_every_shard_gets_a_worker_and_one_is_kept_to_spare():
    assert plan(shards(B, A), [], CALM, now=0.0) == [StartWorker(A), StartWorker(B), StartWorker(None)]


def test_a_shard_takes_the_spare_that_is_ready_and_another_takes_its_place():
    spare = Worker(number=7, shard_id=None, is_ready=True)
    assert plan(shards(A), [spare], CALM, now=0.0) == [GiveSpare(7, A), StartWorker(None)]


def test_a_spare_that_still_loads_is_not_waited_for():
    spare = Worker(number=7, shard_id=None)
    assert plan(shards(A), [spare], CALM, now=0.0) == [StartWorker(A)]


def test_of_several_spares_the_ready_one_stays():
    spares = [Worker(number=1, shard_id=None), Worker(number=2, shard_id=None, is_ready=True)]
    assert plan([], spares, CALM, now=0.0) == [EndWorker(1)]


def test_nothing_is_done_when_everything_is_as_it_should_be():
    workers = [Worker(number=1, shard_id=A), Worker(number=2, shard_id=None)]
    assert plan(shards(A), workers, CALM, now=0.0) == []


def test_a_worker_that_nobody_wants_is_ended_and_of_two_for_one_shard_the_later():
    workers = [Worker(number=3, shard_id=A), Worker(number=1, shard_id=A), Worker(number=2, shard_id=B)]
    spare = Worker(number=4, shard_id=None)
    assert plan(shards(A), [*workers, spare], CALM, now=0.0) == [EndWorker(2), EndWorker(3)]


def test_a_shard_waits_until_its_old_worker_has_ended():
    workers = [Worker(number=1, shard_id=A, is_ending=True), Worker(number=2, shard_id=None, is_ready=True)]
    assert plan(shards(A), workers, CALM, now=0.0) == []


def test_a_spare_that_ends_is_no_spare():
    assert plan([], [Worker(number=1, shard_id=None, is_ending=True)], CALM, now=0.0) == [StartWorker(None)]


def test_what_is_not_due_is_left_and_said_when_it_will_be():
    past = Past(by_shard={A: dying(3)}, spare=dying(4))
    assert plan(shards(A, B), [], past, now=2.5) == [StartWorker(B)]
    assert past.next_due(2.5) == 3.0
    assert past.next_due(4.0) == 5.0
    assert past.next_due(math.inf) is None


Crew = st.lists(
    st.builds(
        Worker,
        number=st.integers(1, 9),
        shard_id=st.sampled_from([None, A, B, ShardId("gone")]),
        is_ready=st.booleans(),
        is_ending=st.booleans(),
    ),
    max_size=6,
    unique_by=lambda worker: worker.number,
)


def carried_out(workers: list[Worker], actions: list[Action]) -> list[Worker]:
    crew = {worker.number: worker for worker in workers}
    for action in actions:
        match action:
            case EndWorker(number):
                del crew[number]
            case GiveSpare(number, shard_id):
                crew[number] = Worker(number=number, shard_id=shard_id, is_ready=True)
            case StartWorker(shard_id):
                number = max(crew, default=0) + 1
                crew[number] = Worker(number=number, shard_id=shard_id)
    return [*crew.values()]


@given(Crew, st.integers(0, 12))
def test_a_plan_cut_anywhere_is_completed_by_the_next_and_no_shard_ever_has_two(workers, cut):
    wanted = shards(A, B)
    crew = carried_out(workers, plan(wanted, workers, CALM, now=0.0)[:cut])
    crew = [worker for worker in carried_out(crew, plan(wanted, crew, CALM, now=0.0)) if not worker.is_ending]
    crew = carried_out(crew, plan(wanted, crew, CALM, now=0.0))
    assert sorted(str(worker.shard_id) for worker in crew) == ["None", "shard-0", "shard-1"]
    assert plan(wanted, crew, CALM, now=0.0) == []
