"""Which Workers a Manager starts, keeps and ends, and how often it tries again.

    running ─died→ resting ─due→ running        the first time at once, then after 0.5, 1, 2 and 4 s
       └─ the sixth death within a minute ─→ degraded: one try a minute, until a Worker has lived for a minute

One Worker more than there are shards is kept warm without a tenant: a shard that needs a process gets that one, and
another is started in its place. A Worker that was told to end, or that died because its fork server did, is no failure.

Guaranteed: a shard has one Worker at most that was not told to end, and none is started while an old one still ends;
the same observations give the same plan, and a plan that was cut after any step is completed by the next.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from streamward.leases.sharding import Shard
from streamward.model.ids import ShardId

MOST_RESTARTS = 5
WINDOW = 60.0  # seconds in which they count
PROBE_EVERY = 60.0  # seconds between the tries of a degraded shard
STEADY = 60.0  # seconds after which a Worker has proven itself

_WAITS = (0.0, 0.5, 1.0, 2.0, 4.0)  # seconds before each restart


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarts:
    """How one shard's Workers have died lately; instants are boot-time."""

    deaths: tuple[float, ...] = ()
    retry_at: float = -math.inf
    is_degraded: bool = False

    def died(self, now: float, *, lived_for: float) -> "Restarts":
        """One more death."""
        if lived_for >= STEADY:
            return Restarts(deaths=(now,), retry_at=now + _WAITS[0])
        deaths = (*(at for at in self.deaths if now - at < WINDOW), now)
        if self.is_degraded or len(deaths) > MOST_RESTARTS:
            return Restarts(deaths=deaths[-MOST_RESTARTS:], retry_at=now + PROBE_EVERY, is_degraded=True)
        return Restarts(deaths=deaths, retry_at=now + _WAITS[len(deaths) - 1])

    def proven(self, *, lived_for: float) -> "Restarts":
        """The same while its Worker lives: what is steady is not degraded."""
        return Restarts() if lived_for >= STEADY else self

    def is_due(self, now: float) -> bool:
        """Whether a Worker may be started."""
        return now >= self.retry_at


NEVER_DIED = Restarts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A Worker's process, as far as it matters here."""

    number: int
    shard_id: ShardId | None  # None: the spare
    is_ready: bool = False  # everything is loaded
    is_ending: bool = False


class StartWorker(NamedTuple):
    """A process for a shard, or for none yet."""

    shard_id: ShardId | None


class GiveSpare(NamedTuple):
    """The warm process takes a shard."""

    number: int
    shard_id: ShardId


class EndWorker(NamedTuple):
    """Nobody wants it any more."""

    number: int


Action = StartWorker | GiveSpare | EndWorker


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """How the Workers of each shard have died, and how the spare ones have."""

    by_shard: Mapping[ShardId, Restarts]
    spare: Restarts = NEVER_DIED

    def of(self, shard_id: ShardId) -> Restarts:
        """Those of a shard."""
        return self.by_shard.get(shard_id, NEVER_DIED)

    def next_due(self, now: float) -> float | None:
        """When to plan again though nothing else happens."""
        waiting = [each.retry_at for each in (*self.by_shard.values(), self.spare) if each.retry_at > now]
        return min(waiting, default=None)


def plan(wanted: Iterable[Shard], workers: Iterable[Worker], past: Past, *, now: float) -> list[Action]:
    """What to do now: first what must end, then what the shards need, then the spare."""
    shards = sorted({shard.shard_id for shard in wanted})
    crew = sorted(workers, key=lambda worker: worker.number)
    active = [worker for worker in crew if not worker.is_ending]
    keepers: dict[ShardId, Worker] = {}
    for worker in active:
        if worker.shard_id is not None and worker.shard_id in shards:
            keepers.setdefault(worker.shard_id, worker)
    spares = sorted((worker for worker in active if worker.shard_id is None), key=lambda worker: not worker.is_ready)
    surplus = [worker for worker in active if worker.shard_id is not None and worker not in keepers.values()]
    busy = {worker.shard_id for worker in crew if worker not in spares}
    actions: list[Action] = [EndWorker(worker.number) for worker in surplus]
    for shard_id in shards:
        if shard_id in busy or not past.of(shard_id).is_due(now):
            continue
        if spares and spares[0].is_ready:
            actions.append(GiveSpare(spares.pop(0).number, shard_id))
        else:
            actions.append(StartWorker(shard_id))
    actions += [EndWorker(worker.number) for worker in spares[1:]]
    if not spares and past.spare.is_due(now):
        actions.append(StartWorker(None))
    return actions
