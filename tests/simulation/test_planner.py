"""A day of operators who change cameras and roll out models, and of Workers that die, on virtual time."""

from random import Random

import pytest

from streamward.leases.sharding import OwnedCamera
from streamward.model.ids import CameraId, SiteId, TenantId
from tests.support.planned_host import PlannedHost

DAY = 24 * 3600.0
MOST = 40  # cameras: what the runner may hold


def act(host: PlannedHost) -> None:
    """Something that operators or fate do."""
    deeds = {add: 8, remove: 4, edit: 4, roll_out: 1, kill: 1, resize: 0.3}
    (deed,) = host.random.choices(list(deeds), list(deeds.values()))
    deed(host)


def add(host: PlannedHost) -> None:
    for _ in range(min(host.random.randint(1, 6), MOST - len(host.owned))):
        name, tenant = CameraId(f"cam-{host.random.randrange(10**6)}"), host.random.choice(["red", "blue"])
        site = SiteId(f"{tenant}-{host.random.randrange(5)}")
        host.owned[name] = OwnedCamera(camera_id=name, tenant_id=TenantId(tenant), site_id=site)


def remove(host: PlannedHost) -> None:
    for camera_id in host.random.sample(sorted(host.owned), min(len(host.owned), host.random.randint(1, 6))):
        del host.owned[camera_id]


def edit(host: PlannedHost) -> None:
    for camera_id in host.random.sample(sorted(host.owned), min(1, len(host.owned))):
        host.revisions[camera_id] = host.revisions.get(camera_id, 0) + 1


def roll_out(host: PlannedHost) -> None:
    host.staff = host.staff.want(host.random.randrange(5))


def kill(host: PlannedHost) -> None:
    for number in host.random.sample(sorted(host.processes), min(1, len(host.processes))):
        host.kill(number, is_crash=host.random.random() < 0.5)


def resize(host: PlannedHost) -> None:
    host.target = host.random.choice([4, 8, 12])


def settle(host: PlannedHost, *, within: float) -> None:
    """Until a look at a host that had settled changes nothing any more."""
    until = host.now + within
    while True:
        assert host.now < until, "it does not converge"
        had_settled, before = host.is_settled(), host.staff.planned
        host.look()
        host.pass_time(host.random.uniform(0.1, 1.0))
        if had_settled and host.is_settled() and host.staff.planned == before:
            return


@pytest.mark.parametrize("seed", range(6))
def test_a_day_of_changes_always_converges_and_moves_nobody_without_cause(seed: int) -> None:
    random = Random(seed)
    host = PlannedHost(random, target=12)
    while host.now < DAY:
        for _ in range(random.randint(1, 3)):
            act(host)
            host.look()
            host.pass_time(random.uniform(0.0, 2.0))
        settle(host, within=600.0)
        moves, suspects = host.moves, host.staff.quarantine.suspects
        for _ in range(5):
            host.look()
            host.pass_time(random.uniform(0.0, 60.0))
        # Nothing happened, so nobody moves but who is trusted again.
        assert host.moves == moves or host.staff.quarantine.suspects != suspects
        host.now += random.uniform(0.0, 300.0)
