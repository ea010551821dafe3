"""A drill as a consumer like a batcher: it hears of every camera, and asks the fence about every detection.

What it waits for it looks at again and again, and says when it waited in vain.
"""

import asyncio
import contextlib
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from typing import Protocol

from streamward.drills.roles import ProcessFailed
from streamward.drills.takeover.account import Fenced
from streamward.drills.takeover.fleet import Fleet
from streamward.drills.takeover.ledger import Ledger, Term
from streamward.drivers.buses import open_bus
from streamward.leases.fence import Verdict
from streamward.leases.lease import Grant, Owner
from streamward.model.bus import Binding, Bus, BusAway, Delivery, Queue
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId, SiteId, TenantId
from streamward.model.secret import Secret
from streamward.protocol import codec
from streamward.protocol.events import DETECTIONS, STATUS, DetectionEvent
from streamward.protocol.lease_listing import LeasePage
from streamward.protocol.streams import StreamReport
from streamward.runtime.clock import Clock

PATIENCE = 120.0  # seconds until something counts as never
_QUEUE = Queue(name="drill.sink", bindings=(Binding(DETECTIONS, "detections.#"),), message_ttl=600.0)
_STATES = Queue(name="drill.states", bindings=(Binding(STATUS, "stream.status.#"),), message_ttl=600.0)
_LOOK_EVERY = 0.1
_SEEN_WITHIN = 3.0  # seconds since a runner's last word, for it to be there

Hear = Callable[[list[Delivery], float], Awaitable[None]]


class Ear(Protocol):
    """Whoever wants to hear everything, too; `now` is boot-time."""

    def heard_detection(self, event: DetectionEvent) -> None: ...
    def heard_status(self, report: StreamReport, now: float) -> None: ...


class Sink:
    """What is heard of a fleet."""

    def __init__(self, fleet: Fleet, *, clock: Clock, ear: Ear | None = None) -> None:
        self.ledger = Ledger()
        self.is_blind = False  # the control plane is away: what comes is judged when it is back
        self.judged_later: Counter[Verdict] = Counter()
        self._waiting: list[tuple[DetectionEvent, float]] = []  # with when each came
        self._kept = 0  # of these came while nobody could judge
        self._ear = ear
        self._fleet = fleet
        self._clock = clock

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Runs both consumers until the block is left; what one of them raises ends it."""
        amqp = self._fleet.spec.amqp
        bus = open_bus(Secret(amqp) if amqp else None, self._fleet.data, clock=self._clock)
        try:
            for queue in (_QUEUE, _STATES):
                await bus.declare(queue)
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(self._take(bus, _QUEUE, self._detections)),
                    group.create_task(self._take(bus, _STATES, self._statuses)),
                ]
                yield
                for task in tasks:
                    task.cancel()
        finally:
            await bus.close()

    async def start_runners(self) -> None:
        """All of the fleet; returns when it is steady."""
        for runner_id in self._fleet.spec.runner_ids:
            self._fleet.start_runner(runner_id)
        await self.until(self.is_steady, "the fleet to be steady")

    async def until(self, is_so: Callable[[], bool], what: str) -> None:
        """Looks again and again; TimeoutError if it does not come."""
        last = self._clock.boot() + PATIENCE
        while not await asyncio.to_thread(is_so):
            if self._clock.boot() > last:
                say(f"waited {PATIENCE:g} s in vain for {what}")
                raise TimeoutError
            await asyncio.sleep(_LOOK_EVERY)

    def is_steady(self) -> bool:
        """Whether every camera streams under its newest grant, and every runner is there with a Worker to spare."""
        page, listed = self._fleet.desk.leases(), self._fleet.desk.runners()
        streams = all(row.owner_id for row in page.items) and all(each in self.ledger.streaming for each in terms(page))
        known = {each.runner_id: each for each in listed.items}
        since = page.server_time - timedelta(seconds=_SEEN_WITHIN)
        are_there = all(
            (each := known.get(runner_id)) is not None and each.incarnation is not None and each.last_seen_at >= since
            for runner_id in self._fleet.runners
        )
        return streams and are_there and all(each.is_loaded for each in self._fleet.runners.values())

    def have_moved(self, had: list[Term]) -> bool:
        """Whether each camera streams and was seen under a later generation."""
        heard = self.ledger
        return all(heard.first_after(term, seen) for term in had for seen in (heard.streaming, heard.detected))

    def fenced(self) -> Fenced:
        """What the fence did so far."""
        heard = self.ledger
        return Fenced(
            live=heard.verdicts[Verdict.LIVE],
            late=heard.verdicts[Verdict.LATE],
            refused=heard.verdicts[Verdict.REFUSED],
            repeated=heard.repeated,
            stale=heard.stale,
            shared=heard.shared,
        )

    async def _take(self, bus: Bus, queue: Queue, heard: Hear) -> None:
        consumer = bus.consume(queue.name, prefetch=1000)
        try:
            while True:
                with contextlib.suppress(BusAway):
                    some = await consumer.take(at_most=500, within=1.0)
                    await heard(some, self._clock.boot())
                    await consumer.ack(some)
        finally:
            await consumer.close()

    async def _statuses(self, deliveries: list[Delivery], now: float) -> None:
        for each in deliveries:
            report = codec.decode(each.message.body, StreamReport)
            self.ledger.heard_status(report, now)
            if self._ear is not None:
                self._ear.heard_status(report, now)

    async def _detections(self, deliveries: list[Delivery], now: float) -> None:
        """As a sink does it: the grants are read after the detections came, and say what becomes of them."""
        events = [codec.decode(each.message.body, DetectionEvent) for each in deliveries]
        self._waiting += [(event, now) for event in events]
        if self._ear is not None:
            for event in events:
                self._ear.heard_detection(event)
        if self._waiting:
            await self._judge()

    async def _judge(self) -> None:
        """What waits, if the control plane tells the grants; else it waits on."""
        at = None if self.is_blind else await self._learned()
        if at is None:
            self._kept = len(self._waiting)
            return
        for place, (event, came) in enumerate(self._waiting):
            verdict = self.ledger.heard_detection(event, now=came, at=at)
            if verdict is not None and place < self._kept:
                self.judged_later[verdict] += 1
        self._waiting, self._kept = [], 0

    async def _learned(self) -> datetime | None:
        """The database's time before all grants were read; None: the control plane went away meanwhile."""
        try:
            return await asyncio.to_thread(self._learn)
        except ProcessFailed:
            if self.is_blind:
                return None
            raise

    def _learn(self) -> datetime:
        """Reads all grants that are new; returns the database's time before."""
        page = self._fleet.desk.leases()
        for row in page.items:
            if row.version and Generation(row.version) not in self.ledger.grants(CameraId(row.camera_uuid)):
                self.ledger.granted(self._history(row.camera_uuid))
        return page.server_time

    def _history(self, camera: str) -> list[Grant]:
        return [
            Grant(
                camera_id=CameraId(camera),
                generation=Generation(each.version),
                owner=Owner(RunnerId(each.owner_id), Incarnation(each.incarnation)),
                tenant_id=TenantId(each.tenant_id),
                site_id=SiteId(each.site_id),
                granted_at=each.granted_at,
                ended_at=each.ended_at,
                made_until=each.made_until,
            )
            for each in self._fleet.desk.lease(camera).grants
        ]


def terms(page: LeasePage, *, of: str | None = None) -> list[Term]:
    """The newest generation of each camera, of one runner or of all."""
    return [
        Term(CameraId(row.camera_uuid), Generation(row.version)) for row in page.items if of in {None, row.owner_id}
    ]


def busiest(page: LeasePage) -> str:
    """Who has the most cameras."""
    owners = [row.owner_id for row in page.items if row.owner_id]
    return max(sorted(set(owners)), key=owners.count)


def say(what: str) -> None:
    """How it goes."""
    print(what, file=sys.stderr, flush=True)  # noqa: T201
