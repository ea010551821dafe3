"""One batcher on memory twins whose services are ticked by hand, and Workers that publish what they see."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal

from streamward.batcher.analysing import Analysing
from streamward.batcher.batcher import Batcher, Outside
from streamward.batcher.parts import Parts, parts
from streamward.drivers.memory import MemoryDatabase, MemoryInsight
from streamward.drivers.memory.bus import MemoryBus, MemoryQueues
from streamward.drivers.memory.objects import MemoryObjects
from streamward.drivers.memory.open_batches import MemoryOpenBatches
from streamward.insight.rules import Rules
from streamward.insight.store import IndexAway
from streamward.leases.lease import Grant, Owner
from streamward.leases.store import StoreUnavailable
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId, TenantId
from streamward.model.message import Event, Message, of_event
from streamward.model.tenant import Tenant
from streamward.protocol import codec, events
from streamward.protocol.batches import ANALYSIS
from streamward.runtime.journal import Journal
from tests.support.builders import CAMERA, SITE, TENANT
from tests.support.clocks import START, ManualClock

OWNERS = {generation: Owner(RunnerId("r1"), Incarnation(f"inc-{generation}")) for generation in range(1, 9)}


def a_thing(label: str = "person", conf: float = 0.75, *, track_id: int | None = None) -> events.SeenThing:
    return events.SeenThing(label=label, conf=conf, bbox_xyxy=[1.0, 2.0, 30.0, 40.0], track_id=track_id)


def a_crossing(kind: Literal["enter", "dwell", "leave"] = "enter", **changes: Any) -> events.ZoneCrossed:
    values = {"zone": "door", "track_id": 7, "label": "person", "ts": START, "stayed_s": 0.0, **changes}
    return events.ZoneCrossed(type=kind, **values)


def an_event(made_at: datetime, *, frame: int = 1, generation: int = 1, **changes: Any) -> events.DetectionEvent:
    values: dict[str, Any] = {
        "ts": made_at,
        "runner_id": OWNERS[generation].runner_id,
        "shard_id": "shard-1",
        "tenant_id": TENANT,
        "site_id": SITE,
        "camera_uuid": CAMERA,
        "frame_id": frame,
        "fps": 5.0,
        "detections": [a_thing()],
        "latency": events.Latency(inference_s=0.01, e2e_s=0.02),
        "generation": generation,
        "epoch": 1,
        "incarnation": OWNERS[generation].incarnation,
        "seq": frame,
        "event_id": events.event_id(CAMERA, generation=generation, epoch=1, frame=frame),
    }
    return events.DetectionEvent(**(values | changes))


def told(event: events.DetectionEvent) -> Message:
    """The message that a Worker publishes."""
    key = events.routing_key(
        "detections", tenant_id=event.tenant_id, site_id=event.site_id, camera_uuid=event.camera_uuid
    )
    about = Event(event_id=event.event_id, source="/runners/r1", at=event.ts, body=codec.encode(event))
    return replace(of_event(about, exchange=events.DETECTIONS, routing_key=key), is_mandatory=True)


class Failing:
    """Anything, some of whose calls fail for now."""

    def __init__(self, thing: Any, error: Exception) -> None:
        self._thing, self._error = thing, error
        self.failing: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        async def fail(*_: Any, **__: Any) -> None:
            raise self._error

        return fail if name in self.failing else getattr(self._thing, name)


class Desk:
    """The batcher, and all that it works on."""

    def __init__(self, rules: Rules | None = None, *, analysing: Analysing | None = None) -> None:
        self.clock = ManualClock()
        self.db = MemoryDatabase(clock=self.clock)
        self.insight: Any
        self.rules = rules or Rules()
        self._analysing = analysing
        self.insight = MemoryInsight(self.db, rules=self.rules)
        self.detections: Any = Failing(self.insight.detections, StoreUnavailable("simulated"))
        self.batches: Any = Failing(self.insight.batches, StoreUnavailable("simulated"))
        self.zone_events: Any = Failing(self.insight.zone_events, StoreUnavailable("simulated"))
        self.insight.detections, self.insight.batches = self.detections, self.batches
        self.insight.zone_events = self.zone_events
        self.index: Any = Failing(MemoryOpenBatches(), IndexAway("simulated", "told to"))
        self.queues = MemoryQueues(self.clock)
        self.bus = MemoryBus(self.queues)
        self.objects = MemoryObjects()
        self.journal = Journal()
        self.facts: list[Any] = []
        self.journal.subscribe(self.facts.append)
        self.db.tenants[TENANT] = Tenant(
            tenant_id=TenantId(TENANT), tenant_key=f"~{TENANT}", updated_at=self.clock.wall()
        )
        self.grant()
        self.batcher = self.another()

    def another(self) -> Batcher:
        """One more batcher on the same."""
        return Batcher(Outside(parts=self.parts(), bus=self.bus, objects=self.objects, analysing=self._analysing))

    def parts(self) -> Parts:
        return parts(self.insight, self.index, otherwise=self.rules, journal=self.journal, clock=self.clock)

    def grant(self) -> Generation:
        """The camera gets a new owner."""
        grants = self.db.grants.setdefault(CameraId(CAMERA), {})
        generation = Generation(len(grants) + 1)
        grants[generation] = Grant(
            camera_id=CAMERA,
            generation=generation,
            owner=OWNERS[generation],
            tenant_id=TenantId(TENANT),
            site_id=SITE,
            granted_at=self.clock.wall(),
        )
        return generation

    async def see(self, *seconds: float, generation: int = 1, **changes: Any) -> None:
        """Events are published that were made so many seconds after now."""
        await self.bus.declare(events.BATCHER)
        for ahead in seconds:
            frame = self.queues.published + 1
            made_at = self.clock.wall() + timedelta(seconds=ahead)
            await self.bus.publish(told(an_event(made_at, frame=frame, generation=generation, **changes)))

    async def take_in(self) -> None:
        """The intake takes what waits."""
        await self.batcher.intake.tick()

    def waiting(self, queue: str) -> list[Message]:
        return [entry.message for entry in self.queues.by_name[queue].ready.values()]

    def told(self) -> list[Message]:
        """What the analysis queue has."""
        return self.waiting(ANALYSIS.name)

    def of(self, kind: type) -> list[Any]:
        """The facts of a kind."""
        return [fact for fact in self.facts if isinstance(fact, kind)]
