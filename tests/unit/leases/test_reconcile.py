"""Which cameras begin and end in which Worker, and that nothing else is touched."""

import pytest

from streamward.leases.reconcile import AddCamera, DropCamera, Running, Wanted, reconcile
from streamward.model.ids import CameraId, Generation, ShardId

ONE, TWO = CameraId("cam-1"), CameraId("cam-2")
A, B = ShardId("shard-0"), ShardId("shard-1")
WORKERS = {A: 1, B: 2}


def wanted(shard: ShardId = A, generation: int = 3, revision: int = 1) -> Wanted:
    return Wanted(shard_id=shard, generation=Generation(generation), revision=revision)


def running(worker: int = 1, *, is_stopping: bool = False) -> Running:
    return Running(worker=worker, generation=Generation(3), revision=1, is_stopping=is_stopping)


def test_what_is_right_is_not_touched() -> None:
    assert reconcile({ONE: wanted()}, {ONE: running()}, WORKERS) == []


def test_what_runs_nowhere_is_added_where_there_is_a_worker() -> None:
    assert reconcile({ONE: wanted(), TWO: wanted(B)}, {}, WORKERS) == [AddCamera(1, ONE), AddCamera(2, TWO)]
    assert reconcile({ONE: wanted()}, {}, {B: 2}) == []


@pytest.mark.parametrize("other", [None, wanted(generation=4), wanted(revision=2), wanted(B)])
def test_what_is_not_wanted_or_not_so_is_dropped_and_added_only_when_it_has_stopped(other: Wanted | None) -> None:
    desired = {} if other is None else {ONE: other}
    assert reconcile(desired, {ONE: running()}, WORKERS) == [DropCamera(1, ONE)]
    assert reconcile(desired, {ONE: running(is_stopping=True)}, WORKERS) == []


def test_a_camera_whose_shard_gets_another_worker_goes_on_until_that_is_there() -> None:
    assert reconcile({ONE: wanted()}, {ONE: running(worker=7)}, {B: 2}) == []
    assert reconcile({ONE: wanted()}, {ONE: running(worker=7)}, WORKERS) == [DropCamera(7, ONE)]


def test_drops_come_before_adds() -> None:
    steps = reconcile({TWO: wanted()}, {ONE: running()}, WORKERS)
    assert steps == [DropCamera(1, ONE), AddCamera(1, TWO)]
