"""Each Worker has the share of a site's pace that it has of the site's cameras, and is told when that changes."""

from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from streamward.leases.reconcile import Running
from streamward.leases.sharding import Shard
from streamward.model.ids import CameraId, Generation, ShardId, TenantId
from streamward.protocol import worker_link
from streamward.protocol.sites import SiteBudget
from streamward.protocol.worker_link import SetPace
from streamward.runner.crew import Seat
from streamward.runner.known import KnownCameras
from streamward.runner.pacing import READ_EVERY, Pacer
from tests.support.builders import START
from tests.support.clocks import ManualClock
from tests.support.granted import SITE, a_source, granted

BUDGET = SiteBudget(
    site_id=SITE,
    tokens=10.0,
    capacity=10,
    refill_rate=120.0,
    reserve=8.0,
    reserve_size=8,
    in_flight=0,
    waiting=0,
    dialed_in_s=0.0,
    updated_at=START,
)


@dataclass
class FakeChannel:
    """Keeps what is told."""

    told: list[SetPace] = field(default_factory=list)

    def send(self, content: bytes) -> None:
        self.told.append(cast("SetPace", worker_link.read_order(content)))


@dataclass
class Host:
    """A Manager's side: Workers with cameras, and a control plane that tells a budget."""

    clock: ManualClock = field(default_factory=lambda: ManualClock(START))
    budget: SiteBudget | None = BUDGET
    reads: int = 0
    seats: dict[int, Seat] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = KnownCameras(self)
        self.shards: list[Shard] = []
        self.pacer = Pacer(self, lambda: self.shards, self.known, self, self.clock)

    async def get(self, path: str, kind: type[Any], *, within: float) -> Any:
        assert (path, kind, within > 0) == (f"/v1/sites/{SITE}/budget", SiteBudget, True)
        self.reads += 1
        return self.budget

    def plan(self, *cameras: str) -> None:
        """All Workers are of one shard with these cameras."""
        named = tuple(map(CameraId, cameras))
        self.shards = [Shard(shard_id=ShardId("s"), tenant_id=TenantId("acme"), cameras=named)]

    def seat(self, number: int, *cameras: str) -> FakeChannel:
        channel = FakeChannel()
        running = Running(worker=number, generation=Generation(3), revision=1, epoch=1)
        seat = Seat(number, 1, cast("Any", channel), cast("Any", None), 0.0, 0.0, shard_id=ShardId("s"), port=4000)
        seat.cameras = dict.fromkeys(map(CameraId, cameras), running)
        for camera in cameras:
            self.known.granted(msgspec.structs.replace(granted(a_source()), camera_uuid=camera))
        self.seats[number] = seat
        return channel


def pace(per_minute: float, burst: float) -> SetPace:
    return SetPace(site_id=SITE, per_minute=per_minute, burst=burst)


async def test_each_worker_is_told_its_share_once():
    host = Host()
    one, two = host.seat(1, "cam-1"), host.seat(2, "cam-2", "cam-3")
    for _ in range(3):
        await host.pacer.tick()
    assert (one.told, two.told) == ([pace(15.0, 1.25)], [pace(30.0, 2.5)])
    assert host.reads == 1


async def test_a_share_follows_cameras_and_budget():
    host = Host()
    one = host.seat(1, "cam-1")
    await host.pacer.tick()
    host.seats[1].cameras[CameraId("cam-2")] = host.seats[1].cameras[CameraId("cam-1")]
    host.known.granted(msgspec.structs.replace(granted(a_source()), camera_uuid="cam-2"))
    await host.pacer.tick()
    host.clock.advance(READ_EVERY)
    host.budget = msgspec.structs.replace(BUDGET, reserve_size=4)
    await host.pacer.tick()
    assert one.told == [pace(15.0, 1.25), pace(30.0, 2.5), pace(60.0, 5.0)]


async def test_who_follows_a_dead_worker_is_told_anew_and_nobody_gets_more_than_all():
    host = Host(budget=msgspec.structs.replace(BUDGET, reserve_size=0))
    host.seat(1, "cam-1")
    await host.pacer.tick()
    del host.seats[1]
    await host.pacer.tick()
    again = host.seat(1, "cam-1")
    await host.pacer.tick()
    assert again.told == [pace(120.0, 10.0)]


async def test_while_nothing_is_known_nothing_is_told():
    host = Host(budget=None)
    one = host.seat(1, "cam-1")
    await host.pacer.tick()
    host.budget = BUDGET
    host.seats[1].shard_id = None  # it is the spare
    await host.pacer.tick()
    assert one.told == []
    host.seats[1].shard_id = ShardId("s")
    await host.pacer.tick()
    assert one.told == [pace(15.0, 1.25)]


async def test_a_worker_that_begins_knows_its_share_of_all_that_it_will_have():
    host = Host()
    host.seat(1, "cam-1", "cam-2")
    await host.pacer.tick()
    host.plan("cam-1", "cam-2")
    green = host.seat(2)
    host.seats[2].port = None  # it has not begun, and has no camera yet
    host.pacer.tell()
    assert green.told == [pace(30.0, 2.5)]
    host.seats[2].cameras = dict(host.seats[1].cameras)
    host.pacer.tell()
    assert len(green.told) == 1
