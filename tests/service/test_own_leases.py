"""A Worker without a Manager, against the real application: it runs what it holds, and nothing else."""

import pytest

from streamward.leases.lease import Owner
from streamward.leases.policy import FAST, trusted_for
from streamward.model.ids import CameraId, Incarnation, RunnerId
from streamward.runner.own_leases import OwnLeases
from tests.support.app import ControlUnderTest
from tests.support.links import InProcess

ONE, TWO = CameraId("cam-1"), CameraId("cam-2")


class Fleet:
    """Two Workers that want the same cameras."""

    def __init__(self) -> None:
        self.control = ControlUnderTest()
        self.links = [InProcess(self.control, name) for name in ("r1", "r2")]
        self.leases = [self._leases(name, link) for name, link in zip(("r1", "r2"), self.links, strict=True)]

    def _leases(self, name: str, link: InProcess) -> OwnLeases:
        return OwnLeases(Owner(RunnerId(name), Incarnation("inc-1")), link, clock=self.control.clock)


@pytest.fixture
async def fleet() -> Fleet:
    fleet = Fleet()
    await fleet.control.with_cameras(ONE, TWO)
    for name in ("r1", "r2"):
        await fleet.control.runner(name).post("/v1/runners/register", {"runner_id": name})
    return fleet


async def test_a_camera_is_run_by_who_holds_it(fleet: Fleet) -> None:
    first, second = fleet.leases
    for leases in (first, second):
        leases.want(ONE)
        await leases.tick()
    assert (first.holds(ONE), second.holds(ONE)) == (True, False)
    now = fleet.control.clock.boot()
    stamp = first.stamp(ONE, arrived=now, now=now)
    assert stamp is not None
    assert (stamp.generation, stamp.made_at) == (1, fleet.control.clock.wall())
    assert second.stamp(ONE, arrived=now, now=now) is None


async def test_a_frame_from_before_the_grant_is_nobodys(fleet: Fleet) -> None:
    leases = fleet.leases[0]
    fleet.control.clock.advance(10)
    leases.want(ONE)
    await leases.tick()
    now = fleet.control.clock.boot()
    assert leases.stamp(ONE, arrived=now - 0.1, now=now) is None


async def test_a_lease_is_not_trusted_when_nobody_answers(fleet: Fleet) -> None:
    leases = fleet.leases[0]
    leases.want(ONE)
    await leases.tick()
    fleet.links[0].is_away = True
    fleet.control.clock.advance(trusted_for(FAST.ttl) - 0.1)
    await leases.tick()
    assert leases.holds(ONE)
    fleet.control.clock.advance(0.1)
    assert not leases.holds(ONE)
    now = fleet.control.clock.boot()
    assert leases.stamp(ONE, arrived=now, now=now) is None


async def test_renewals_keep_it_and_keep_its_generation(fleet: Fleet) -> None:
    leases = fleet.leases[0]
    leases.want(ONE)
    for _ in range(20):
        await leases.tick()
        await fleet.control.pass_time(2)
    now = fleet.control.clock.boot()
    await leases.tick()
    stamp = leases.stamp(ONE, arrived=now, now=now)
    assert stamp is not None
    assert stamp.generation == 1


async def test_what_was_given_back_is_somebody_elses_at_once(fleet: Fleet) -> None:
    first, second = fleet.leases
    first.want(ONE)
    first.want(TWO)
    await first.tick()
    await first.give_back()
    assert not first.holds(ONE)
    second.want(ONE)
    await second.tick()
    assert second.holds(ONE)


async def test_giving_back_names_the_last_moment_that_was_stamped(fleet: Fleet) -> None:
    first = fleet.leases[0]
    first.want(ONE)
    await first.tick()
    now = fleet.control.clock.boot()
    stamp = first.stamp(ONE, arrived=now + 1.5, now=now + 1.5)  # its stamps lead the database's clock a little
    await first.give_back()
    lease = await fleet.control.store.find(ONE)
    assert stamp is not None
    assert lease is not None
    assert lease.made_until == stamp.made_at


async def test_a_lease_that_was_lost_is_let_go(fleet: Fleet) -> None:
    leases = fleet.leases[0]
    leases.want(ONE)
    await leases.tick()
    path = f"/v1/cameras/{ONE}"
    await fleet.control.operator().patch(path, {"enabled": False}, if_match="*")
    await leases.tick()
    assert not leases.holds(ONE)


def test_without_an_answer_the_database_s_time_is_this_host_s(fleet: Fleet) -> None:
    assert fleet.leases[0].database_time(0.0) == fleet.control.clock.wall()
