"""Who is suspected after a crash, who runs alone, and for how long."""

import signal

import pytest

from streamward.leases.quarantine import MOST_BLOCKING, TRUSTED_AFTER, Quarantine, is_crash
from streamward.leases.sharding import Shard
from streamward.model.ids import CameraId, ShardId, TenantId

ONE, TWO, THREE = CameraId("cam-1"), CameraId("cam-2"), CameraId("cam-3")


def shard(name: str, *cameras: CameraId) -> Shard:
    return Shard(shard_id=ShardId(name), tenant_id=TenantId("t-01"), cameras=cameras)


@pytest.mark.parametrize(
    ("number", "expected"),
    [(signal.SIGSEGV, True), (signal.SIGABRT, True), (signal.SIGKILL, False), (signal.SIGTERM, False), (None, False)],
)
def test_a_crash_is_a_signal_that_nobody_sends(number, expected):
    assert is_crash(number) is expected


def test_a_suspect_runs_alone_and_its_neighbours_without_it():
    quarantine = Quarantine().accuse([TWO], now=0.0)
    assert quarantine.isolate([shard("shard-0", ONE, TWO, THREE)]) == [
        shard("shard-0", ONE, THREE),
        shard("alone-0", TWO),
    ]


def test_without_suspects_the_plan_is_left_as_it_is():
    plan = [shard("shard-0", ONE, TWO), shard("shard-1", THREE)]
    assert Quarantine().isolate(plan) == plan


def test_a_camera_that_is_alone_already_stays_where_it_is():
    assert Quarantine().accuse([ONE], now=0.0).isolate([shard("shard-0", ONE)]) == [shard("shard-0", ONE)]


def test_when_all_are_suspects_each_is_alone():
    quarantine = Quarantine().accuse([TWO, ONE, TWO], now=0.0)
    assert quarantine.isolate([shard("shard-0", ONE, TWO)]) == [shard("alone-0", ONE), shard("alone-1", TWO)]


def test_a_second_crash_keeps_the_shard_and_begins_the_hour_anew():
    quarantine = Quarantine().accuse([ONE], now=0.0).accuse([ONE], now=100.0)
    assert [(each.shard_id, each.crashed_at) for each in quarantine.suspects] == [("alone-0", 100.0)]
    assert quarantine.trusted(TRUSTED_AFTER + 99.0) == quarantine


def test_whoever_behaved_for_an_hour_is_back_and_its_shards_name_is_not_used_again():
    quarantine = Quarantine().accuse([ONE], now=0.0).trusted(TRUSTED_AFTER)
    assert quarantine.isolate([shard("shard-0", ONE, TWO)]) == [shard("shard-0", ONE, TWO)]
    assert [each.shard_id for each in quarantine.accuse([ONE], now=TRUSTED_AFTER).suspects] == ["alone-1"]


def test_when_a_detector_blocks_with_ever_more_cameras_it_is_not_them():
    quarantine = Quarantine()
    for number in range(MOST_BLOCKING):
        camera_id = CameraId(f"cam-{number}")
        assert quarantine.room_for([camera_id]) == {camera_id}
        quarantine = quarantine.accuse([camera_id], now=0.0)
    assert quarantine.room_for([ONE, CameraId("cam-99")]) == {ONE}
