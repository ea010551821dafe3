"""Batchers on memory twins and `virtual_time`, a world in which everything goes wrong, and what must hold after it."""

import asyncio
import contextlib
import copy
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from streamward.batcher.batcher import Batcher, Outside
from streamward.batcher.parts import parts
from streamward.drivers.memory import MemoryDatabase, MemoryInsight
from streamward.drivers.memory.bus import MemoryBus, MemoryQueues
from streamward.drivers.memory.objects import MemoryObjects
from streamward.drivers.memory.open_batches import MemoryOpenBatches
from streamward.insight.batch import BatchId, Limits
from streamward.insight.rules import Rules
from streamward.insight.urgency import Trigger, Triggers
from streamward.leases.lease import Grant, Owner
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId, SiteId, TenantId
from streamward.model.message import Event, Message, of_event
from streamward.model.tenant import Tenant
from streamward.protocol import codec, events
from streamward.protocol.batches import ANALYSIS, analysis_request
from streamward.runtime.journal import Journal
from tests.support.clocks import LoopClock
from tests.support.shaky import Life, Shaky, Weather

CAMERAS = {"cam-1": "tenant-1", "cam-2": "tenant-1", "cam-3": "tenant-2"}
RULES = Rules(
    limits=Limits(window=9.0, idle=3.0, most=6, check_every=0.5),
    triggers=Triggers(analyse=Trigger(confidence=0.9, labels=frozenset({"fire"}))),
)
PORTS = ("detections", "batches", "rules", "records", "broadcasts", "analyses", "zone_events")
SETTLED_AFTER = 420.0  # seconds: what a dead batcher sealed is adopted, and what it left is swept

Alter = Callable[[Batcher], None]


@dataclass
class Process:
    """One batcher, and its life."""

    life: Life
    task: "asyncio.Task[None]"
    batcher: Batcher


@dataclass
class World:
    """Everything that outlives a batcher."""

    seed: int
    alter: Alter = lambda _: None
    rng: random.Random = field(init=False)
    clock: LoopClock = field(default_factory=LoopClock)
    wanted: set[str] = field(default_factory=set)  # event ids that must be stored
    stale: set[str] = field(default_factory=set)  # event ids that must not be
    published: int = 0
    rough_steps: int = 0  # calls while everything went wrong

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.weather = Weather(random.Random(self.seed + 1))
        self.db = MemoryDatabase(clock=self.clock)
        self.insight: Any = MemoryInsight(self.db, rules=RULES)
        self.index = MemoryOpenBatches(self._name)
        self.queues = MemoryQueues(self.clock)
        self.bus = MemoryBus(self.queues)
        self.processes: list[Process] = []
        self._kept: list[Any] = []  # what the index was, second by second

    def _name(self) -> BatchId:
        """By the seed too: the same names, the same story."""
        return BatchId(f"batch-{self.rng.getrandbits(128):032x}")

    async def open(self, batchers: int) -> None:
        """Tenants, first grants, and so many batchers."""
        for tenant in sorted(set(CAMERAS.values())):
            tenant_id = TenantId(tenant)
            self.db.tenants[tenant_id] = Tenant(
                tenant_id=tenant_id, tenant_key=f"~{tenant_id}", updated_at=self.clock.wall()
            )
        for camera in CAMERAS:
            self.grant(camera)
        await self.bus.declare(events.BATCHER)
        for _ in range(batchers):
            self.start()

    def start(self) -> None:
        """One more batcher."""
        life, journal = Life(self.weather), Journal()
        shared = parts(
            Shaky(self.insight, "database", life, parts=PORTS),
            Shaky(self.index, "index", life),
            otherwise=RULES,
            journal=journal,
            clock=self.clock,
        )
        bus: Any = Shaky(MemoryBus(self.queues), "bus", life)
        batcher = Batcher(Outside(parts=shared, bus=bus, objects=MemoryObjects()))
        self.alter(batcher)
        self.processes.append(Process(life, asyncio.create_task(_run(batcher)), batcher))

    async def kill(self, process: Process) -> None:
        """It ends between two of its steps, wherever it is; the broker notices."""
        process.life.is_over = True
        process.task.cancel()
        await asyncio.wait([process.task])
        self.processes.remove(process)

    def grant(self, camera: str) -> None:
        """Another owner gets a camera, dated after all that was seen before."""
        grants = self.db.grants.setdefault(CameraId(camera), {})
        generation = Generation(len(grants) + 1)
        owner = Owner(RunnerId(f"runner-{generation}"), Incarnation(f"inc-{generation}"))
        granted_at = self.clock.wall() + timedelta(microseconds=1)
        grants[generation] = Grant(
            camera_id=CameraId(camera),
            generation=generation,
            owner=owner,
            tenant_id=TenantId(CAMERAS[camera]),
            site_id=SiteId("site-1"),
            granted_at=granted_at,
        )

    async def publish(self) -> None:
        """A Worker tells what it saw: mostly now, sometimes from an old spool, sometimes after it lost its camera."""
        camera = self.rng.choice(sorted(CAMERAS))
        grants = self.db.grants[CameraId(camera)]
        generation = Generation(self.rng.choice([len(grants)] * 6 + sorted(grants)))
        after = grants.get(Generation(generation + 1))
        made_at = self.clock.wall() - timedelta(seconds=self.rng.choice([0.0] * 5 + [2.0, 5.0, 30.0]))
        self.published += 1
        name = events.event_id(camera, generation=generation, epoch=1, frame=self.published)
        is_stale = after is not None and made_at >= after.granted_at
        (self.stale if is_stale else self.wanted).add(name)
        message = _message(camera, grants[generation], made_at, frame=self.published, rng=self.rng)
        for _ in range(self.rng.choice([1, 1, 1, 2])):
            await self.bus.publish(message)

    def remember(self) -> None:
        """What the index is now, to be brought back later."""
        self._kept = [*self._kept[-9:], copy.deepcopy(self.index._shelves)]

    def lose(self, *, seconds: int | None) -> None:
        """The index is what it was some seconds ago, with all that was forgotten since; or empty, and says so."""
        if seconds is None:
            self.index.__init__(self._name)  # type: ignore[misc]
        elif len(self._kept) >= seconds:
            self.index._shelves = copy.deepcopy(self._kept[-seconds])

    async def told(self) -> dict[str, set[bytes]]:
        """What the analysis queue was told, by message id."""
        consumer = self.bus.consume(ANALYSIS.name, prefetch=1_000_000)
        found: dict[str, set[bytes]] = {}
        for each in await consumer.take(at_most=1_000_000, within=0.1):
            found.setdefault(each.message.message_id, set()).add(each.message.body)
        return found


async def _run(batcher: Batcher) -> None:
    async with batcher.running():
        await asyncio.get_running_loop().create_future()


def _message(camera: str, grant: Grant, made_at: Any, *, frame: int, rng: random.Random) -> Message:
    things = [
        events.SeenThing(label=rng.choice(["person", "fire"]), conf=rng.choice([0.5, 0.95]), bbox_xyxy=[0, 0, 1, 1])
        for _ in range(rng.choice([1, 1, 2, 8]))
    ]
    event = events.DetectionEvent(
        ts=made_at,
        runner_id=grant.owner.runner_id,
        shard_id="shard-1",
        tenant_id=CAMERAS[camera],
        site_id="site-1",
        camera_uuid=camera,
        frame_id=frame,
        fps=5.0,
        detections=things,
        latency=events.Latency(inference_s=0.01, e2e_s=0.02),
        generation=grant.generation,
        epoch=1,
        incarnation=grant.owner.incarnation,
        seq=frame,
        event_id=events.event_id(camera, generation=grant.generation, epoch=1, frame=frame),
        zone_events=[
            events.ZoneCrossed(type="enter", zone="door", track_id=1, label="person", ts=made_at, stayed_s=0.0)
        ],
    )
    key = events.routing_key("detections", tenant_id=CAMERAS[camera], site_id="site-1", camera_uuid=camera)
    told = Event(event_id=event.event_id, source="/runners/r", at=made_at, body=codec.encode(event))
    return replace(of_event(told, exchange=events.DETECTIONS, routing_key=key), is_mandatory=True)


async def rough(world: World, *, batchers: int, seconds: float) -> None:
    """Detections come while batchers die, the index forgets, and nobody can be relied on."""
    await world.open(batchers)
    end = world.clock.boot() + seconds
    second = 0.0
    while world.clock.boot() < end:
        await asyncio.sleep(world.rng.random() * 0.2)
        await world.publish()
        if world.clock.boot() >= second:
            second = world.clock.boot() + 1.0
            world.remember()
            await _something(world)
    world.rough_steps = world.weather.steps


async def _something(world: World) -> None:
    """What happens in one second, if anything."""
    rng = world.rng
    match rng.randrange(14):
        case 0:
            await world.kill(rng.choice(world.processes))
            world.start()
        case 1:
            world.lose(seconds=rng.choice([1, 1, 2, 5, 10]))
        case 2:
            world.lose(seconds=None)
        case 3:
            world.weather.away = {rng.choice(["database", "index", "bus"])}
        case 4:
            world.weather.failing = rng.choice([0.0, 0.02, 0.1])
        case 5:
            world.grant(rng.choice(sorted(CAMERAS)))
        case 6 | 7 | 8:
            world.weather.away = set()
        case _:
            pass


async def settle(world: World) -> None:
    """The weather is fair, and one batcher brings everything to its end."""
    world.weather.away, world.weather.failing = set(), 0.0
    for process in world.processes[1:]:
        await world.kill(process)
    await asyncio.sleep(SETTLED_AFTER)
    for process in list(world.processes):
        await world.kill(process)


async def violations(world: World) -> list[str]:
    """What does not hold of that which must."""
    db, found = world.db, []
    stored = {each.seen.event_id for each in db.detections.values()}
    crossed = {each.event_id for each in db.zone_events.values()}
    found += [f"{each} was lost" for each in sorted(world.wanted - (stored & crossed))]
    found += [f"{each} is stale and was accepted" for each in sorted(world.stale & (stored | crossed))]
    claimed: dict[int, str] = {}
    for batch_id, record in db.batches.items():
        for detection_id in record.batch.detection_ids:
            if detection_id in claimed:
                found.append(f"{detection_id} is in {batch_id} and in {claimed[detection_id]}")
            claimed[detection_id] = batch_id
    found += [f"{each} is in no batch" for each in sorted(db.detections.keys() - claimed.keys())]
    found += [
        f"{each.detection_id} is not in the batch that it names"
        for each in db.detections.values()
        if claimed.get(each.detection_id) != each.batch_id
    ]
    return found + await _untold(world) + _strange(world)


async def _untold(world: World) -> list[str]:
    told = await world.told()
    found = [f"{each} was never told" for each in sorted(world.db.batches.keys() - told.keys())]
    for name, bodies in told.items():
        record = world.db.batches.get(name)  # type: ignore[call-overload]
        if record is None or bodies != {codec.encode(analysis_request(record.batch))}:
            found.append(f"{name} was told as something else")
    return found


def _strange(world: World) -> list[str]:
    db, found = world.db, []
    for batch_id, record in db.batches.items():
        of = {
            (db.detections[each].seen.tenant_id, db.detections[each].seen.camera_id)
            for each in record.batch.detection_ids
        }
        if of != {(record.batch.tenant_id, record.batch.camera_id)}:
            found.append(f"{batch_id} mixes cameras, or is empty")
        if len(record.batch.detection_ids) > RULES.limits.most:
            found.append(f"{batch_id} is too large")
    return found


@contextlib.asynccontextmanager
async def a_world(seed: int, alter: Alter = lambda _: None) -> AsyncIterator[World]:
    """A world whose batchers end with it."""
    world = World(seed, alter)
    try:
        yield world
    finally:
        for process in list(world.processes):
            await world.kill(process)
