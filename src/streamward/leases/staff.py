"""Which Workers a runner needs: shards, their makes, suspects apart, and the processes for all of them.

    cameras that are held ─→ shards ─→ moved to another make ─→ suspects alone ─→ processes to start, give and end

A Worker whose shard is no longer planned stays until the last planned camera has left it (`leases/reconcile.py`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from streamward.leases import supervision
from streamward.leases.quarantine import Quarantine
from streamward.leases.rollout import Rollout
from streamward.leases.sharding import OwnedCamera, Shard, assign, packed
from streamward.leases.supervision import NEVER_DIED, Action, Past, Restarts, Worker
from streamward.model.ids import CameraId, ShardId
from streamward.model.runner import AS_STARTED, Making


@dataclass(frozen=True, slots=True, kw_only=True)
class Seated:
    """A Worker's process, and what runs in it."""

    worker: Worker
    born_at: float  # boot-time; of one that was the spare, when it took its shard
    has_begun: bool = False  # with its shard: all that it needs is loaded
    loading: int | None = None  # of the spare: which make
    loaded: int | None = None
    cameras: frozenset[CameraId] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Staff:
    """The plan so far."""

    shards: tuple[Shard, ...] = ()
    rollout: Rollout = field(default_factory=Rollout)
    quarantine: Quarantine = field(default_factory=Quarantine)
    past: Mapping[ShardId | None, Restarts] = field(default_factory=dict)  # None: of the spare ones

    @property
    def planned(self) -> list[Shard]:
        """The shards to run, suspects alone."""
        return self.quarantine.isolate(self.shards)

    def want(self, make: int, *, before: Making = AS_STARTED) -> "Staff":
        """Workers of another make, for all shards.

        What an earlier start of the runner refused, or did not survive, is not tried again, and what it knew to work is
        what a fresh start begins with: `before` is what it said.
        """
        if make == self.rollout.wanted:
            return self
        is_fresh = not self.shards and not self.rollout.wanted
        rollout = Rollout(proven=before.proven) if is_fresh else self.rollout
        return replace(self, rollout=rollout.want(make, problem=before.refusal(make)))

    def step(
        self, owned: Iterable[OwnedCamera], seated: Sequence[Seated], *, target: int, now: float
    ) -> tuple["Staff", list[Action]]:
        """The plan from now on, and what to do for it."""
        staff = self._loaded(seated)._regrouped(owned, seated, target=target, now=now)  # noqa: SLF001 - its own
        staff = replace(staff, past=staff._proven(seated, now))  # noqa: SLF001 - its own
        by_shard = {shard_id: past for shard_id, past in staff.past.items() if shard_id is not None}
        deaths = Past(by_shard=by_shard, spare=staff.past.get(None, NEVER_DIED))
        wanted = [*staff.planned, *_departing(staff.planned, seated)]
        # One that loads what no shard needs yet may never have done with it.
        make = staff.rollout.target
        workers = [
            replace(each.worker, is_ready=each.worker.is_ready and each.loading in (None, make)) for each in seated
        ]
        return staff, supervision.plan(wanted, workers, deaths, now=now)

    def died(self, seat: Seated, *, accused: Iterable[CameraId] = (), how: str, now: float) -> "Staff":
        """A Worker is dead that was not told to end; by a crash, if somebody is accused of it.

        A crash for which there was a suspect already says nothing of the Worker's make.
        """
        shard_id, blamed = seat.worker.shard_id, set(accused)
        past = self.past.get(shard_id, NEVER_DIED).died(now, lived_for=now - seat.born_at)
        is_news = not blamed or not blamed <= {each.camera_id for each in self.quarantine.suspects}
        staff = self.failed(shard_id, how, loading=seat.loading) if is_news else self
        quarantine = self.quarantine.accuse(blamed, now=now)
        return replace(staff, past={**self.past, shard_id: past}, quarantine=quarantine)

    def not_born(self, shard_id: ShardId | None, *, now: float) -> "Staff":
        """A Worker could not be started."""
        past = self.past.get(shard_id, NEVER_DIED).died(now, lived_for=0.0)
        return replace(self, past={**self.past, shard_id: past})

    def failed(self, shard_id: ShardId | None, problem: str, *, loading: int | None = None) -> "Staff":
        """Something is wrong with a shard's Worker, or with what the spare loads; a make on trial is refused by it."""
        makes = (each.make for each in self.planned if each.shard_id == shard_id)
        make = loading if shard_id is None else next(makes, None)
        return self if make is None else replace(self, rollout=self.rollout.failed(make, problem))

    def given_up(self, living: Collection[ShardId]) -> Iterator[CameraId]:
        """The cameras whose Worker keeps dying, and is not there."""
        for shard in self.planned:
            if shard.shard_id not in living and self.past.get(shard.shard_id, NEVER_DIED).is_degraded:
                yield from shard.cameras

    def _regrouped(self, owned: Iterable[OwnedCamera], seated: Sequence[Seated], *, target: int, now: float) -> "Staff":
        living = {each.worker.shard_id for each in seated if each.worker.shard_id is not None}
        make, moving = self.rollout.target, self.rollout.moving
        taken = living if moving is None else living | {moving.old}  # where it may come back to
        shards: Sequence[Shard] = assign(owned, self.shards, target=target, taken=taken, make=make)
        quarantine = self.quarantine.trusted(now)
        if self.rollout.moving is None and not _departing(quarantine.isolate(shards), seated):
            shards = packed(shards, target=target)
        living -= {shard.shard_id for shard in shards}
        living |= {shard.shard_id for shard in shards if _has_arrived(quarantine.isolate([shard]), seated)}
        rollout, shards = self.rollout.step(shards, living=living, now=now)
        return replace(self, shards=tuple(shards), rollout=rollout, quarantine=quarantine)

    def _loaded(self, seated: Sequence[Seated]) -> "Staff":
        wanted = self.rollout.wanted
        is_loaded = any(each.worker.shard_id is None and each.loaded == wanted for each in seated)
        return replace(self, rollout=replace(self.rollout, loaded=wanted)) if is_loaded else self

    def _proven(self, seated: Sequence[Seated], now: float) -> dict[ShardId | None, Restarts]:
        """How Workers have died, of what is planned or lives: those that live long are forgiven."""
        kept = {None, *(shard.shard_id for shard in self.planned), *(each.worker.shard_id for each in seated)}
        past = {shard_id: restarts for shard_id, restarts in self.past.items() if shard_id in kept}
        for each in seated:
            shard_id = each.worker.shard_id
            past[shard_id] = past.get(shard_id, NEVER_DIED).proven(lived_for=now - each.born_at)
        return past


def _departing(planned: Sequence[Shard], seated: Sequence[Seated]) -> list[Shard]:
    """Shards of an earlier plan, as long as a camera that is still planned runs in their Worker."""
    shards = {shard.shard_id for shard in planned}
    home = {camera_id: shard for shard in planned for camera_id in shard.cameras}
    found = []
    for each in seated:
        staying = sorted(each.cameras & home.keys())
        if each.worker.shard_id is not None and each.worker.shard_id not in shards and staying:
            tenant_id = home[staying[0]].tenant_id
            found.append(Shard(shard_id=each.worker.shard_id, tenant_id=tenant_id, cameras=tuple(staying)))
    return found


def _has_arrived(parts: Sequence[Shard], seated: Sequence[Seated]) -> bool:
    """Whether a shard's Worker has begun, and its cameras are nowhere else; of suspects only, the first one's."""
    homes = {part.shard_id for part in parts}
    cameras = {camera_id for part in parts for camera_id in part.cameras}
    has_begun = any(each.has_begun and each.worker.shard_id == parts[0].shard_id for each in seated)
    return has_begun and not any(each.cameras & cameras for each in seated if each.worker.shard_id not in homes)
