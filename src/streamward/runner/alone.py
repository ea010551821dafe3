"""A Worker that has no Manager: it registers, takes the leases of its cameras, and watches what it holds (S0-037).

    register ─→ [ renew · acquire ] ─held→ dial token ─→ add
                        └──────────lost→ drop

A camera whose lease cannot be had is not run. A runner that was started anew somewhere else ends this Worker. Renewing,
keeping cameras in step with leases, and telling are services of their own: a camera that takes its time to be let go,
or a control plane that answers slowly, costs no lease.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Protocol

import msgspec

from streamward.leases.lease import DenialReason, Owner
from streamward.model.ids import CameraId, Generation, SiteId
from streamward.model.runner import DrainMode
from streamward.protocol import events as wire
from streamward.protocol.leases import Heartbeat, RegisterRunner, RunnerFlags
from streamward.protocol.problem import Problem
from streamward.protocol.shards import ShardConfig, Source
from streamward.protocol.streams import ReportsAccepted, StreamReport, StreamReports
from streamward.protocol.worker_link import WorkerExit
from streamward.runner.dial_tokens import DialTokens
from streamward.runner.ending import Ending
from streamward.runner.own_leases import Control, OwnLeases
from streamward.runner.parts import LastWord
from streamward.runtime.cadence import Cadence
from streamward.runtime.clock import Clock
from streamward.runtime.hedging import WITHIN, Overlapping, hedged
from streamward.runtime.journal import Journal
from streamward.runtime.service import Ticks
from streamward.runtime.usage import Usage

LOOK_EVERY = 0.5  # seconds
TELL_EVERY = 1.0
BEAT_EVERY = 1.0
TERMINATED_WITHIN = 1.5  # seconds in which a hard drain gives the leases back; what waits stays in the spool
_MOST_CALLS = 8  # of one kind that wait for their answers: one goes every second
_MOST_REPORTS = 500  # that wait while the control plane is away; the oldest give way


class Watching(Protocol):
    """What runs cameras."""

    def add(self, source: Source) -> None: ...
    async def drop(self, camera_id: CameraId) -> LastWord: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AloneParts:
    """What it uses."""

    control: Control
    clock: Clock
    journal: Journal
    random: Random  # for jitter


class Alone:
    """Takes a Manager's part for one shard; services run its ticks."""

    def __init__(self, config: ShardConfig, owner: Owner, parts: AloneParts, *, ending: Ending) -> None:
        self.leases = OwnLeases(owner, parts.control, clock=parts.clock, journal=parts.journal)
        self._owner = owner
        self._control = parts.control
        self.clock = parts.clock
        self._usage = Usage(clock=parts.clock)
        self._ending = ending
        self._sources: Mapping[CameraId, Source] = {
            CameraId(source.camera_uuid): source for source in config.sources if not source.do_not_process
        }
        self._watching: Watching | None = None
        self._running: dict[CameraId, Generation] = {}
        self._first_epoch = wire.first_epoch(parts.clock.wall())
        self._epochs: dict[CameraId, int] = {}
        self._dials = DialTokens(parts.control, clock=parts.clock, journal=parts.journal, random=parts.random)
        self._reports: dict[CameraId, StreamReport] = {}
        self._is_registered = False
        self._reporting = Overlapping(most=_MOST_CALLS)
        self._beating = Overlapping(slow=BEAT_EVERY / 2, most=_MOST_CALLS)

    @property
    def bodies(self) -> dict[str, Ticks]:
        """What ticks, by its name."""
        return {
            "leases": self.leases,
            "cameras": self,
            "first dials": _Every(LOOK_EVERY, self.begin_held, clock=self.clock),
            "reports": _Every(TELL_EVERY, self.tell, clock=self.clock),
            "heartbeat": _Every(BEAT_EVERY, self.beat, clock=self.clock),
        }

    def begin(self, watching: Watching) -> None:
        """From now on what is held is run there."""
        self._watching = watching

    async def tick(self) -> float:
        """Registers, then ends the cameras whose leases are gone."""
        if self._is_registered or await self._register():
            await self._let_go()
        return LOOK_EVERY

    async def aclose(self) -> None:
        """Ends what is outstanding."""
        await asyncio.gather(self.leases.close(), self._reporting.close(), self._beating.close())

    async def tell(self) -> None:
        """How the cameras do, and that dials have ended."""
        if not self._is_registered:
            return
        telling = [self._reporting.call(self._dials.tell())]
        if self._reports:
            reports, self._reports = list(self._reports.values()), {}
            telling.append(self._reporting.call(self._report(StreamReports(items=reports[-_MOST_REPORTS:]))))
        await asyncio.gather(*telling)

    async def beat(self) -> None:
        """Sends one heartbeat (S0-071): this process is one shard, and the runner."""
        if not self._is_registered:
            return
        cpu_pct, mem_mb = self._usage.look([os.getpid()])
        heartbeat = Heartbeat(
            runner_id=self._owner.runner_id,
            streams_owned=sum(map(self.leases.holds, self._sources)),
            shards=1,
            cpu_pct=cpu_pct,
            mem_mb=mem_mb,
            ts=self.clock.wall(),
        )
        await self._beating.call(self._beat(heartbeat))

    async def begin_held(self) -> None:
        """Begins cameras that are held, once their first dials are paid for."""
        held = [each for each in self._sources if self.leases.holds(each) and each not in self._running]
        await asyncio.gather(*map(self._begin_one, held))

    def reported(self, report: StreamReport) -> None:
        self._reports[CameraId(report.camera_uuid)] = report

    def failed(self, failure: wire.StreamFailed) -> None:
        """Told on the bus; the control plane reads it in the report."""

    def showing(self, camera_id: CameraId, arrived: float) -> None:
        """Nobody waits for it."""

    def dial_ended(self, camera_id: CameraId) -> None:
        self._dials.ended(camera_id)

    async def _register(self) -> bool:
        message = RegisterRunner(
            runner_id=self._owner.runner_id,
            incarnation=self._owner.incarnation,
            capacity_streams=len(self._sources),
        )
        answer = await hedged(partial(self._control.post, "/v1/runners/register", message, RunnerFlags, within=WITHIN))
        self._is_registered = isinstance(answer, RunnerFlags)
        for camera_id in self._sources if self._is_registered else ():
            self.leases.want(camera_id)
        self._look_at(answer)
        return self._is_registered

    async def _let_go(self) -> None:
        """Ends cameras whose lease is not trusted any more, or is another one."""
        assert self._watching is not None
        gone = [each for each, generation in self._running.items() if self.leases.generation(each) != generation]
        for camera_id in gone:
            del self._running[camera_id]
        await asyncio.gather(*map(self._watching.drop, gone))

    async def _report(self, message: StreamReports) -> None:
        await self._control.post("/v1/streams/status/batch", message, ReportsAccepted, within=WITHIN)

    async def _beat(self, message: Heartbeat) -> None:
        self._look_at(await self._control.post("/v1/runners/heartbeat", message, RunnerFlags, within=WITHIN))

    async def _begin_one(self, camera_id: CameraId) -> None:
        source, generation = self._sources[camera_id], self.leases.generation(camera_id)
        if generation is None or not await self._dials.take(camera_id, SiteId(source.site_id), generation):
            return
        assert self._watching is not None
        epoch = self._epochs[camera_id] = self._epochs.get(camera_id, self._first_epoch) + 1
        self._running[camera_id] = generation
        is_paid = self._dials.spend(camera_id)
        self._watching.add(msgspec.structs.replace(source, generation=generation, epoch=epoch, is_dial_paid=is_paid))

    def _look_at(self, answer: Any) -> None:
        """A runner that was replaced or is drained has nothing to do here any more."""
        if isinstance(answer, Problem) and answer.reason == DenialReason.INCARNATION_ENDED:
            self._ending.drain(WorkerExit.FENCED)
        if isinstance(answer, RunnerFlags) and answer.drain_mode is DrainMode.HARD:
            self._ending.drain(WorkerExit.TERMINATED, within=TERMINATED_WITHIN)
        elif isinstance(answer, RunnerFlags) and answer.drain_mode is not DrainMode.NONE:
            self._ending.drain()


class _Every:
    """The ticks of something that is done at a steady pace and waits for nothing else that is sent."""

    def __init__(self, every: float, do: Callable[[], Awaitable[None]], *, clock: Clock) -> None:
        self._cadence = Cadence(every, clock=clock)
        self._do = do

    async def tick(self) -> float:
        await self._do()
        return self._cadence.rest()
