"""How a runner's Workers are replaced by those of another make, one shard at a time, and back if those are worse.

    steady ─ another make is wanted ─→ the spare loads it ─→ a shard moves ─ its old Worker is gone ─→ … ─→ steady
                                            └────────────────────┴─ it fails ─→ refused: those that moved go back

The spare Worker loads a make first, so that one that cannot be loaded costs no dial, also where there is no camera yet.

A shard that moves gets another name: its cameras are then wanted in another Worker, and go there one by one without a
gap (`leases/reconcile.py`). The old Worker stays while it has a camera, and takes them back if the new one fails.

Guaranteed: one shard moves at a time; a make that was refused is not tried again until another one is wanted; a shard
never moves without cause. Not guaranteed: that a shard moves at all while its cameras come and go faster than that.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from streamward.leases.sharding import Shard, fresh_ids
from streamward.model.ids import ShardId

MOVED_WITHIN = 120.0  # seconds for a new Worker to begin and to take all cameras over


@dataclass(frozen=True, slots=True, kw_only=True)
class Moving:
    """A shard under way from one Worker to another."""

    old: ShardId
    make: int  # of the old one
    new: ShardId
    since: float  # boot-time


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """Which make is wanted, which is known to work, and what moves."""

    wanted: int = 0
    proven: int = 0
    loaded: int = 0  # by a spare: shards may move to it
    moving: Moving | None = None
    problem: str | None = None  # why the wanted one was refused

    @property
    def is_loading(self) -> bool:
        """Whether what is wanted waits for a spare that has it loaded."""
        return self.problem is None and self.wanted not in (self.proven, self.loaded)

    @property
    def target(self) -> int:
        """What every shard should be of."""
        return self.proven if self.is_loading else self.spare

    @property
    def spare(self) -> int:
        """What the spare should be of."""
        return self.wanted if self.problem is None else self.proven

    def want(self, make: int, *, problem: str | None = None) -> "Rollout":
        """Another make, or one with which there was a problem before; a shard that moves ends its move first."""
        return self if make == self.wanted else replace(self, wanted=make, problem=problem)

    def failed(self, make: int, problem: str) -> "Rollout":
        """A Worker of that make did; of one that is not on trial that is no news."""
        is_on_trial = make == self.wanted != self.proven and self.problem is None
        return replace(self, problem=problem) if is_on_trial else self

    def step(
        self, shards: Sequence[Shard], *, living: Collection[ShardId], now: float
    ) -> tuple["Rollout", list[Shard]]:
        """What to run now; `living` are the shards that have a Worker, of those to run one that has all it needs."""
        rollout = self._watched(shards, living, now)
        stale = _stale(rollout, shards, now)
        if stale is None:
            is_steady = rollout.moving is None
            return replace(rollout, proven=rollout.target) if is_steady else rollout, list(shards)
        before = rollout.moving
        if before is not None and before.old in living and before.make == rollout.target:
            name = before.old  # back to where it came from
        else:
            name = next(fresh_ids({*living, *(shard.shard_id for shard in shards)}))
        moving = Moving(old=stale.shard_id, make=stale.make, new=name, since=now)
        moved = replace(stale, shard_id=name, make=rollout.target)
        return replace(rollout, moving=moving), [moved if shard is stale else shard for shard in shards]

    def _watched(self, shards: Sequence[Shard], living: Collection[ShardId], now: float) -> "Rollout":
        """Whether the shard that moves has arrived, is gone, or takes too long."""
        if self.moving is None:
            return self
        new = _under_way(self.moving, shards)
        if new is None or (self.moving.old not in living and new.shard_id in living):
            return replace(self, moving=None)
        return self.failed(new.make, "its Worker did not take over in time") if _is_late(self.moving, now) else self


def _stale(rollout: Rollout, shards: Sequence[Shard], now: float) -> Shard | None:
    """What should move next; one that moves is left alone, unless where it goes to was refused or is lost."""
    if rollout.moving is None and rollout.is_loading:
        return None
    if rollout.moving is None:
        return next((shard for shard in shards if shard.make != rollout.target), None)
    new = _under_way(rollout.moving, shards)
    may_turn = rollout.problem is not None or _is_late(rollout.moving, now)
    return new if new is not None and new.make != rollout.target and may_turn else None


def _under_way(moving: Moving, shards: Sequence[Shard]) -> Shard | None:
    return next((each for each in shards if each.shard_id == moving.new), None)


def _is_late(moving: Moving, now: float) -> bool:
    return now - moving.since > MOVED_WITHIN
