"""`streamward drill soak`: runs it, shows how it goes, and says what it came to."""

import asyncio
import contextlib
import itertools
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass, replace
from pathlib import Path

from streamward.drills.roles import ProcessFailed, Role, call, folder, ran
from streamward.drills.soak import report
from streamward.drills.soak.account import Account, Ends, judge, resources, spreads, weathered
from streamward.drills.soak.ledger import Ledger, Sample, Trouble
from streamward.drills.soak.plan import TRIALS, Trial
from streamward.drills.soak.plant import EX_DETECT, EX_STATUS, Plant, PlantSpec, plant
from streamward.drivers.buses import open_bus
from streamward.model.bus import Binding, Bus, BusAway, Delivery, Queue
from streamward.model.secret import Secret
from streamward.nvr.faults import Reencode
from streamward.protocol import codec
from streamward.protocol.events import DetectionEvent, DetectionsLost, StreamFailed
from streamward.protocol.readiness import WorkerReady
from streamward.protocol.streams import StreamReport
from streamward.runtime.clock import SystemClock

QUEUE = Queue(
    name="soak.batcher", bindings=(Binding(EX_DETECT, "detections.#"), Binding(EX_DETECT, "gap.#")), message_ttl=600.0
)
STATES = Queue(name="soak.states", bindings=(Binding(EX_STATUS, "stream.#"),), message_ttl=600.0)
STREAMING_WITHIN = 90.0  # seconds: the longest rest between two dials, and some
REST_AFTER = 4  # faults: then all are let get well, and be so for as long as a fault would take
SHOW_EVERY = 2.0
_SAMPLE_EVERY = 1.0
_ASK_EVERY = 4.0
_SILENCE = 5.0  # seconds without an event after which none is under way, and all send times are known


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakSpec:
    """What is to be done."""

    seconds: float
    fault_every: float = 10.0
    cameras: int = 12
    max_fps: float = 6.0
    amqp: str | None = None
    data: Path | None = None
    is_slow: bool = False  # its detector


def main(spec: SoakSpec, *, as_json: bool = False) -> int:
    """Runs the soak and prints what it came to; 1 if an objective was missed."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended like this, too, it ends what it started
    with folder(spec.data, called="soak") as place:
        made = PlantSpec(folder=place, cameras=spec.cameras, max_fps=spec.max_fps, amqp=spec.amqp, is_slow=spec.is_slow)
        with plant(made) as serving:
            account = ran(Soak(spec, serving).run())
    print(report.as_json(account) if as_json else f"\n{report.table(account)}")  # noqa: T201
    return 0 if all(each.is_met for each in account.objectives) else 1


class Soak:
    """One run."""

    def __init__(self, spec: SoakSpec, serving: Plant) -> None:
        self._spec = spec
        self._plant = serving
        self._recorder = serving.recorder
        self._clock = SystemClock()
        self._ledger = Ledger(runner_id=serving.runner_id, max_fps=spec.max_fps)
        self._began = self._clock.boot()
        self._heard_at = self._began

    async def run(self) -> Account:
        """From the start of the Worker to its end."""
        load = os.getloadavg()[0]
        bus = open_bus(Secret(self._spec.amqp) if self._spec.amqp else None, self._plant.data, clock=self._clock)
        try:
            for queue in (QUEUE, STATES):
                await bus.declare(queue)
            await self._prepare()
            self._began = self._clock.boot()
            self._ledger.begin(self._recorder.cameras, self._began)
            ends = await self._watched(bus)
        finally:
            await bus.close()
        return self._account(ends, load)

    async def _prepare(self) -> None:
        """What the recorder will have to encode for a fault is encoded now: it takes seconds, and all processors."""
        reached = TRIALS[: int(self._spec.seconds / self._spec.fault_every)]
        for fault in (fault for trial in reached for fault in trial.faults if isinstance(fault, Reencode)):
            await self._recorder.set(fault, None)
        await self._recorder.clear()

    async def _watched(self, bus: Bus) -> Ends:
        """The Worker's life, with somebody who listens to it."""
        worker = self._plant.start_worker()
        async with _meanwhile(self._take(bus, QUEUE), self._take(bus, STATES), self._ask()):
            ready_after = await self._ready(worker)
            async with _meanwhile(self._sample(worker), self._show()):
                await self._trouble(worker)
                streaming = await self._all_well(worker)
                await asyncio.sleep(self._spec.fault_every)  # what it takes up in the end is sampled while all is well
            self._ledger.is_ending = True
            code, drained_in = await asyncio.to_thread(worker.end)
            await self._silent()
        return Ends(ready_after=ready_after, streaming=streaming, exit_code=code, drained_in=drained_in)

    async def _ready(self, worker: Role[WorkerReady]) -> float | None:
        """Seconds from its start until enough cameras stream; None: it took too long to wait for it."""
        address = f"{(await asyncio.to_thread(worker.wait_ready)).url}/ready"
        while self._elapsed < STREAMING_WITHIN:
            self._alive(worker)
            if await asyncio.to_thread(_is_ready, address):
                return self._elapsed
            await asyncio.sleep(0.1)
        return None

    async def _trouble(self, worker: Role[WorkerReady]) -> None:
        """A fault every so often, each kind in turn, until the time is over; now and then none, to compare with."""
        began = self._clock.boot()
        for number, trial in enumerate(itertools.cycle(TRIALS)):
            if number % REST_AFTER == 0:
                await self._all_well(worker)
                await asyncio.sleep(self._spec.fault_every)
            set_at = self._clock.boot()
            if set_at + trial.lasts - began > self._spec.seconds:
                return
            await self._try(trial, await self._next(worker))
            await asyncio.sleep(max(0.0, set_at + self._spec.fault_every - self._clock.boot()))

    async def _try(self, trial: Trial, camera: str) -> None:
        cameras = self._recorder.cameras if trial.is_of_all else [camera]
        trouble = self._ledger.set(trial, cameras, self._clock.boot())
        for fault in trial.faults:
            await self._recorder.set(fault, None if trial.is_of_all else camera)
        await asyncio.sleep(trial.lasts)
        await self._recorder.clear()
        self._ledger.cleared(trouble, self._clock.boot())
        self._told(trouble)

    async def _next(self, worker: Role[WorkerReady]) -> str:
        """Whose turn it is: the camera that is well and had the fewest faults."""
        names = self._recorder.cameras
        last = self._clock.boot() + STREAMING_WITHIN
        while not (well := self._ledger.well(self._clock.boot())):
            self._alive(worker)
            if self._clock.boot() > last:
                return names[0]
            await asyncio.sleep(0.1)
        had = [name for each in self._ledger.troubles if len(each.cameras) == 1 for name in each.cameras]
        return min(well, key=lambda name: (had.count(name), names.index(name)))

    async def _all_well(self, worker: Role[WorkerReady]) -> int:
        """Waits until every camera streams, for as long as it may take; how many do."""
        last = self._clock.boot() + STREAMING_WITHIN
        while len(well := self._ledger.well(self._clock.boot())) < self._spec.cameras and self._clock.boot() < last:
            self._alive(worker)
            await asyncio.sleep(0.1)
        return len(well)

    async def _silent(self) -> None:
        """Waits until what the Worker published has come, and when its last pictures were sent is known."""
        while (rest := self._heard_at + _SILENCE - self._clock.boot()) > 0:  # noqa: ASYNC110 - time ends it
            await asyncio.sleep(rest)

    async def _take(self, bus: Bus, queue: Queue) -> None:
        """What a batcher does: takes what comes, and acknowledges it when it has it."""
        consumer = bus.consume(queue.name, prefetch=1000)
        try:
            while True:
                with contextlib.suppress(BusAway):
                    some = await consumer.take(at_most=200, within=1.0)
                    self._heard(some)
                    await consumer.ack(some)
        finally:
            await consumer.close()

    def _heard(self, deliveries: list[Delivery]) -> None:
        for each in deliveries:
            self._noted(each, now=self._clock.boot(), wall=time.time())

    def _noted(self, delivery: Delivery, *, now: float, wall: float) -> None:
        message = delivery.message
        match message.kind:
            case "detections":
                event = codec.decode(message.body, DetectionEvent)
                self._ledger.detected(event, now=now, wall=wall, is_redelivered=delivery.is_redelivered)
                self._heard_at = now
            case "stream.status":
                self._ledger.reported(codec.decode(message.body, StreamReport), now=now, wall=wall)
            case "stream.error":
                self._ledger.failed(codec.decode(message.body, StreamFailed), now=now)
            case "detections.gap":
                lost = codec.decode(message.body, DetectionsLost)
                self._ledger.lost += lost.count if lost.runner_id == self._plant.runner_id else 0

    async def _ask(self) -> None:
        """When the recorder took its pictures."""
        newest = dict.fromkeys(self._recorder.cameras, 0)
        while True:
            for name in newest:
                if frames := await self._recorder.sent(name, since=newest[name]):
                    newest[name] = frames[-1]["frame"] + 1
                    self._ledger.sent(name, frames)
            await asyncio.sleep(_ASK_EVERY)

    async def _sample(self, worker: Role[WorkerReady]) -> None:
        while True:
            self._alive(worker)
            self._ledger.samples.append(_measured(worker.process.pid, self._clock.boot()))
            await asyncio.sleep(_SAMPLE_EVERY)

    async def _show(self) -> None:
        """How it goes, for a person at a terminal."""
        while sys.stderr.isatty():
            now, heard = self._clock.boot(), self._ledger
            words = f"{self._elapsed:.0f} of {self._spec.seconds:.0f} s, {len(heard.well(now))} cameras well"
            counts = f"{sum(heard.events.values()):,} events, {len(heard.troubles)} faults"
            print(f"\r\033[K{words}, {counts}", end="", file=sys.stderr, flush=True)  # noqa: T201
            await asyncio.sleep(SHOW_EVERY)

    def _told(self, trouble: Trouble) -> None:
        """One line for each fault, where nobody looks at the other."""
        if not sys.stderr.isatty():
            told = report.line(trouble, elapsed=self._elapsed, events=sum(self._ledger.events.values()))
            print(told, file=sys.stderr, flush=True)  # noqa: T201

    def _alive(self, worker: Role[WorkerReady]) -> None:
        if worker.process.poll() is not None:
            raise ProcessFailed(worker.name, worker.trouble)

    @property
    def _elapsed(self) -> float:
        return self._clock.boot() - self._began

    def _account(self, ends: Ends, load: float) -> Account:
        heard = self._ledger
        account = Account(
            seconds=round(self._elapsed, 1),
            cameras=self._spec.cameras,
            bus="RabbitMQ" if self._spec.amqp else "the embedded bus",
            load=(round(load, 1), round(os.getloadavg()[0], 1)),
            events=dict(heard.events),
            repeated=heard.repeated,
            redelivered=heard.redelivered,
            doubled=heard.doubled,
            missing=heard.missing,
            lost=heard.lost,
            unmatched=heard.unmatched,
            spreads=spreads(heard),
            calm=heard.calm,
            beside=heard.beside,
            disturbances=heard.disturbances,
            faults=[weathered(each) for each in heard.troubles],
            resources=resources(heard.samples),
            ends=ends,
        )
        return replace(account, objectives=judge(account))


@contextlib.asynccontextmanager
async def _meanwhile(*loops: Awaitable[None]) -> AsyncIterator[None]:
    """Runs these until the block is left; what one of them raises ends the block."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_awaited(loop)) for loop in loops]
        yield
        for task in tasks:
            task.cancel()


async def _awaited(loop: Awaitable[None]) -> None:
    await loop


def _is_ready(address: str) -> bool:
    try:
        call("GET", address)
    except ProcessFailed:  # not enough of them stream
        return False
    return True


def _measured(pid: int, now: float) -> Sample:
    """Of a process that runs."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    return Sample(
        at=now,
        rss=int(fields["VmRSS"].split()[0]) * 1024,
        files=len(list(Path(f"/proc/{pid}/fd").iterdir())),
        threads=int(fields["Threads"]),
    )
