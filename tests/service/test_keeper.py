"""The keeper as a service, on virtual time: what it does with leases whose owners fell silent."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from streamward.control.keeper import ReclaimKeeper
from streamward.drivers.memory import MemoryDatabase, MemoryStore
from streamward.leases import facts
from streamward.leases.lease import Owner
from streamward.leases.store import Claim, Granted
from streamward.model.camera import LeasePolicyName, Site
from streamward.model.ids import CameraId, Incarnation, RunnerId, SiteId, TenantId
from streamward.model.runner import RunnerSpec
from streamward.runtime.bell import Bell
from streamward.runtime.journal import Journal
from streamward.runtime.service import Service
from streamward.runtime.virtual_time import run
from tests.support.builders import a_camera
from tests.support.clocks import LoopClock

T = TypeVar("T")

SITE, TENANT = SiteId("site-1"), TenantId("tenant-1")
CAMERA = CameraId("cam-1")
SILENT = Owner(RunnerId("silent"), Incarnation("i1"))
HEARD = Owner(RunnerId("heard"), Incarnation("i1"))


class Beats:
    """A runner that is heard every second."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def tick(self) -> float:
        await self._store.heartbeat(HEARD)
        return 1.0


@dataclass
class Kept:
    """One camera, leased to a runner that is never heard of again."""

    journal: Journal
    clock: LoopClock


def keeping(scene: Callable[[Kept], Awaitable[T]], *, policy: LeasePolicyName, room: int = 1) -> T:
    """Plays a scene with a keeper at work, and another runner with room for so many cameras."""

    async def play() -> T:
        clock, journal = LoopClock(), Journal()
        store = MemoryStore(MemoryDatabase(clock=clock), clock=clock, bell=Bell("test"))
        await store.save_site(Site(site_id=SITE, tenant_id=TENANT))
        await store.save_camera(a_camera(CAMERA, site=SITE, tenant=TENANT))
        for owner, capacity in ((SILENT, 1), (HEARD, room)):
            spec = RunnerSpec(
                runner_id=owner.runner_id, incarnation=owner.incarnation, policy=policy, capacity=capacity
            )
            await store.register(spec)
        assert isinstance(await store.acquire(Claim(owner=SILENT, camera_id=CAMERA)), Granted)
        keeper = Service("keeper", ReclaimKeeper(store, journal), journal=journal)
        async with keeper, Service("beats", Beats(store), journal=journal):
            return await scene(Kept(journal, clock))

    return run(play())


def test_a_lease_is_orphaned_as_it_expires_not_at_the_next_scan():
    async def scene(kept: Kept) -> float:
        await kept.journal.first(facts.LeaseOrphaned)
        return kept.clock.boot()

    assert 8.0 <= keeping(scene, policy=LeasePolicyName.FAST) < 9.1


def test_a_jump_of_the_databases_clock_is_told_and_expires_nothing_for_one_ttl():
    async def scene(kept: Kept) -> float:
        kept.clock.shift = 3600.0
        await kept.journal.first(facts.DatabaseClockJumped)
        jumped_at = kept.clock.boot()
        await kept.journal.first(facts.LeaseOrphaned)
        return kept.clock.boot() - jumped_at

    assert 8.0 <= keeping(scene, policy=LeasePolicyName.FAST) < 9.1


def test_a_sticky_lease_is_reclaimed_ten_minutes_after_its_last_renewal():
    async def scene(kept: Kept) -> tuple[float, bool]:
        reclaimed = await kept.journal.first(facts.LeaseReclaimed, within=1000)
        return kept.clock.boot(), reclaimed.hard

    at, hard = keeping(scene, policy=LeasePolicyName.STICKY)
    assert 600 <= at < 602
    assert hard


def test_under_capacity_pressure_a_sticky_lease_is_reclaimed_as_it_expires():
    async def scene(kept: Kept) -> tuple[float, bool]:
        reclaimed = await kept.journal.first(facts.LeaseReclaimed, within=1000)
        return kept.clock.boot(), reclaimed.hard

    at, hard = keeping(scene, policy=LeasePolicyName.STICKY, room=0)
    assert 90 <= at < 92
    assert not hard
