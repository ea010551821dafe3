"""`streamward drill leftovers`: runs it, shows how it goes, and says what it came to."""

import asyncio
import contextlib
import itertools
import os
import secrets
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from streamward.drills.leftovers import report, sockets
from streamward.drills.leftovers.account import Account, Kill, Left, Part, judge
from streamward.drills.roles import ProcessFailed
from streamward.drills.takeover.fleet import Fleet, FleetSpec
from streamward.drills.takeover.runner import children, tree
from streamward.drills.takeover.sink import PATIENCE, Sink, say
from streamward.drills.takeover.stage import play
from streamward.runtime import process_tree
from streamward.runtime.clock import SystemClock

_LATEST = 3.0  # seconds from a start, or in a steady fleet, in which a kill comes
_LOOK_EVERY = 0.02
_STAYS = 30.0  # seconds until something counts as left for good


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftoversSpec:
    """What is to be done."""

    fleet: FleetSpec
    kills: int = 100
    seed: int | None = None
    data: Path | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """One, whoever has its pid later."""

    pid: int
    began: str  # as the kernel tells it


@dataclass(frozen=True, slots=True, kw_only=True)
class Doomed:
    """What must not outlive a process, as it was just before its death."""

    processes: frozenset[Process]
    ports: frozenset[int]  # inodes of listening sockets
    clients: frozenset[str]  # from where cameras were dialed
    is_all: bool  # of its runner


def main(spec: LeftoversSpec, *, as_json: bool = False) -> int:
    """Runs the drill and prints what it came to; 1 if an objective was missed."""
    process_tree.adopt_orphans()  # it takes the dead in, as the first process of a host should at once
    show = report.as_json if as_json else report.table
    return play(lambda serving: Drill(spec, serving).run(), spec.fleet, called="leftovers", data=spec.data, show=show)


class Drill:
    """One run."""

    def __init__(self, spec: LeftoversSpec, serving: Fleet) -> None:
        self._spec = spec
        self._fleet = serving
        self._clock = SystemClock()
        self._sink = Sink(serving, clock=self._clock)
        self._seed = secrets.randbelow(1 << 32) if spec.seed is None else spec.seed
        self._random = Random(self._seed)  # noqa: S311 - repeatable, not secret

    async def run(self) -> Account:
        """From the start of the runners to the last kill."""
        began, load = self._clock.boot(), os.getloadavg()[0]
        async with self._sink.listening():
            say(f"{self._fleet.spec.runners} runners start (seed {self._seed})")
            await self._sink.start_runners()
            kills = await self._all()
        return self._account(kills, seconds=self._clock.boot() - began, load=load)

    async def _all(self) -> list[Kill]:
        done: list[Kill] = []
        parts = itertools.cycle(Part)
        for number in range(1, self._spec.kills + 1):
            done.append(await self._one(number, next(parts)))
            say(report.line(done[-1]))
        return done

    async def _one(self, number: int, part: Part) -> Kill:
        runner_id = self._random.choice(self._fleet.spec.runner_ids)
        was_steady = await self._ready()
        await asyncio.sleep(self._random.uniform(0.0, _LATEST))
        doomed = await asyncio.to_thread(self._strike, runner_id, part)
        gone_after = await self._until_gone(runner_id, doomed)
        return Kill(
            number=number,
            part=part,
            runner=runner_id,
            was_steady=was_steady,
            had={
                Left.PROCESSES: len(doomed.processes),
                Left.PORTS: len(doomed.ports),
                Left.SESSIONS: len(doomed.clients),
            },
            gone_after=gone_after,
        )

    async def _ready(self) -> bool:
        """Starts those that are dead; every other time it waits until all is well."""
        self._start_dead()
        if self._random.random() < 0.5:
            return False
        with contextlib.suppress(TimeoutError):
            await self._sink.until(self._is_decided, "the fleet to be steady")
            while self._start_dead():  # a runner ends whose fork server dies before it was ever there
                await self._sink.until(self._is_decided, "the fleet to be steady")
        return True

    def _is_decided(self) -> bool:
        return bool(self._dead()) or self._sink.is_steady()

    def _dead(self) -> list[str]:
        runners = self._fleet.runners
        return [each for each in self._fleet.spec.runner_ids if runners[each].role.process.poll() is not None]

    def _start_dead(self) -> bool:
        """Whether there were any."""
        dead = self._dead()
        for each in dead:
            self._fleet.start_runner(each)
        return bool(dead)

    def _strike(self, runner_id: str, part: Part) -> Doomed:
        """Kills one, as soon as there is one; what must not outlive it."""
        role, last = self._fleet.runners[runner_id].role, self._clock.boot() + PATIENCE
        while self._clock.boot() < last:
            found = [role.process.pid]
            for _ in range([*Part].index(part)):
                found = [below for pid in found for below in children(pid)]
            with contextlib.suppress(ProcessLookupError):  # Workers come and go
                if found:
                    victim = self._random.choice(found)
                    return self._killed(role.process.pid, victim, is_all=part in {Part.PARENT, Part.MANAGER})
            time.sleep(_LOOK_EVERY)
        raise ProcessFailed(role.name, role.trouble)

    def _killed(self, top: int, victim: int, *, is_all: bool) -> Doomed:
        process = os.pidfd_open(victim)
        try:
            pids = set(tree(top) if is_all else tree(victim))
            theirs, others = sockets.of(pids), sockets.of(set(tree(top)) - pids)
            processes = frozenset(Process(pid, began) for pid in pids if (began := _began(pid)))
            signal.pidfd_send_signal(process, signal.SIGKILL)
        finally:
            os.close(process)
        alone = [each for inode, each in theirs.items() if inode not in others]
        places = {each.rpartition("/")[0].removeprefix("rtsp://") for each in self._fleet.recorder.urls}
        return Doomed(
            processes=processes,
            ports=frozenset(each.inode for each in alone if each.is_listening),
            clients=frozenset(each.local for each in alone if each.remote in places),
            is_all=is_all,
        )

    async def _until_gone(self, runner_id: str, doomed: Doomed) -> dict[Left, float | None]:
        began = self._clock.boot()
        gone: dict[Left, float | None] = dict.fromkeys(Left)
        while None in gone.values() and self._clock.boot() < began + _STAYS:
            left = {
                Left.PROCESSES: await asyncio.to_thread(self._left, runner_id, doomed),
                Left.PORTS: sockets.listening(set(doomed.ports)),
                Left.SESSIONS: doomed.clients & await self._fleet.recorder.clients(),
            }
            for what, found in left.items():
                if not found and gone[what] is None:
                    gone[what] = round(self._clock.boot() - began, 3)
            await asyncio.sleep(_LOOK_EVERY)
        return gone

    def _left(self, runner_id: str, doomed: Doomed) -> set[int]:
        """Those that should be gone, also as zombies, and whoever is of that runner but not below its parent."""
        top = self._fleet.runners[runner_id].role.process
        is_over = top.poll() is not None  # which takes it in
        for pid in {each.pid for each in doomed.processes} - {top.pid}:
            with contextlib.suppress(ChildProcessError):  # somebody else's, or gone
                os.waitpid(pid, os.WNOHANG)
        kept = set() if doomed.is_all or is_over else set(tree(top.pid))
        stayed = {each.pid for each in doomed.processes if _began(each.pid) == each.began}
        return stayed | (self._bearers(runner_id) - kept)

    def _bearers(self, runner_id: str) -> set[int]:
        """Every process that has the identity of that runner."""
        mark = f"STREAMWARD_IDENTITY={self._fleet.spec.folder / runner_id}.json".encode()
        found = set()
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes():
                    found.add(int(entry.name))
        return found

    def _account(self, kills: list[Kill], *, seconds: float, load: float) -> Account:
        made = self._fleet.spec
        account = Account(
            cameras=made.cameras,
            runners=made.runners,
            seed=self._seed,
            database=made.database_name,
            bus=made.bus_name,
            seconds=round(seconds, 1),
            load=(round(load, 1), round(os.getloadavg()[0], 1)),
            kills=kills,
        )
        return replace(account, objectives=judge(account))


def _began(pid: int) -> str | None:
    """When a process began, dead or alive; None: there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[19]
    except OSError:
        return None
