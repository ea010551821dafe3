"""A Manager's Workers as it plans them: applies `leases/staff.py` to real processes.

A make is what a Worker is made of beside its cameras; 0 is what the runner was started with.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any

import msgspec

from streamward.leases import supervision
from streamward.leases.quarantine import TRUSTED_AFTER, is_crash
from streamward.leases.sharding import OwnedCamera, Shard
from streamward.leases.staff import Staff
from streamward.leases.supervision import EndWorker, GiveSpare, StartWorker
from streamward.model.ids import CameraId, ShardId
from streamward.model.runner import LONGEST_PROBLEM, Making
from streamward.protocol.leases import RunnerFlags
from streamward.protocol.shards import ShardConfig
from streamward.protocol.spawning import Exited
from streamward.protocol.worker_link import WorkerExit
from streamward.runner import facts
from streamward.runner.crew import Crew, Seat, seated
from streamward.runner.manager_parts import ManagerParts, ManagerSpec
from streamward.runner.spawner import ForkServerGone, SpawnRefused
from streamward.vision.unusable import DetectorUnusable

SPARE = "spare"  # in the place of a shard, where one is named
PROVEN_WITHIN = 60.0  # seconds for a detector to load; one that takes longer is believed in


class Staffing:
    """The Workers of one host; `do` runs what takes a while, and `poke` has the Manager look again."""

    def __init__(
        self,
        spec: ManagerSpec,
        parts: ManagerParts,
        crew: Crew,
        *,
        do: Callable[[Coroutine[Any, Any, None]], None],
        poke: Callable[[], None],
    ) -> None:
        self._spec = spec
        self._spawner = parts.spawner
        self._clock = parts.clock
        self._journal = parts.journal
        self._crew = crew
        self._do = do
        self._poke = poke
        self._staff = Staff()
        self._silenced: dict[CameraId, float] = {}  # who was looked at when a Worker fell silent, in boot-time
        self._templates = {0: spec.template}

    @property
    def planned(self) -> list[Shard]:
        """The shards to run, suspects alone."""
        return self._staff.planned

    @property
    def making(self) -> Making:
        """How far a rollout has come."""
        rollout = self._staff.rollout
        problem = rollout.problem and rollout.problem[:LONGEST_PROBLEM]
        return Making(proven=rollout.proven, tried=rollout.wanted, problem=problem)

    def want(self, flags: RunnerFlags) -> None:
        """Workers of the make that operators want, for all shards."""
        before = Making(proven=flags.proven_make, tried=flags.tried_make, problem=flags.make_problem)
        if flags.proven_make not in self._templates:
            self._learn(flags.proven_make, flags.earlier_detector)
        self._learn(flags.make, flags.detector)
        self._staff = self._staff.want(flags.make, before=before)

    def _learn(self, make: int, detector: str | None) -> None:
        """What a make is, which in another database may be something else; without a detector it has the runner's."""
        if make:
            template = self._spec.template
            self._templates[make] = msgspec.structs.replace(template, detector=detector or template.detector)

    async def prove(self) -> None:
        """Starts the spare and waits until it has its detector; raises DetectorUnusable, SpawnRefused and the like."""
        config = self._templates[0]
        seat = await self._birth(None, config)
        if seat.warmed is None:
            return
        await asyncio.wait([seat.warmed], timeout=PROVEN_WITHIN)
        if seat.warmed.done() and (problem := seat.warmed.result()) is not None:
            if not self._spawner.is_ready:
                raise ForkServerGone  # who died with it says nothing about the detector
            raise DetectorUnusable(config.detector, f"{problem}; STREAMWARD_RUNNER_DETECTOR names it")

    def plan(self, owned: Iterable[OwnedCamera], *, is_leaving: bool) -> None:
        """Regroups the cameras, and starts, gives and ends Workers."""
        now = self._clock.boot()
        self._staff, actions = self._staff.step(owned, self._crew.seated(), target=self._spec.target, now=now)
        shards = {shard.shard_id: shard for shard in self.planned}
        self._warm_spare(now)
        for action in actions:
            if not self._may(action, is_leaving=is_leaving):
                continue
            match action:
                case StartWorker(None):
                    make = self._staff.rollout.spare
                    self._do(self._start(None, self._templates[make], make=make))
                case StartWorker(str(shard_id)):
                    self._do(self._start(shards[ShardId(shard_id)], self._config(shards[ShardId(shard_id)])))
                case GiveSpare(number, shard_id):
                    if (spare := self._crew.seats.get(number)) is not None:
                        spare.begin(shard_id, self._config(shards[shard_id]), now=now)
                        self._spawned(spare, shards[shard_id], duration_ms=0)
                case EndWorker(number):
                    self._crew.end(number)

    def _warm_spare(self, now: float) -> None:
        make = self._staff.rollout.spare
        for seat in self._crew.seats.values():
            if seat.shard_id is None and not seat.is_ending:
                seat.warm(make, self._templates[make], now=now)

    def warmed(self, seat: Seat, problem: str | None) -> None:
        """The spare has loaded what it was told to, or cannot; nor can one that was given a shard."""
        if problem is not None:
            make = None if seat.warmth is None else seat.warmth.make
            self._staff = self._staff.failed(seat.shard_id, f"its detector cannot be used: {problem}", loading=make)

    def died(self, seat: Seat, news: Exited) -> None:
        """A Worker is dead, and was not told to end."""
        accused, now = self._accused(seat, news), self._clock.boot()
        how = f"exit code {news.code}" if news.code is not None else f"signal {news.signal}"
        what = "a Worker" if seat.shard_id is not None else "the Worker that loaded its detector"
        self._staff = self._staff.died(seated(seat, now), accused=accused, how=f"{what} ended with {how}", now=now)

    def _accused(self, seat: Seat, news: Exited) -> set[CameraId]:
        """Cameras whose pictures may have done it.

        In a process that fell silent somebody was looked at, as in most: only who was so twice within an hour did it.
        """
        if is_crash(news.signal):
            return set(map(CameraId, seat.board.names()))
        looked_at, now = set(map(CameraId, seat.board.looks())), self._clock.boot()
        if news.code != WorkerExit.DETECTOR_STUCK:
            if not seat.is_stuck:
                return set()
            before = {each for each, at in self._silenced.items() if now - at < TRUSTED_AFTER}
            self._silenced |= dict.fromkeys(looked_at, now)
            looked_at &= before
        return self._staff.quarantine.room_for(looked_at)

    def failed(self, shard_id: ShardId | None, problem: str) -> None:
        """Something is wrong with a shard's Worker."""
        self._staff = self._staff.failed(shard_id, problem)

    def given_up(self) -> Iterator[CameraId]:
        """The cameras whose Worker keeps dying, of which only the Manager can tell anything."""
        return self._staff.given_up(self._crew.by_shard())

    def _may(self, action: supervision.Action, *, is_leaving: bool) -> bool:
        """Whether to do it now; while the fork server is being started again no shard has failed."""
        if is_leaving:
            return isinstance(action, EndWorker)
        return self._spawner.is_ready or not isinstance(action, StartWorker)

    async def _start(self, shard: Shard | None, config: ShardConfig, *, make: int = 0) -> None:
        shard_id = None if shard is None else shard.shard_id
        try:
            await self._birth(shard, config, make=make)
        except (SpawnRefused, ForkServerGone) as error:
            if isinstance(error, SpawnRefused):
                self._staff = self._staff.not_born(shard_id, now=self._clock.boot())
            self._journal.record(facts.WorkerNotSpawned(shard_id=shard_id or SPARE, error=error))
        else:
            self._poke()

    async def _birth(self, shard: Shard | None, config: ShardConfig, *, make: int = 0) -> Seat:
        began = self._clock.boot()
        seat = await self._crew.start(None if shard is None else shard.shard_id, config, make=make)
        duration_ms = round((self._clock.boot() - began) * 1000)
        if shard is None:
            self._journal.record(facts.SpareStarted(pid=seat.pid, duration_ms=duration_ms))
        else:
            self._spawned(seat, shard, duration_ms=duration_ms)
        return seat

    def _spawned(self, seat: Seat, shard: Shard, *, duration_ms: int) -> None:
        self._journal.record(
            facts.WorkerSpawn(
                shard_id=shard.shard_id,
                tenant_id=shard.tenant_id,
                cameras=len(shard.cameras),
                pid=seat.pid,
                duration_ms=duration_ms,
            )
        )

    def _config(self, shard: Shard) -> ShardConfig:
        template = self._templates[shard.make]
        return msgspec.structs.replace(template, shard_id=shard.shard_id, tenant=shard.tenant_id, sources=[])
