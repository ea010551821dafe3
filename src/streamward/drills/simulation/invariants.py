"""What must hold in every run, watched at each event that could break it.

1. No accepted record of generation g is dated at or after the grant of g+1.
2. No two processes trust a lease on one camera at the same true moment, and none trusts a lease that the store has
   given back or given away. (A stubborn process, which goes on past its deadline, trusts nothing: its records are left
   to the fence.)
3. Generations of a camera rise by one with each grant and are never granted twice, also over deletion.
4. A grant never goes to an incarnation that gave everything back.
5. After faults heal, every wanted camera is owned in time, as far as capacity allows; nobody starves.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from streamward.drills.simulation.process import RunnerProcess
from streamward.drivers.memory import MemoryDatabase
from streamward.leases import facts, fence
from streamward.leases.fence import Stamp, Verdict
from streamward.leases.lease import Grant, Lease
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId


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

    def __call__(self, stamp: Stamp, grants: Mapping[Generation, Grant], *, now: datetime) -> Verdict: ...


class Dated(Protocol):
    """The date of an accepted record, or one with a planted bug."""

    def __call__(self, stamp: Stamp, *, now: datetime) -> datetime: ...


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
    admit: Admit = fence.admit
    dated: Dated = fence.dated
    violations: list[Violation] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    _newest: dict[CameraId, Generation] = field(default_factory=dict)
    _accepted_until: dict[tuple[CameraId, Generation], datetime] = field(default_factory=dict)
    _ended: set[tuple[RunnerId, Incarnation]] = field(default_factory=set)

    def observe(self, fact: object) -> None:
        """A journal sink."""
        if isinstance(fact, facts.LeaseGranted):
            self._granted(fact)
        elif isinstance(fact, facts.IncarnationEnded):
            self._ended.add((fact.runner_id, fact.incarnation))

    def store(self, stamp: Stamp) -> None:
        """The sink: judges a record that arrived, as the batcher will."""
        grants = self.database.grants.get(stamp.camera_id, {})
        now = self.database.now()
        verdict = self.admit(stamp, grants, now=now)
        if verdict is Verdict.REFUSED:
            self.tally.refused += 1
            return
        self.tally.live += verdict is Verdict.LIVE
        self.tally.late += verdict is Verdict.LATE
        key = (stamp.camera_id, stamp.generation)
        made_at = self.dated(stamp, now=now)
        self._accepted_until[key] = max(made_at, self._accepted_until.get(key, made_at))
        successor = grants.get(Generation(stamp.generation + 1))
        if successor is not None and made_at >= successor.granted_at:
            self._fail("accepted after the next grant", f"{stamp.camera_id} generation {stamp.generation}")

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

    def _granted(self, fact: facts.LeaseGranted) -> None:
        self.tally.grants += 1
        camera_id, generation = fact.camera_id, fact.generation
        if generation != self._newest.get(camera_id, 0) + 1:
            self._fail("generation out of order", f"{camera_id}: {generation} after {self._newest.get(camera_id, 0)}")
        self._newest[camera_id] = generation
        if (fact.runner_id, fact.incarnation) in self._ended:
            self._fail("grant to an ended incarnation", f"{camera_id} to {fact.incarnation}")
        grant = self.database.grants[camera_id][generation]
        earlier = self._accepted_until.get((camera_id, Generation(generation - 1)))
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
