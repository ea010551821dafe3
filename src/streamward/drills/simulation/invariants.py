"""What must hold in every run, watched at each event that could break it.

1. No accepted record of generation g is dated at or after the grant of g+1.
2. No two processes trust a lease on one camera at the same true moment, and none trusts a lease that the store has
   given back or given away. (A stubborn process, which goes on past its deadline, trusts nothing: its records are left
   to the fence.)
3. Generations of a camera rise by one with each grant and are never granted twice, also over deletion.
4. A grant never goes to an incarnation that gave everything back.
5. After faults heal, every wanted camera is owned in time, as far as capacity allows.
6. Accepted records of two generations of a camera never share a moment, and lie in the order of the generations.
7. Nothing is accepted that was made after its camera was withdrawn from its owner, as far as the owner can know the
   database's time: clocks drift against each other since its last answer, and a step of the database's clock is not
   known to it before the next one.
   The same for a release that names no last moment, and for what its owner goes on to make.
8. A wanted camera is watched within 2 ttl + `WATCHED_WITHIN` while a runner is connected and free, whatever happened
   before: neither an owner whose answers are slow nor a dead one keeps it for longer.
9. Rebalancing a fleet without faults ends with runners that hold equally many, give or take one, and moves nothing more
   then. A camera that moves is released when its successor has frames, not before, and granted again within
   `MOVE_GAP`.
10. No grant is dated ahead of the database's clock, if that was never set: the first seconds of a new owner are live.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from streamward.drills.simulation.process import RunnerProcess
from streamward.drivers.memory import MemoryDatabase
from streamward.leases import facts, fence
from streamward.leases.fence import StampedRecord, Verdict
from streamward.leases.handover import HandoverStage
from streamward.leases.lease import TICK, Grant, Lease
from streamward.leases.rebalance import Rebalance
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId

MOVE_GAP = 2.0  # seconds between release and grant: a call to the database that waits, and asks that cross
WATCHED_WITHIN = 8.0  # seconds beside two ttls: drift, the share of others, a handover that was promised


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that did not hold."""

    invariant: str
    at: float  # true seconds
    detail: str

    def __str__(self) -> str:
        return f"{self.invariant} at {self.at:.3f} s: {self.detail}"


class Admit(Protocol):
    """The fence, or one with a planted bug."""

    def __call__(self, record: StampedRecord, grants: Mapping[Generation, Grant], *, now: datetime) -> Verdict: ...


class Dated(Protocol):
    """The date of an accepted record, or one with a planted bug."""

    def __call__(self, made_at: datetime, grant: Grant, *, now: datetime) -> datetime: ...


@dataclass(slots=True)
class Tally:
    """What a run did."""

    grants: int = 0
    live: int = 0
    late: int = 0
    refused: int = 0


@dataclass(slots=True)
class Watcher:
    """Looks at every grant, every answer and every record."""

    database: MemoryDatabase
    processes: Callable[[], Iterable[RunnerProcess]]
    now: Callable[[], float]
    ttl: float
    steps: Sequence[float]  # when the database's clock was set
    stubborn: RunnerId | None = None  # goes on past its deadlines, so that its idea of the database's time drifts away
    admit: Admit = fence.admit
    dated: Dated = fence.dated
    is_calm: bool = False  # there are no faults: only rebalancing moves cameras
    longest_move_gap: float = 0.0
    violations: list[Violation] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    _newest: dict[CameraId, Generation] = field(default_factory=dict)
    _accepted: dict[CameraId, dict[Generation, tuple[datetime, datetime]]] = field(default_factory=dict)
    _withdrawn: dict[tuple[CameraId, Generation], float] = field(default_factory=dict)
    _able_since: dict[Incarnation, float] = field(default_factory=dict)
    _dark_since: dict[CameraId, float] = field(default_factory=dict)
    _left_behind: dict[CameraId, Generation] = field(default_factory=dict)  # newest grant whose owner is dead
    _ended: set[tuple[RunnerId, Incarnation]] = field(default_factory=set)
    _released: dict[CameraId, float] = field(default_factory=dict)  # cameras that move, by when they were released
    _releasing: dict[CameraId, tuple[RunnerId, Generation]] = field(default_factory=dict)  # without a last moment

    @property
    def drift(self) -> float:
        """By how much an owner's idea of the database's time may lag at the end of its lease."""
        return 0.12 * self.ttl

    def observe(self, fact: object) -> None:
        """A journal sink."""
        if isinstance(fact, facts.LeaseGranted):
            self._granted(fact)
        elif isinstance(fact, facts.LeaseReleased):
            self._end_plain_release(fact)
            if self.is_calm:
                self._moving_released(fact.camera_id)
        elif isinstance(fact, facts.IncarnationEnded):
            self._ended.add((fact.runner_id, fact.incarnation))

    def _moving_released(self, camera_id: CameraId) -> None:
        handover, generation = self.database.handovers.get(camera_id), self.database.leases[camera_id].generation
        if handover is None or handover.deadline is None or not handover.counts(generation, self.database.now()):
            return
        self._released[camera_id] = self.now()
        if handover.stage is not HandoverStage.SHOWN:
            self._fail("released before its successor had frames", f"{camera_id} generation {generation}")

    def spread(self) -> int:
        """By how many cameras runners differ at most, by the leases of their present processes."""
        held = [self.database.slots_used(process.holder.owner) for process in self.processes() if process.is_alive]
        return max(held) - min(held)

    def balanced(self, planned: Rebalance) -> None:
        """After rounds of rebalancing without faults, and one more."""
        if self.spread() > 1:
            self._fail("not balanced", f"runners differ by {self.spread()} cameras")
        elif planned.moves:
            self._fail("moved without need", ", ".join(move.camera_id for move in planned.moves))

    def store(self, record: StampedRecord, made: float) -> None:
        """The sink: judges a record that arrived, as the batcher does; `made` is the true time of its frame."""
        grants = self.database.grants.get(record.camera_id, {})
        now = self.database.now()
        verdict = self.admit(record, grants, now=now)
        if verdict is Verdict.REFUSED:
            self.tally.refused += 1
            return
        self.tally.live += verdict is Verdict.LIVE
        self.tally.late += verdict is Verdict.LATE
        made_at = self.dated(record.made_at, grants[record.generation], now=now)
        successor = grants.get(Generation(record.generation + 1))
        if successor is not None and made_at >= successor.granted_at:
            self._fail("accepted after the next grant", f"{record.camera_id} generation {record.generation}")
        self._keep_apart(record, made_at)
        withdrawn = self._withdrawn.get((record.camera_id, record.generation), made)
        is_dated = record.owner.runner_id != self.stubborn
        if (
            is_dated
            and made > withdrawn + self.drift
            and not any(withdrawn < step + self.ttl < made + 2 * self.ttl for step in self.steps)
        ):
            self._fail("accepted after its grant was ended", f"{record.camera_id} generation {record.generation}")

    def _keep_apart(self, record: StampedRecord, made_at: datetime) -> None:
        accepted = self._accepted.setdefault(record.camera_id, {})
        first, last = accepted.get(record.generation, (made_at, made_at))
        accepted[record.generation] = (min(first, made_at), max(last, made_at))
        for generation, (others_first, others_last) in accepted.items():
            is_early = generation < record.generation and made_at <= others_last
            is_late = generation > record.generation and made_at >= others_first
            if is_early or is_late:
                self._fail(
                    "two generations share a moment",
                    f"{record.camera_id} generations {record.generation} and {generation}",
                )

    def withdrawn(self, camera_id: CameraId) -> None:
        """An operator took a camera from whoever has it."""
        generation = self.database.leases[camera_id].generation
        self._withdrawn.setdefault((camera_id, generation), self.now())

    def releases_plainly(self, camera_id: CameraId, runner_id: RunnerId, generation: Generation) -> None:
        """An owner is about to release a camera without its last moment."""
        self._releasing[camera_id] = (runner_id, generation)

    def look(self, able: Iterable[RunnerProcess]) -> None:
        """Looks for cameras that stay dark although one runner was connected and free all the time.

        The count starts again when the owner of a camera's newest grant is dead: its lease has to run out first.
        """
        now = self.now()
        self._able_since = {
            process.holder.owner.incarnation: self._able_since.get(process.holder.owner.incarnation, now)
            for process in able
        }
        watched = {
            camera_id
            for process in self.processes()
            if process.is_awake
            for camera_id in process.holder.held(process.now())
        }
        self._dark_since = {
            camera_id: self._dark_since.get(camera_id, now)
            for camera_id, camera in self.database.cameras.items()
            if camera.is_wanted and camera_id not in watched
        }
        living = {process.holder.owner for process in self.processes() if process.is_alive}
        for camera_id in self._dark_since:
            lease = self.database.leases[camera_id]
            is_dead = lease.owner is not None and lease.owner not in living
            if is_dead and self._left_behind.get(camera_id) != lease.generation:
                self._left_behind[camera_id] = lease.generation
                self._dark_since[camera_id] = now
        able_since = min(self._able_since.values(), default=now)
        for camera_id, dark_since in self._dark_since.items():
            if now - max(dark_since, able_since) > 2 * self.ttl + WATCHED_WITHIN:
                self._fail("not watched", f"{camera_id} since {dark_since:.1f} s, {self.database.leases[camera_id]}")

    def believes(self, process: RunnerProcess) -> None:
        """Checks a process's trust against the store, after an answer changed it."""
        now = process.now()
        for camera_id, held in process.holder.held(now).items():
            lease = self.database.leases.get(camera_id, Lease(camera_id=camera_id))
            if lease.owner != process.holder.owner or lease.generation != held.generation:
                self._fail(
                    "trusts what it does not own",
                    f"{process.holder.owner.incarnation} on {camera_id}, generation "
                    f"{held.generation}; the store has {lease.generation} of {lease.owner}",
                )

    def all_owned(self, wanted: Iterable[CameraId], *, room: int) -> None:
        """After the heal: every wanted camera has a process that trusts its lease, as far as there is room."""
        owned = {
            camera_id
            for process in self.processes()
            if process.is_alive
            for camera_id in process.holder.held(process.now())
        }
        missing = sorted(camera_id for camera_id in wanted if camera_id not in owned)
        if missing and len(owned) < room:
            self._fail("not owned after the heal", ", ".join(missing))

    def _end_plain_release(self, fact: facts.LeaseReleased) -> None:
        runner_id, generation = self._releasing.get(fact.camera_id, (None, None))
        if runner_id == fact.runner_id and generation is not None and generation == self._newest[fact.camera_id]:
            self._withdrawn.setdefault((fact.camera_id, generation), self.now())

    def _granted(self, fact: facts.LeaseGranted) -> None:
        self.tally.grants += 1
        camera_id, generation = fact.camera_id, fact.generation
        if generation != self._newest.get(camera_id, 0) + 1:
            self._fail("generation out of order", f"{camera_id}: {generation} after {self._newest.get(camera_id, 0)}")
        self._newest[camera_id] = generation
        gap = self.now() - self._released.pop(camera_id, self.now())
        self.longest_move_gap = max(self.longest_move_gap, gap)
        if gap > MOVE_GAP:
            self._fail("dark while it moved", f"{camera_id} for {gap:.1f} s")
        if (fact.runner_id, fact.incarnation) in self._ended:
            self._fail("grant to an ended incarnation", f"{camera_id} to {fact.incarnation}")
        grant = self.database.grants[camera_id][generation]
        if not self.steps and grant.granted_at > self.database.now() + 2 * TICK:  # one is rounding
            self._fail("granted ahead of the clock", f"{camera_id} generation {generation}")
        _, earlier = self._accepted.get(camera_id, {}).get(Generation(generation - 1), (None, None))
        if earlier is not None and earlier >= grant.granted_at:
            self._fail("granted before an accepted record", f"{camera_id} generation {generation}")
        for process in self.processes():
            if process.is_alive and process.holder.owner.incarnation != fact.incarnation:
                self._no_trust(process, camera_id)

    def _no_trust(self, process: RunnerProcess, camera_id: CameraId) -> None:
        held = process.holder.held(process.now()).get(camera_id)
        if held is not None:
            self._fail(
                "two owners at once",
                f"{camera_id} was granted anew while {process.holder.owner.incarnation} trusts generation "
                f"{held.generation}",
            )

    def _fail(self, invariant: str, detail: str) -> None:
        self.violations.append(Violation(invariant, self.now(), detail))
