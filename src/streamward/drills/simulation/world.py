"""One run: runners, control planes and a database among the faults of a script."""

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from streamward.drills.simulation.control import ControlHost, Endpoint, SimulatedControl, direct, drive
from streamward.drills.simulation.events import DatabaseClock, EventQueue, HostClock
from streamward.drills.simulation.invariants import Admit, Dated, Tally, Violation, Watcher
from streamward.drills.simulation.network import Link, Network, Weather
from streamward.drills.simulation.process import RunnerProcess, Stubborn, Surroundings
from streamward.drills.simulation.script import REBALANCES_FROM, Event, Script, draw
from streamward.drivers.memory import MemoryDatabase, MemoryStore
from streamward.leases import fence
from streamward.leases.fence import StampedRecord
from streamward.leases.handover import MOVED_WITHIN
from streamward.leases.holder import Holder, HolderSpec
from streamward.leases.policy import BY_NAME, Policy
from streamward.leases.rebalance import Rebalance, RebalanceAsk
from streamward.model.camera import Camera, LeasePolicyName, Site
from streamward.model.identity import SYSTEM, Caller
from streamward.model.ids import CameraId, Incarnation, RunnerId, SiteId, TenantId
from streamward.model.register import Edit
from streamward.model.runner import DrainMode, RunnerSpec
from streamward.protocol.runner_link import Reply
from streamward.runtime.bell import Bell
from streamward.runtime.journal import Journal

TENANTS = (TenantId("tenant"), TenantId("other"))
BALANCED_WITHIN = 20  # rounds: a successor may refuse a camera, which is then left alone for a minute
LOOKS_EVERY = 2.0  # seconds between two looks for cameras that nobody watches


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a world is made of: the real things, or one of them with a planted bug."""

    holder: type[Holder] = Holder
    database: type[MemoryDatabase] = MemoryDatabase
    store: type[MemoryStore] = MemoryStore
    endpoint: Callable[[MemoryStore, Journal], Endpoint] = direct
    admit: Admit = fence.admit
    dated: Dated = fence.dated
    read_clock: Callable[[HostClock], float] = HostClock.boot
    hands_over: bool = True


REAL = Parts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one seed showed."""

    seed: int
    violations: tuple[Violation, ...]
    tally: Tally
    simulated: float  # seconds
    trace: tuple[str, ...]

    @property
    def digest(self) -> str:
        """A fingerprint of everything that happened."""
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()


@dataclass(slots=True)
class Slot:
    """A runner: one id, its newest process, and older ones that may still live."""

    runner_id: RunnerId
    link: Link
    newest: RunnerProcess
    older: list[RunnerProcess] = field(default_factory=list)


class World:
    """Everything of one run."""

    def __init__(self, seed: int, parts: Parts = REAL, *, heals_at: float = 600.0) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - repeatable on purpose
        self.queue = EventQueue()
        rebalances = random.Random(f"rebalance {seed}") if seed >= REBALANCES_FROM else None  # noqa: S311 - as above
        self.script: Script = draw(self.rng, rebalances=rebalances, heals_at=heals_at)
        self.trace: list[str] = []
        self._seed = seed
        self._parts = parts
        self._births = 0
        self.policy: Policy = BY_NAME[self.rng.choice((LeasePolicyName.FAST,) * 4 + (LeasePolicyName.TASK,))]
        self.database_clock = DatabaseClock(self.queue, rate=self._rate())
        self.database = parts.database(clock=self.database_clock)
        self.network = Network(self.queue, self.rng)
        self.watcher = Watcher(
            self.database,
            processes=lambda: list(self.processes()),
            now=lambda: self.queue.now,
            ttl=self.policy.ttl,
            steps=self.database_clock.steps,
            stubborn=None if self.script.stubborn is None else RunnerId(f"runner-{self.script.stubborn}"),
            admit=parts.admit,
            dated=parts.dated,
        )
        self.operator = parts.store(self.database, clock=self._host(), bell=Bell("operator"))
        self._add_cameras()
        self.slots: list[Slot] = []
        self.controls = [self._control() for _ in range(self.script.controls)]
        self._around = Surroundings(
            queue=self.queue,
            rng=self.rng,
            network=self.network,
            to_control=self._to_control,
            to_sink=self._to_sink,
            releases_plainly=self.watcher.releases_plainly,
            watch=self.watcher.believes,
            is_handing_over=self._is_handing_over,
            exited=self._exited,
            hands_over=parts.hands_over,
        )
        self.slots.extend(self._slot(number) for number in range(self.script.runners))
        self.queue.after(LOOKS_EVERY, self._look)

    def run(self, apply: Callable[["World", Event], None]) -> Outcome:
        """Plays the script, heals, and looks whether everything came back."""
        for event in self.script.events:
            self.queue.run_until(event.at)
            self.note(f"fault {event.fault} {event.target} {event.lasts:.3f} {event.amount:.3f}")
            apply(self, event)
            if self.watcher.violations:
                break
        else:
            self.queue.run_until(self.script.heals_at)
            self._heal()
            self.queue.run_until(self._owned_by())
            self.watcher.all_owned(sorted(self.database.cameras), room=self._room())
            if self.script.has_rebalances and not self.watcher.violations:
                self._balance()
        return Outcome(
            seed=self._seed,
            violations=tuple(self.watcher.violations),
            tally=self.watcher.tally,
            simulated=self.queue.now,
            trace=tuple(self.trace),
        )

    def rebalance(self) -> Rebalance:
        """An operator has cameras moved to runners that hold fewer."""
        planned = drive(self.operator.rebalance(RebalanceAsk()))
        for move in planned.moves:
            self.note(f"move {move.camera_id} from {move.owner.incarnation} to {move.successor.incarnation}")
        return planned

    def processes(self) -> Iterator[RunnerProcess]:
        """Every process that lives, newest and older."""
        for slot in self.slots:
            yield slot.newest
            yield from slot.older

    def note(self, line: str) -> None:
        self.trace.append(f"{self.queue.now:.6f} {line}")

    def add_process(self, slot: Slot) -> None:
        """Starts another process of a runner; the one before lives on, if it lives."""
        if slot.newest.is_alive:
            slot.older.append(slot.newest)
        slot.newest = self._process(slot.runner_id, slot.link)

    def save(self, camera: Camera) -> None:
        """An operator creates or changes a camera."""
        known = self.database.cameras.get(camera.camera_id)
        drive(self.operator.save_camera(camera))
        if known is not None and camera.withdraws(known):
            self.watcher.withdrawn(camera.camera_id)

    def delete(self, camera_id: CameraId) -> None:
        """An operator deletes a camera, if it is there."""
        known = self.database.cameras.get(camera_id)
        if known is not None:
            drive(self.operator.edit([Edit(before=known)], author=SYSTEM))
            self.watcher.withdrawn(camera_id)

    def camera(self, number: int, *, tenant_id: TenantId = TENANTS[0]) -> Camera:
        camera_id = CameraId(f"cam-{number % self.script.cameras:02d}")
        return Camera(
            camera_id=camera_id,
            tenant_id=tenant_id,
            site_id=SiteId(f"site-{number % 3}"),
            rtsp_url=f"rtsp://192.0.2.1/{camera_id}",
            updated_at=self.database.now(),
        )

    def wake_runners(self) -> None:
        for process in self.processes():
            if process.is_alive:
                process.wake()

    def _add_cameras(self) -> None:
        for number in range(3):
            site = Site(site_id=SiteId(f"site-{number}"), tenant_id=TENANTS[0])
            drive(self.operator.save_site(site))
        for number in range(self.script.cameras):
            drive(self.operator.save_camera(self.camera(number)))

    def _control(self) -> SimulatedControl:
        host = ControlHost(
            queue=self.queue,
            rng=self.rng,
            clock=self._host(),
            make_store=self._store,
            make_endpoint=self._parts.endpoint,
            wake=self.wake_runners,
        )
        return SimulatedControl(host, sinks=(self.watcher.observe, lambda fact: self.note(repr(fact))))

    def _store(self, clock: HostClock, bell: Bell) -> MemoryStore:
        return self._parts.store(self.database, clock=clock, bell=bell)

    def _slot(self, number: int) -> Slot:
        runner_id, link = RunnerId(f"runner-{number}"), Link()
        return Slot(runner_id, link, newest=self._process(runner_id, link))

    def _process(self, runner_id: RunnerId, link: Link) -> RunnerProcess:
        self._births += 1
        runner = RunnerSpec(
            runner_id=runner_id,
            incarnation=Incarnation(f"{runner_id}-{self._births}"),
            policy=self.policy.name,
            capacity=self.script.capacity,
        )
        spec = HolderSpec(runner=runner, renew_every=self.policy.renew_every, beat_every=2.5)
        stubborn = runner_id == f"runner-{self.script.stubborn}"
        return RunnerProcess(
            self._around,
            Stubborn(spec) if stubborn else self._parts.holder(spec),
            clock=self._host(),
            link=link,
            read_clock=self._parts.read_clock,
        )

    def _host(self) -> HostClock:
        return HostClock(self.queue, rate=self._rate(), offset=self.rng.uniform(1e3, 1e6))

    def _rate(self) -> float:
        """Within ±5 %, often at the edge."""
        return self.rng.choice((0.95, 1.0, 1.05, self.rng.uniform(0.95, 1.05)))

    def _to_control(self, caller: Caller, request: Any, reply: Callable[[Reply], None]) -> None:
        self.rng.choice(self.controls).receive(caller, request, reply)

    def _to_sink(self, record: StampedRecord, made: float) -> None:
        spooled = self.rng.random() < 0.1
        copies = 2 if self.rng.random() < 0.05 else 1
        for _ in range(copies):
            delay = self.rng.uniform(0.05, 40.0) if spooled else self.rng.uniform(0.001, 0.05)
            self.queue.after(delay, self.watcher.store, record, made)

    def _exited(self, process: RunnerProcess) -> None:
        """A supervisor starts a runner again when its newest process ended by itself."""
        self.note(f"exit {process.holder.owner.incarnation}")
        for slot in self.slots:
            slot.older = [older for older in slot.older if older.is_alive]
            if slot.newest is process:
                self.queue.after(self.rng.uniform(0.2, 1.0), self._restart, slot, process)

    def _restart(self, slot: Slot, exited: RunnerProcess) -> None:
        if slot.newest is exited:
            slot.newest = self._process(slot.runner_id, slot.link)

    def _heal(self) -> None:
        self.note("heal")
        self.network.clear()
        for control in self.controls:
            control.heal()
        for slot in self.slots:
            slot.link.mend()
            self._revive(slot)
        for number in range(self.script.cameras):
            known = self.database.cameras.get(self.camera(number).camera_id)
            self.save(replace(known or self.camera(number), enabled=True))
        self.wake_runners()

    def _balance(self) -> None:
        """After the heal: rounds of rebalancing until runners hold equally many, which one more round leaves alone."""
        self.note("balance")
        self.watcher.is_calm = True
        for _ in range(BALANCED_WITHIN):
            self.rebalance()
            self.queue.run_until(self.queue.now + MOVED_WITHIN + 2.0)
            if self.watcher.spread() <= 1 or self.watcher.violations:
                break
        self.watcher.balanced(self.rebalance())

    def _is_handing_over(self) -> bool:
        is_draining = any(each.drain is DrainMode.SOFT for each in self.database.runners.values())
        return is_draining or any(each.deadline is not None for each in self.database.handovers.values())

    def _revive(self, slot: Slot) -> None:
        runner = self.database.runners.get(slot.runner_id)
        if runner is not None:
            self.database.runners[slot.runner_id] = replace(
                runner, cordoned=False, drain=type(runner.drain).NONE, capacity=self.script.capacity
            )
        if not slot.newest.is_alive:
            slot.newest = self._process(slot.runner_id, slot.link)
        for process in (slot.newest, *slot.older):
            process.thaw()

    def _owned_by(self) -> float:
        """When everything must be owned again, in true time."""
        ttl = self.policy.ttl
        unsteady_at = max(self.database_clock.last_step_at, *(control.unsteady_at for control in self.controls))
        return max(self.queue.now + ttl + 2.0, unsteady_at + 2 * ttl + 2.0)

    def _look(self) -> None:
        """Looks for cameras that nobody watches although a runner could."""
        is_steady = (
            all(control.is_running for control in self.controls)
            and self.network.weather == Weather()
            and self.queue.now - self.database_clock.last_step_at > 2 * self.policy.ttl
            and all(self.queue.now - control.unsteady_at > self.policy.ttl for control in self.controls)
        )
        able = [slot.newest for slot in self.slots if self._is_able(slot)] if is_steady else []
        self.watcher.look(able)
        self.queue.after(LOOKS_EVERY, self._look)

    def _is_able(self, slot: Slot) -> bool:
        """Whether a runner is connected, and free to take a camera more."""
        if not slot.newest.is_awake or not slot.link.is_good:
            return False
        runner = self.database.runners.get(slot.runner_id)
        used = self.database.slots_used(slot.newest.holder.owner)
        return runner is None or (runner.takes_leases and used < runner.capacity)

    def _room(self) -> int:
        return self.script.capacity * len(self.slots)
