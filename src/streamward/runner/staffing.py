"""Which Workers a Manager has: shards, their makes, and the processes for them.

    cameras that are held ─→ shards ─→ moved to another make ─→ suspects alone ─→ processes started, given and ended

A make is what a Worker is made of beside its cameras; 0 is what the runner was started with. Applies `leases/sharding`,
`rollout`, `quarantine` and `supervision`.
"""

from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any

import msgspec

from streamward.leases import supervision
from streamward.leases.quarantine import Quarantine, is_crash
from streamward.leases.rollout import Rollout
from streamward.leases.sharding import OwnedCamera, Shard, assign, packed
from streamward.leases.supervision import NEVER_DIED, EndWorker, GiveSpare, Past, Restarts, StartWorker
from streamward.model.ids import CameraId, ShardId
from streamward.model.runner import Making
from streamward.protocol.shards import ShardConfig
from streamward.protocol.spawning import Exited
from streamward.runner import facts
from streamward.runner.crew import Crew, Seat
from streamward.runner.manager_parts import ManagerParts, ManagerSpec
from streamward.runner.spawner import ForkServerGone, SpawnRefused

SPARE = "spare"  # in the place of a shard, where one is named


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
        self.shards: list[Shard] = []
        self.rollout = Rollout()
        self._templates = {0: spec.template}
        self._quarantine = Quarantine()
        self._past: dict[ShardId | None, Restarts] = {}

    @property
    def planned(self) -> list[Shard]:
        """The shards to run, suspects alone."""
        return self._quarantine.isolate(self.shards)

    @property
    def making(self) -> Making:
        """How far a rollout has come."""
        return Making(proven=self.rollout.proven, tried=self.rollout.wanted, problem=self.rollout.problem)

    def want(self, make: int, *, detector: str | None) -> None:
        """Workers of another make, for all shards; None: the detector that the runner was started with."""
        if make not in self._templates:
            template = self._spec.template
            self._templates[make] = msgspec.structs.replace(template, detector=detector or template.detector)
        if not self.shards:
            self.rollout = Rollout(wanted=make, proven=make)
        self.rollout = self.rollout.want(make)

    def plan_shards(self, owned: Iterable[OwnedCamera]) -> None:
        """Which cameras share a Worker from now on."""
        now, living = self._clock.boot(), {each for seat in self._crew.seats.values() if (each := seat.shard_id)}
        target = self.rollout.target
        self.shards = assign(owned, self.shards, target=self._spec.target, taken=living, make=target)
        if self.rollout.moving is None and not self._departing():
            self.shards = packed(self.shards, target=self._spec.target)
        self._quarantine = self._quarantine.trusted(now)
        self.rollout, self.shards = self.rollout.step(self.shards, living=living, now=now)

    def plan_processes(self, *, is_leaving: bool) -> None:
        """Starts, gives and ends Workers."""
        now, wanted = self._clock.boot(), [*self.planned, *self._departing()]
        remembered = {None, *(shard.shard_id for shard in wanted)}
        self._past = {shard_id: past for shard_id, past in self._past.items() if shard_id in remembered}
        for seat in self._crew.seats.values():
            past = self._past.get(seat.shard_id, NEVER_DIED)
            self._past[seat.shard_id] = past.proven(lived_for=now - seat.born_at)
        by_shard = {shard_id: past for shard_id, past in self._past.items() if shard_id is not None}
        deaths = Past(by_shard=by_shard, spare=self._past.get(None, NEVER_DIED))
        configs = {shard.shard_id: self._config(shard) for shard in wanted}
        for action in supervision.plan(wanted, self._crew.workers(), deaths, now=now):
            if not self._may(action, is_leaving=is_leaving):
                continue
            match action:
                case StartWorker(shard_id):
                    self._do(self._start(shard_id, None if shard_id is None else configs[shard_id]))
                case GiveSpare(number, shard_id):
                    if (spare := self._crew.seats.get(number)) is not None:
                        spare.begin(shard_id, configs[shard_id], now=now)
                case EndWorker(number):
                    self._crew.end(number)

    def died(self, seat: Seat, news: Exited) -> None:
        """A Worker is dead, and was not told to end."""
        now, past = self._clock.boot(), self._past.get(seat.shard_id, NEVER_DIED)
        self._past[seat.shard_id] = past.died(now, lived_for=now - seat.born_at)
        if is_crash(news.signal):
            self._quarantine = self._quarantine.accuse(map(CameraId, seat.board.names()), now=now)
        how = f"exit code {news.code}" if news.code is not None else f"signal {news.signal}"
        self.failed(seat.shard_id, f"a Worker ended with {how}")

    def failed(self, shard_id: ShardId | None, problem: str) -> None:
        """Something is wrong with a shard's Worker; one of a make that is on trial was its last."""
        for shard in self.planned:
            if shard.shard_id == shard_id:
                self.rollout = self.rollout.failed(shard, problem)

    def given_up(self) -> Iterator[CameraId]:
        """The cameras whose Worker keeps dying, of which only the Manager can tell anything."""
        for shard in self.planned:
            if self._past.get(shard.shard_id, NEVER_DIED).is_degraded and shard.shard_id not in self._crew.by_shard():
                yield from shard.cameras

    def _departing(self) -> list[Shard]:
        """Shards of an earlier plan, as long as a camera that is still planned runs in their Worker."""
        shards = {shard.shard_id for shard in self.planned}
        home = {camera_id: shard for shard in self.planned for camera_id in shard.cameras}
        found = []
        for seat in self._crew.seats.values():
            staying = [camera_id for camera_id in seat.cameras if camera_id in home]
            if seat.shard_id is not None and seat.shard_id not in shards and staying:
                tenant_id = home[staying[0]].tenant_id
                found.append(Shard(shard_id=seat.shard_id, tenant_id=tenant_id, cameras=tuple(staying)))
        return found

    def _may(self, action: supervision.Action, *, is_leaving: bool) -> bool:
        """Whether to do it now; while the fork server is being started again no shard has failed."""
        if is_leaving:
            return isinstance(action, EndWorker)
        return self._spawner.is_ready or not isinstance(action, StartWorker)

    async def _start(self, shard_id: ShardId | None, config: ShardConfig | None) -> None:
        began = self._clock.boot()
        try:
            await self._crew.start(shard_id, config)
        except (SpawnRefused, ForkServerGone) as error:
            if isinstance(error, SpawnRefused):
                self._past[shard_id] = self._past.get(shard_id, NEVER_DIED).died(self._clock.boot(), lived_for=0.0)
            self._journal.record(facts.WorkerNotSpawned(shard_id=shard_id or SPARE, error=error))
            return
        duration_ms = round((self._clock.boot() - began) * 1000)
        self._journal.record(facts.WorkerSpawn(shard_id=shard_id or SPARE, duration_ms=duration_ms))
        self._poke()

    def _config(self, shard: Shard) -> ShardConfig:
        template = self._templates[shard.make]
        return msgspec.structs.replace(template, shard_id=shard.shard_id, tenant=shard.tenant_id, sources=[])
