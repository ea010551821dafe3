"""Random stories for a store, as data: drawn once, told to several worlds, and each answer compared.

Names are few, so that operations meet. Generations and instants are drawn relative to the moment at which they are
used, and looked up in one world for all.
"""

from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from random import Random
from typing import Any

from streamward.leases.lease import Lease, Owner
from streamward.leases.store import CameraFilter, Claim, Dial, Lapse, Named, OpenClaim, Renewal, Renewed
from streamward.model.camera import LeasePolicyName
from streamward.model.ids import CameraId, Generation, RunnerId, SiteId, TenantId
from streamward.model.runner import DrainMode
from streamward.model.status import StreamState
from tests.support import fleet
from tests.support.builders import a_camera, a_site, a_spec, a_status, an_owner
from tests.support.stores import World

CAMERAS = tuple(CameraId(f"cam-{number}") for number in range(1, 6))
SITES = (SiteId("site-1"), SiteId("site-2"))
TENANTS = (TenantId("tenant-1"), TenantId("tenant-2"))
RUNNERS = (RunnerId("r1"), RunnerId("r2"), RunnerId("r3"))
SCOPES = (None, *TENANTS)


@dataclass(frozen=True)
class Step:
    """One call, its arguments relative to the moment."""

    verb: str
    args: tuple[Any, ...]


class Which(StrEnum):
    """Which start of a runner speaks."""

    CURRENT = "current"
    OLD = "old"  # the one before
    FRESH = "fresh"  # one that was never heard of


@dataclass(frozen=True)
class Moment:
    """What relative arguments refer to."""

    leases: dict[CameraId, Lease]
    incarnations: dict[str, list[str]]  # by runner, as they came

    def owner(self, runner: str, which: Which) -> Owner:
        known = self.incarnations.setdefault(runner, [])
        if which is Which.FRESH or not known:
            known.append(f"{runner}-{len(known)}")
        return an_owner(runner, incarnation=known[-2] if which is Which.OLD and len(known) > 1 else known[-1])

    def generation(self, camera_id: CameraId, behind: int | None) -> Generation | None:
        if behind is None:
            return None
        return Generation(max(0, self.leases.get(camera_id, Lease(camera_id=camera_id)).generation - behind))

    def named(self, owner: Owner, leases: "Wanted", made_until: datetime | None = None) -> list[Named]:
        """All that the owner holds, if asked for, and what else is listed."""
        everything, others = leases
        held = [
            Named(lease.camera_id, lease.generation, made_until)
            for lease in self.leases.values()
            if everything and lease.owner == owner
        ]
        return held + [Named(camera, self.generation(camera, behind), made_until) for camera, behind in others]


Who = tuple[str, Which]
Wanted = tuple[bool, Sequence[tuple[CameraId, int | None]]]
Tell = Callable[..., Awaitable[Any]]


async def advance(world: World, _: Moment, seconds: float) -> None:
    await world.advance(seconds)


async def sleep(world: World, _: Moment, seconds: float) -> None:
    await world.sleep(seconds)


async def step_clock(world: World, _: Moment, seconds: float) -> None:
    await world.step_database_clock(seconds)


async def restart(world: World, _: Moment) -> None:
    await world.restart()


async def save_camera(
    world: World, _: Moment, camera_id: str, flags: tuple[bool, bool], place: tuple[str, str]
) -> None:
    enabled, do_not_process = flags
    site, tenant = place
    await world.store.save_camera(
        a_camera(camera_id, enabled=enabled, do_not_process=do_not_process, site=site, tenant=tenant)
    )


async def remove_camera(world: World, _: Moment, camera_id: CameraId, scope: TenantId | None) -> bool:
    return await fleet.remove_camera(world.store, camera_id, scope=scope)


async def save_site(world: World, _: Moment, site: str, policy: LeasePolicyName | None, capacity: int) -> None:
    await world.store.save_site(replace(a_site(site, policy=policy), dials=capacity, dials_per_minute=capacity * 12.0))


async def register(world: World, moment: Moment, who: Who, terms: dict[str, Any]) -> Any:
    return await world.store.register(a_spec(moment.owner(*who), **terms))


async def end(world: World, moment: Moment, who: Who) -> Any:
    return sorted(await world.store.end(moment.owner(*who)))


async def heartbeat(world: World, moment: Moment, who: Who) -> Any:
    return await world.store.heartbeat(moment.owner(*who))


async def change_runner(world: World, _: Moment, runner_id: RunnerId, change: dict[str, Any]) -> Any:
    return await fleet.change_runner(world.store, runner_id, **change)


async def acquire(world: World, moment: Moment, who: Who, camera_id: CameraId, ttl: float | None) -> Any:
    return await world.store.acquire(Claim(owner=moment.owner(*who), camera_id=camera_id, ttl=ttl))


async def acquire_free(world: World, moment: Moment, who: Who, limit: int) -> Any:
    return await world.store.acquire_free(OpenClaim(owner=moment.owner(*who), limit=limit))


async def renew(world: World, moment: Moment, who: Who, leases: Wanted, ttl: float | None) -> Any:
    owner = moment.owner(*who)
    outcome = await world.store.renew(Renewal(owner=owner, leases=tuple(moment.named(owner, leases)), ttl=ttl))
    if isinstance(outcome, Renewed):  # the order of what was not named is the database's
        return replace(outcome, unlisted=tuple(sorted(outcome.unlisted, key=lambda each: each.camera_id)))
    return outcome


async def release(world: World, moment: Moment, who: Who, leases: Wanted, made_ago: float | None) -> Any:
    owner, made_until = moment.owner(*who), None if made_ago is None else world.clock.ago(made_ago)
    return await world.store.release(owner, moment.named(owner, leases, made_until))


async def lapse(world: World, _: Moment) -> Lapse:
    outcome = await world.store.lapse()
    return replace(outcome, orphaned=tuple(sorted(outcome.orphaned)))


async def reclaim(world: World, moment: Moment, camera_id: CameraId, behind: int) -> bool:
    generation = moment.generation(camera_id, behind)
    assert generation is not None
    return await world.store.reclaim(camera_id, generation)


async def pause(world: World, moment: Moment, camera_id: CameraId) -> None:
    if camera_id in moment.leases:
        await world.pause(camera_id)


async def consume(world: World, moment: Moment, dial: tuple[SiteId, CameraId | None], scope: TenantId | None) -> Any:
    return await world.store.consume(_dial(moment, *dial), scope=scope)


async def finish(world: World, moment: Moment, dial: tuple[SiteId, CameraId | None], scope: TenantId | None) -> Any:
    return await world.store.finish(_dial(moment, *dial), scope=scope)


async def record(
    world: World, moment: Moment, who: Who, reports: Sequence[tuple[CameraId, int | None, StreamState]]
) -> int:
    return await world.store.record([
        a_status(camera_id, owner=moment.owner(*who), state=state, generation=moment.generation(camera_id, behind))
        for camera_id, behind, state in reports
    ])


async def look(world: World, _: Moment) -> list[Any]:
    """Everything that the store would tell."""
    store = world.store
    return [
        [(await store.find(camera_id), await store.history(camera_id)) for camera_id in CAMERAS],
        [await store.find_status(camera_id) for camera_id in CAMERAS],
        [await store.page(CameraFilter(scope=scope, enabled=True, limit=3)) for scope in SCOPES],
        [(await store.site_load(site), await store.budget(site, scope=None)) for site in SITES],
        sorted(await store.orphans(), key=lambda orphan: orphan.camera_id),
        await store.counts(),
        await store.runners(),
    ]


def _dial(moment: Moment, site_id: SiteId, camera_id: CameraId | None) -> Dial:
    generation = None if camera_id is None else moment.generation(camera_id, 0)
    return Dial(site_id=site_id, camera_id=camera_id, generation=generation)


class Draw:
    """Arguments from one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)

    def one(self, *choices: Any) -> Any:
        return self.rng.choice(choices)

    def who(self) -> Who:
        return self.one("r1", "r1", "r2", "r2", "r3"), self.one(*[Which.CURRENT] * 14, Which.OLD)

    def camera(self) -> CameraId:
        return self.rng.choice(CAMERAS)

    def behind(self) -> int | None:
        return self.rng.choice([0, 0, 0, 0, None, 1])

    def ttl(self) -> float | None:
        return self.rng.choice([None, None, None, 2.0, 2.0, 30.0])

    def wanted(self) -> Wanted:
        others = [(self.camera(), self.behind()) for _ in range(self.one(0, 0, 1, 3))]
        return self.one(True, True, False), others

    def spec(self) -> dict[str, Any]:
        return {
            "site": self.one(None, None, None, *SITES),
            "tenant": self.one(None, None, None, *TENANTS),
            "policy": self.one(*LeasePolicyName),
            "capacity": self.one(None, 1, 2, 3),
        }

    def change(self) -> dict[str, Any]:
        flags = {
            "cordoned": self.one(None, True, False, False),
            "drain": self.one(None, DrainMode.SOFT, DrainMode.NONE, DrainMode.NONE),
            "capacity": self.one(None, 0, 2, 40),
        }
        return {name: flag for name, flag in flags.items() if flag is not None}

    def reports(self) -> list[tuple[CameraId, int | None, StreamState]]:
        return [(self.camera(), self.behind(), self.one(*StreamState)) for _ in range(self.one(1, 2, 4))]

    def dial(self) -> tuple[SiteId, CameraId | None]:
        return self.one(*SITES), self.one(None, *CAMERAS)

    def flags(self) -> tuple[bool, bool]:
        return self.rng.choice([(True, False)] * 5 + [(False, False), (True, True)])

    def place(self) -> tuple[str, str]:
        return self.rng.choice([("site-1", "tenant-1")] * 4 + [("site-2", "tenant-1")] * 3 + [("site-1", "tenant-2")])


# How often each verb comes, how it is told, and how its arguments are drawn.
VERBS: dict[str, tuple[int, Tell, Callable[[Draw], tuple[Any, ...]]]] = {
    "advance": (10, advance, lambda d: (d.one(*[0.1, 1.0, 1.9, 2.0, 2.1, 4.0, 7.9, 8.1, 16.0] * 3, 95.0, 650.0),)),
    "sleep": (1, sleep, lambda d: (d.one(0.5, 2.9, 3.1, 8.1, 95.0),)),
    "acquire": (12, acquire, lambda d: (d.who(), d.camera(), d.ttl())),
    "acquire_free": (5, acquire_free, lambda d: (d.who(), d.one(0, 1, 2, 40))),
    "renew": (8, renew, lambda d: (d.who(), d.wanted(), d.ttl())),
    "release": (3, release, lambda d: (d.who(), d.wanted(), d.one(None, 0.0, 1.0, -1.0))),
    "lapse": (8, lapse, lambda _: ()),
    "reclaim": (3, reclaim, lambda d: (d.camera(), d.one(0, 0, 1))),
    "pause": (2, pause, lambda d: (d.camera(),)),
    "step_clock": (2, step_clock, lambda d: (d.one(-3600.0, -20.0, -2.0, -0.5, -0.5, 0.5, 2.0, 20.0, 3600.0),)),
    "restart": (1, restart, lambda _: ()),
    "save_camera": (4, save_camera, lambda d: (d.camera(), d.flags(), d.place())),
    "remove_camera": (1, remove_camera, lambda d: (d.camera(), d.one(*SCOPES))),
    "save_site": (1, save_site, lambda d: (d.one(*SITES), d.one(None, *LeasePolicyName), d.one(1, 2, 10))),
    "register": (4, register, lambda d: ((d.one(*RUNNERS), d.one(*Which, Which.FRESH)), d.spec())),
    "end": (1, end, lambda d: (d.who(),)),
    "heartbeat": (5, heartbeat, lambda d: (d.who(),)),
    "change_runner": (2, change_runner, lambda d: (d.one(*RUNNERS), d.change())),
    "consume": (5, consume, lambda d: (d.dial(), d.one(None, *SCOPES))),
    "finish": (1, finish, lambda d: (d.dial(), d.one(None, *SCOPES))),
    "record": (3, record, lambda d: (d.who(), d.reports())),
    "look": (1, look, lambda _: ()),
}
_FLEET = (
    Step("save_site", (SITES[0], None, 10)),
    Step("save_site", (SITES[1], LeasePolicyName.STICKY, 2)),
    *(Step("save_camera", (camera_id, (True, False), ("site-1", "tenant-1"))) for camera_id in CAMERAS[:3]),
    Step("save_camera", (CAMERAS[3], (True, False), ("site-2", "tenant-1"))),
    Step("register", (("r1", Which.FRESH), {})),
    Step("register", (("r2", Which.FRESH), {"policy": LeasePolicyName.STICKY, "capacity": 2})),
)


def story(seed: int, *, length: int) -> list[Step]:
    """A fleet is set up, anything happens, and everything is looked at."""
    draw = Draw(seed)
    verbs = draw.rng.choices(list(VERBS), weights=[often for often, _, _ in VERBS.values()], k=length)
    return [*_FLEET, *(Step(verb, VERBS[verb][2](draw)) for verb in verbs), Step("look", ())]


class Teller:
    """Tells steps to several worlds alike; what is relative is looked up in the first."""

    def __init__(self, *worlds: World) -> None:
        self._worlds = worlds
        self._incarnations: dict[str, list[str]] = {}

    async def tell(self, step: Step) -> list[Any]:
        """Each world's answer."""
        known = [await self._worlds[0].store.find(camera_id) for camera_id in CAMERAS]
        leases = {lease.camera_id: lease for lease in known if lease is not None}
        moments = [Moment(leases, deepcopy(self._incarnations)) for _ in self._worlds]
        answers = [
            await VERBS[step.verb][1](world, moment, *step.args)
            for world, moment in zip(self._worlds, moments, strict=True)
        ]
        self._incarnations = moments[0].incarnations
        return answers
