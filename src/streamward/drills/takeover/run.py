"""`streamward drill takeover` and `drill drain`: runs it, shows how it goes, and says what it came to."""

import asyncio
import contextlib
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from streamward.drills.roles import ProcessFailed, folder, ran
from streamward.drills.takeover import parts, report
from streamward.drills.takeover.account import Account, Fenced, How, Moved, Takeover, judge
from streamward.drills.takeover.fleet import Fleet, FleetSpec, fleet
from streamward.drills.takeover.ledger import Ledger, Term
from streamward.drivers.buses import open_bus
from streamward.leases.fence import Verdict
from streamward.leases.lease import Grant, Owner
from streamward.model.bus import Binding, Bus, BusAway, Delivery, Queue
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId
from streamward.model.runner import DrainMode
from streamward.model.secret import Secret
from streamward.protocol import codec
from streamward.protocol.events import DETECTIONS, STATUS, DetectionEvent
from streamward.protocol.lease_listing import LeasePage
from streamward.protocol.streams import StreamReport
from streamward.runtime.clock import SystemClock

QUEUE = Queue(name="drill.sink", bindings=(Binding(DETECTIONS, "detections.#"),), message_ttl=600.0)
STATES = Queue(name="drill.states", bindings=(Binding(STATUS, "stream.status.#"),), message_ttl=600.0)
PATIENCE = 120.0  # seconds until something counts as never
_LOOK_EVERY = 0.1
_SEEN_WITHIN = 3.0  # seconds since a runner's last word, for it to be there
_AFTERMATH = 2.0  # seconds for what a thawed runner still has to say
_DRAINS = {How.DRAIN: DrainMode.HARD, How.SOFT: DrainMode.SOFT}

Hear = Callable[[list[Delivery], float], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillSpec:
    """What is to be done."""

    fleet: FleetSpec = field(default_factory=lambda: FleetSpec(folder=Path()))  # its folder is chosen at the start
    how: How = How.KILL
    times: int = 20
    seed: int | None = None
    data: Path | None = None


def main(spec: DrillSpec, *, as_json: bool = False) -> int:
    """Runs the drill and prints what it came to; 1 if an objective was missed."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended like this, too, it ends what it started
    with folder(spec.data, called="takeover") as place, fleet(replace(spec.fleet, folder=place)) as serving:
        account = ran(Drill(spec, serving).run())
    print(report.as_json(account) if as_json else f"\n{report.table(account)}")  # noqa: T201
    return 0 if all(each.is_met for each in account.objectives) else 1


class Drill:
    """One run."""

    def __init__(self, spec: DrillSpec, serving: Fleet) -> None:
        self._spec = spec
        self._fleet = serving
        self._clock = SystemClock()
        self._ledger = Ledger()
        self._seed = secrets.randbelow(1 << 32) if spec.seed is None else spec.seed
        self._random = Random(self._seed)  # noqa: S311 - repeatable, not secret

    async def run(self) -> Account:
        """From the start of the runners to the last takeover."""
        began = self._clock.boot()
        amqp = self._spec.fleet.amqp
        bus = open_bus(Secret(amqp) if amqp else None, self._fleet.data, clock=self._clock)
        try:
            for queue in (QUEUE, STATES):
                await bus.declare(queue)
            async with self._listening(bus):
                takeovers = await self._all()
        finally:
            await bus.close()
        return self._account(takeovers, seconds=self._clock.boot() - began)

    async def _all(self) -> list[Takeover]:
        done = []
        for number in range(self._spec.fleet.runners):
            await asyncio.to_thread(self._fleet.start_runner, f"runner-{chr(ord('a') + number)}")
        self._say(f"{self._spec.fleet.runners} runners start (seed {self._seed})")
        await self._until(self._is_steady, "the fleet to be steady")
        for number in range(1, self._spec.times + 1):
            done.append(await self._one(number))
            self._say(report.line(done[-1]))
        await asyncio.sleep(_AFTERMATH)
        return done

    async def _one(self, number: int) -> Takeover:
        """One blow at a random phase of the renewal; the fleet is whole again afterwards."""
        await asyncio.sleep(self._random.uniform(0.0, self._spec.fleet.renew_every))
        page = await asyncio.to_thread(self._fleet.leases)
        victim = _busiest(page)
        terms = [
            Term(CameraId(row.camera_uuid), Generation(row.version)) for row in page.items if row.owner_id == victim
        ]
        load, struck, at = os.getloadavg()[0], self._clock.boot(), datetime.now(UTC)
        await asyncio.to_thread(self._blow(victim))
        with contextlib.suppress(TimeoutError):
            await self._until(lambda: self._have_moved(terms), "every camera to stream elsewhere")
        await self._mend(victim, struck=struck)
        with contextlib.suppress(TimeoutError):
            await self._until(self._is_steady, "the fleet to be steady")
        lines = await asyncio.to_thread(self._lines)
        moved = [self._moved(term, lines, struck=struck, at=at) for term in terms]
        return Takeover(number=number, how=self._spec.how, victim=victim, load=round(load, 1), moved=moved)

    def _blow(self, victim: str) -> Callable[[], None]:
        match self._spec.how:
            case How.KILL:
                return lambda: self._fleet.kill(victim)
            case How.FREEZE:
                return lambda: self._fleet.freeze(victim)
            case How.DRAIN | How.SOFT as how:
                return lambda: self._fleet.drain(victim, _DRAINS[how])

    async def _mend(self, victim: str, *, struck: float) -> None:
        match self._spec.how:
            case How.KILL:
                await asyncio.to_thread(self._fleet.runners[victim].role.end)
                await asyncio.to_thread(self._fleet.start_runner, victim)
            case How.FREEZE:
                beyond = struck + 1.5 * self._spec.fleet.ttl - self._clock.boot()
                await asyncio.sleep(max(0.0, beyond))
                self._fleet.thaw(victim)
                await asyncio.sleep(_AFTERMATH)
            case How.DRAIN | How.SOFT:
                await asyncio.to_thread(self._fleet.drain, victim, DrainMode.NONE)

    def _have_moved(self, terms: list[Term]) -> bool:
        heard = self._ledger
        return all(heard.first_after(term, seen) for term in terms for seen in (heard.streaming, heard.detected))

    def _is_steady(self) -> bool:
        """Whether every camera streams under its newest grant, and every runner is there with a Worker to spare."""
        page, listed = self._fleet.leases(), self._fleet.listed()
        streams = all(
            row.owner_id and Term(CameraId(row.camera_uuid), Generation(row.version)) in self._ledger.streaming
            for row in page.items
        )
        known = {each.runner_id: each for each in listed.items}
        since = page.server_time - timedelta(seconds=_SEEN_WITHIN)
        are_there = all(
            (each := known.get(runner_id)) is not None and each.incarnation is not None and each.last_seen_at >= since
            for runner_id in self._fleet.runners
        )
        return streams and are_there and all(each.is_loaded for each in self._fleet.runners.values())

    async def _until(self, is_so: Callable[[], bool], what: str) -> None:
        """Looks again and again; TimeoutError if it does not come."""
        last = self._clock.boot() + PATIENCE
        while not await asyncio.to_thread(is_so):
            self._alive()
            if self._clock.boot() > last:
                self._say(f"waited {PATIENCE:g} s in vain for {what}")
                raise TimeoutError
            await asyncio.sleep(_LOOK_EVERY)

    def _alive(self) -> None:
        for each in self._fleet.runners.values():
            if self._spec.how is not How.KILL and each.role.process.poll() is not None:
                raise ProcessFailed(each.role.name, each.role.trouble)

    @contextlib.asynccontextmanager
    async def _listening(self, bus: Bus) -> AsyncIterator[None]:
        """Runs both consumers until the block is left; what one of them raises ends it."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._take(bus, QUEUE, self._detections)),
                group.create_task(self._take(bus, STATES, self._statuses)),
            ]
            yield
            for task in tasks:
                task.cancel()

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
            self._ledger.heard_status(codec.decode(each.message.body, StreamReport), now)

    async def _detections(self, deliveries: list[Delivery], now: float) -> None:
        """As a sink does it: the grants are read after the detections came, and say what becomes of them."""
        events = [codec.decode(each.message.body, DetectionEvent) for each in deliveries]
        if not events:
            return
        at = await asyncio.to_thread(self._learn)
        for event in events:
            self._ledger.heard_detection(event, now=now, at=at)

    def _learn(self) -> datetime:
        """Reads all grants that are new; returns the database's time before."""
        page = self._fleet.leases()
        for row in page.items:
            if row.version and Generation(row.version) not in self._ledger.grants(CameraId(row.camera_uuid)):
                self._ledger.granted(self._history(row.camera_uuid))
        return page.server_time

    def _history(self, camera: str) -> list[Grant]:
        return [
            Grant(
                camera_id=CameraId(camera),
                generation=Generation(each.version),
                owner=Owner(RunnerId(each.owner_id), Incarnation(each.incarnation)),
                granted_at=each.granted_at,
            )
            for each in self._fleet.lease(camera).grants
        ]

    def _moved(self, term: Term, lines: list[parts.Line], *, struck: float, at: datetime) -> Moved:
        heard = self._ledger
        streaming, detected = (heard.first_after(term, seen) for seen in (heard.streaming, heard.detected))
        gap, moves = heard.gap(term), None
        if streaming is not None:
            told_at = at + timedelta(seconds=streaming - struck)
            moves = parts.moves(term.next, lines, parts.Moves(struck_at=at, told_at=told_at))
        return Moved(
            camera=term.camera_id,
            generation=term.generation,
            streaming_after=None if streaming is None else round(streaming - struck, 3),
            detected_after=None if detected is None else round(detected - struck, 3),
            gap=None if gap is None else round(gap, 3),
            dated_ahead=None if moves is None else self._dated_ahead(term.next, moves),
            parts={} if moves is None else moves.parts(),
        )

    def _dated_ahead(self, term: Term, moves: parts.Moves) -> float | None:
        grant = self._ledger.grants(term.camera_id).get(term.generation)
        if grant is None or moves.granted_at is None:
            return None
        return round((grant.granted_at - moves.granted_at).total_seconds(), 3)

    def _lines(self) -> list[parts.Line]:
        """What all of them logged."""
        runners = [line for each in self._fleet.runners.values() for line in each.lines()]
        return [*self._fleet.control.lines(), *runners]

    def _account(self, takeovers: list[Takeover], *, seconds: float) -> Account:
        heard, made = self._ledger, self._spec.fleet
        account = Account(
            how=self._spec.how,
            cameras=made.cameras,
            runners=made.runners,
            ttl=made.ttl,
            renew_every=made.renew_every,
            seed=self._seed,
            database="PostgreSQL" if made.database else "SQLite",
            bus="RabbitMQ" if made.amqp else "the embedded bus",
            seconds=round(seconds, 1),
            takeovers=takeovers,
            fenced=Fenced(
                live=heard.verdicts[Verdict.LIVE],
                late=heard.verdicts[Verdict.LATE],
                refused=heard.verdicts[Verdict.REFUSED],
                repeated=heard.repeated,
                stale=heard.stale,
                shared=heard.shared,
            ),
        )
        return replace(account, objectives=judge(account))

    def _say(self, what: str) -> None:
        """How it goes."""
        print(what, file=sys.stderr, flush=True)  # noqa: T201


def _busiest(page: LeasePage) -> str:
    """Who has the most cameras."""
    owners = [row.owner_id for row in page.items if row.owner_id]
    return max(sorted(set(owners)), key=owners.count)
