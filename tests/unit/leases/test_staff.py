"""Shards, makes, suspects and processes in one plan."""

from dataclasses import replace

from streamward.leases.sharding import OwnedCamera
from streamward.leases.staff import Seated, Staff
from streamward.leases.supervision import (
    MOST_RESTARTS,
    STEADY,
    EndWorker,
    GiveSpare,
    StartWorker,
    Worker,
)
from streamward.model.ids import CameraId, ShardId, SiteId, TenantId
from streamward.model.runner import Making

ZERO, ONE = ShardId("shard-0"), ShardId("shard-1")
SPARE = Seated(worker=Worker(number=9, shard_id=None, is_ready=True), born_at=0.0)


def cameras(*names: str) -> list[OwnedCamera]:
    acme, site = TenantId("acme"), SiteId("site-1")
    return [OwnedCamera(camera_id=CameraId(name), tenant_id=acme, site_id=site) for name in names]


def a_seat(shard_id: ShardId, *names: str, number: int = 1, born_at: float = 0.0, has_begun: bool = True) -> Seated:
    worker = Worker(number=number, shard_id=shard_id, is_ready=True)
    cameras = frozenset(map(CameraId, names))
    return Seated(worker=worker, born_at=born_at, has_begun=has_begun, cameras=cameras)


def planned(*names: str) -> Staff:
    staff, _ = Staff().step(cameras(*names), [], target=4, now=0.0)
    return staff


def rolled_out(staff: Staff) -> Staff:
    """Another make is wanted, and a spare has it."""
    wanting = staff.want(1)
    return replace(wanting, rollout=replace(wanting.rollout, loaded=1))


def test_a_shard_gets_the_spare_and_another_spare_is_started() -> None:
    staff, actions = Staff().step(cameras("cam-1"), [SPARE], target=4, now=0.0)
    assert [shard.shard_id for shard in staff.planned] == [ZERO]
    assert actions == [GiveSpare(9, ZERO), StartWorker(None)]


def test_the_old_worker_stays_while_a_planned_camera_runs_in_it() -> None:
    staff = rolled_out(planned("cam-1"))
    old = a_seat(ZERO, "cam-1")
    staff, actions = staff.step(cameras("cam-1"), [old, SPARE], target=4, now=1.0)
    assert [(shard.shard_id, shard.make) for shard in staff.planned] == [(ONE, 1)]
    assert actions == [GiveSpare(9, ONE), StartWorker(None)]
    _, actions = staff.step(cameras("cam-1"), [a_seat(ZERO), a_seat(ONE, "cam-1", number=9)], target=4, now=2.0)
    assert EndWorker(1) in actions


def test_a_fresh_start_begins_with_what_an_earlier_one_knew_to_work_until_its_spare_has_more() -> None:
    assert Staff().want(3, before=Making(proven=3, tried=3)).rollout.target == 3
    staff = Staff().want(3, before=Making(proven=2, tried=2))
    assert (staff.rollout.target, staff.rollout.spare) == (2, 3)
    loaded, _ = staff.step([], [replace(SPARE, loaded=3)], target=4, now=1.0)
    assert loaded.rollout.proven == 3


def test_a_spare_that_dies_while_it_loads_what_is_on_trial_fails_it() -> None:
    staff = planned("cam-1").want(1)
    assert staff.died(SPARE, how="killed", now=1.0).rollout.problem is None
    assert staff.died(replace(SPARE, loading=1), how="killed", now=1.0).rollout.problem == "killed"


def test_a_shard_is_not_given_to_a_spare_that_loads_something_else() -> None:
    staff = Staff().want(1)
    _, actions = staff.step(cameras("cam-1"), [replace(SPARE, loading=1)], target=4, now=1.0)
    assert actions == [StartWorker(ZERO)]
    _, actions = staff.step(cameras("cam-1"), [replace(SPARE, loading=0)], target=4, now=1.0)
    assert actions == [GiveSpare(9, ZERO), StartWorker(None)]


def test_what_was_refused_is_not_tried_again_though_nothing_runs_any_more() -> None:
    staff = rolled_out(planned("cam-1"))
    staff, _ = staff.step(cameras("cam-1"), [a_seat(ZERO, "cam-1")], target=4, now=1.0)
    staff, _ = staff.failed(ONE, "it is broken").step([], [], target=4, now=2.0)
    assert staff.want(1).rollout.target == 0
    assert staff.want(2).rollout.spare == 2


def test_what_an_earlier_start_refused_is_not_tried_again() -> None:
    before = Making(proven=1, tried=2, problem="it is broken")
    for staff, proven in ((Staff(), 1), (planned("cam-1"), 0)):
        rollout = staff.want(2, before=before).rollout
        assert (rollout.wanted, rollout.target, rollout.problem) == (2, proven, "it is broken")


def test_a_worker_that_dies_fails_its_make_and_a_crash_sets_cameras_apart() -> None:
    staff = rolled_out(planned("cam-1", "cam-2"))
    staff, _ = staff.step(cameras("cam-1", "cam-2"), [a_seat(ZERO, "cam-1")], target=4, now=1.0)
    dead = a_seat(ONE, "cam-1", born_at=1.0)
    staff = staff.died(dead, accused=[CameraId("cam-1")], how="it is broken", now=2.0)
    assert staff.rollout.problem == "it is broken"
    assert [shard.cameras for shard in staff.planned] == [(CameraId("cam-2"),), (CameraId("cam-1"),)]
    assert staff.failed(ShardId("nobody"), "dead") == staff


def test_who_keeps_dying_is_given_up_and_forgiven_when_it_lives() -> None:
    staff = planned("cam-1")
    for _ in range(MOST_RESTARTS + 1):
        staff = staff.not_born(ZERO, now=1.0)
    assert list(staff.given_up([])) == ["cam-1"]
    assert list(staff.given_up([ZERO])) == []
    staff, _ = staff.step(cameras("cam-1"), [a_seat(ZERO, "cam-1", born_at=1.0)], target=4, now=2.0 + STEADY)
    assert list(staff.given_up([])) == []


def test_what_is_neither_planned_nor_there_is_forgotten() -> None:
    staff = planned("cam-1").not_born(ZERO, now=1.0)
    staff, _ = staff.step([], [], target=4, now=2.0)
    assert staff.past == {}


def test_shards_are_packed_when_nothing_else_moves() -> None:
    names = [f"cam-{number}" for number in range(6)]
    staff = planned(*names)
    assert len(staff.planned) == 2
    left = [names[0], names[-1]]
    seats = [a_seat(ZERO, names[0]), a_seat(ONE, names[-1], number=2)]
    staff, _ = staff.step(cameras(*left), seats, target=4, now=1.0)
    assert [shard.cameras for shard in staff.planned] == [tuple(left)]


def test_a_make_is_proven_only_when_its_worker_has_begun_though_the_old_one_is_dead() -> None:
    staff = rolled_out(planned("cam-1"))
    staff, _ = staff.step(cameras("cam-1"), [a_seat(ZERO, "cam-1")], target=4, now=1.0)
    staff, _ = staff.step(cameras("cam-1"), [a_seat(ONE, has_begun=False)], target=4, now=2.0)
    assert staff.rollout.proven == 0
    begun, _ = staff.step(cameras("cam-1"), [a_seat(ONE)], target=4, now=3.0)
    assert begun.rollout.proven == 1
    staff = staff.died(a_seat(ONE, has_begun=False), how="it is broken", now=3.0)
    assert staff.rollout.target == 0


def test_a_shard_of_suspects_only_moves_too() -> None:
    both, alone = ["cam-1", "cam-2"], [ShardId("alone-0.1"), ShardId("alone-1.1")]
    staff = planned(*both).died(a_seat(ZERO, *both), accused=map(CameraId, both), how="a crash", now=0.0)
    seats = [a_seat(ShardId(f"alone-{at}"), name, number=at) for at, name in enumerate(both)]
    staff, _ = rolled_out(staff).step(cameras(*both), seats, target=4, now=1.0)
    assert [shard.shard_id for shard in staff.planned] == alone
    seats += [a_seat(shard_id, number=at + 2) for at, shard_id in enumerate(alone)]
    staff, _ = staff.step(cameras(*both), seats, target=4, now=2.0)
    assert staff.rollout.moving is not None
    seats = [a_seat(shard_id, name, number=at + 2) for at, (shard_id, name) in enumerate(zip(alone, both, strict=True))]
    staff, _ = staff.step(cameras(*both), seats, target=4, now=3.0)
    assert (staff.rollout.moving, staff.rollout.proven) == (None, 1)


def test_a_camera_that_crashes_whatever_looks_at_it_does_not_fail_a_make() -> None:
    staff = planned("cam-1").died(a_seat(ZERO), accused=[CameraId("cam-1")], how="a crash", now=0.0)
    staff, _ = rolled_out(staff).step(cameras("cam-1"), [a_seat(ZERO, "cam-1")], target=4, now=1.0)
    again = staff.died(a_seat(ONE), accused=[CameraId("cam-1")], how="a crash", now=2.0)
    assert again.rollout.problem is None
    assert staff.died(a_seat(ONE), how="exit code 10", now=2.0).rollout.problem == "exit code 10"


def test_nobody_else_is_called_like_a_shard_that_may_come_back() -> None:
    staff = rolled_out(planned("cam-1"))
    staff, _ = staff.step(cameras("cam-1"), [a_seat(ZERO, "cam-1")], target=4, now=1.0)
    other = OwnedCamera(camera_id=CameraId("cam-2"), tenant_id=TenantId("globex"), site_id=SiteId("site-2"))
    staff, _ = staff.step([*cameras("cam-1"), other], [], target=4, now=2.0)
    assert [shard.shard_id for shard in staff.planned] == [ONE, "shard-2"]
