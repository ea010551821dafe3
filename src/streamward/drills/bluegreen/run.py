"""`streamward drill bluegreen`: runs it, shows how it goes, and says what it came to."""

import asyncio
import contextlib
import os
import secrets
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from streamward.drills.bluegreen import report
from streamward.drills.bluegreen.account import Account, Change, Replacement, judge
from streamward.drills.bluegreen.handovers import Handovers
from streamward.drills.soak.marked import DETECTOR
from streamward.drills.takeover.fleet import MAX_FPS, Fleet, FleetSpec
from streamward.drills.takeover.sink import Sink, say
from streamward.drills.takeover.stage import play
from streamward.model.runner import DrainMode
from streamward.nvr.tally import Deed
from streamward.runtime.clock import SystemClock

FPS = 25
_LOOP = 5  # seconds of the recorder's loop, or what is nearest to that from one keyframe to another
_SETTLED = 2.0  # seconds in which the last events come
_KILLED_WITHIN = 2.0  # seconds of the rollout's begin


@dataclass(frozen=True, slots=True, kw_only=True)
class BluegreenSpec:
    """What is to be done."""

    fleet: FleetSpec
    times: int = 3  # all runners in turn
    kills: int = 0  # and so often more with the old Worker killed at a random moment
    drains: int = 0  # and so often more by another runner, softly

    @property
    def changes(self) -> list[Change]:
        """All of them."""
        return [Change.REPLACE] * self.times + [Change.KILL] * self.kills + [Change.DRAIN] * self.drains

    seed: int | None = None
    data: Path | None = None


def pictures(key_every: int) -> int:
    """Of a loop of the recorder, with a keyframe after so many seconds."""
    return max(1, round(_LOOP / key_every)) * key_every * FPS


def main(spec: BluegreenSpec, *, as_json: bool = False) -> int:
    """Runs the drill and prints what it came to; 1 if an objective was missed."""
    made = replace(spec.fleet, runner={"RUNNER_DETECTOR": DETECTOR})
    show = report.as_json if as_json else report.table
    return play(lambda serving: Drill(spec, serving).run(), made, called="bluegreen", data=spec.data, show=show)


class Drill:
    """One run."""

    def __init__(self, spec: BluegreenSpec, serving: Fleet) -> None:
        self._spec = spec
        self._fleet = serving
        self._clock = SystemClock()
        self._handovers = Handovers(loop=pictures(serving.spec.key_every or 1))
        self._sink = Sink(serving, clock=self._clock, ear=self._handovers)
        self._seed = secrets.randbelow(1 << 32) if spec.seed is None else spec.seed
        self._random = Random(self._seed)  # noqa: S311 - moments, not secrets

    async def run(self) -> Account:
        """From the start of the runners to the last replacement."""
        began, load = self._clock.boot(), os.getloadavg()[0]
        async with self._sink.listening():
            say(f"{self._fleet.spec.runners} runners start (seed {self._seed})")
            await self._sink.start_runners()
            await self._sink.until(self._is_heard, "a picture of every camera")
            done = await self._all()
        return self._account(done, seconds=self._clock.boot() - began, load=load)

    def _is_heard(self) -> bool:
        return len(self._handovers.cameras) == self._fleet.spec.cameras

    async def _all(self) -> list[Replacement]:
        done: list[Replacement] = []
        for change in self._spec.changes:
            for runner_id in self._fleet.runners:
                done.append(await self._one(len(done) + 1, runner_id, change))
                say(report.line(done[-1]))
        return done

    async def _one(self, number: int, runner_id: str, change: Change) -> Replacement:
        self._handovers.take()
        before, began = await self._dials(), self._clock.boot()
        await self._begin(runner_id, change)
        took: float | None = None
        with contextlib.suppress(TimeoutError):
            await self._sink.until(lambda: self._is_done(runner_id, change), f"what was done to {runner_id}")
            took = round(self._clock.boot() - began, 3)
        await self._sink.until(self._sink.is_steady, "the fleet to be steady")
        await asyncio.sleep(_SETTLED)
        if change is Change.DRAIN:
            await self._change(runner_id, drain_mode=DrainMode.NONE)
        return Replacement(
            number=number,
            runner=runner_id,
            took=took,
            change=change,
            dials=await self._dials() - before,
            handovers=self._handovers.take(),
        )

    async def _begin(self, runner_id: str, change: Change) -> None:
        """The detector stays what it is: the Workers are others all the same."""
        old = self._workers(runner_id)
        if change is Change.DRAIN:
            await self._change(runner_id, drain_mode=DrainMode.SOFT)
            return
        await self._change(runner_id, detector=None)
        if change is Change.KILL:
            await asyncio.sleep(self._random.uniform(0.0, _KILLED_WITHIN))
            for pid in old:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    async def _change(self, runner_id: str, **flags: str | None) -> None:
        await asyncio.to_thread(self._fleet.desk.change, f"/v1/runners/{runner_id}", flags)

    def _is_done(self, runner_id: str, change: Change) -> bool:
        if change is Change.DRAIN:
            return all(row.owner_id not in {None, runner_id} for row in self._fleet.desk.leases().items)
        known = {each.runner_id: each for each in self._fleet.desk.runners().items}
        return known[runner_id].proven_make == known[runner_id].make

    def _workers(self, runner_id: str) -> list[int]:
        """Who has a shard now."""
        lines = self._fleet.runners[runner_id].role.lines()
        gone = {line["pid"] for line in lines if line.get("event") == "worker.exited"}
        begun = [line["pid"] for line in lines if line.get("event") == "worker.began"]
        return [pid for pid in begun if pid not in gone]

    async def _dials(self) -> int:
        counts = await self._fleet.recorder.counts()
        return sum(each.total for each in counts if each.deed is Deed.DIALED and each.camera is not None)

    def _account(self, done: list[Replacement], *, seconds: float, load: float) -> Account:
        made = self._fleet.spec
        account = Account(
            cameras=made.cameras,
            runners=made.runners,
            database=made.database_name,
            bus=made.bus_name,
            seconds=round(seconds, 1),
            load=(round(load, 1), round(os.getloadavg()[0], 1)),
            interval=round(FPS / MAX_FPS),
            unread=self._handovers.unread,
            replacements=done,
        )
        return replace(account, objectives=judge(account))
