"""`streamward drill steady`: runs it, shows how it goes, and says what it came to."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from streamward.drills.network.link import Weather
from streamward.drills.steady import report
from streamward.drills.steady.account import Account, Heard, Trouble, judge
from streamward.drills.takeover.fleet import Fleet, FleetSpec
from streamward.drills.takeover.runner import send, tree
from streamward.drills.takeover.sink import Sink, say
from streamward.drills.takeover.stage import play
from streamward.protocol.lease_listing import LeasePage
from streamward.runtime.clock import SystemClock

_TOLD_EVERY = 60.0  # seconds between two words about how it goes


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadySpec:
    """What is to be done."""

    fleet: FleetSpec
    seconds: float = 600.0
    trouble: Trouble = field(default_factory=Trouble)
    data: Path | None = None


def main(spec: SteadySpec, *, as_json: bool = False) -> int:
    """Runs the drill and prints what it came to; 1 if an objective was missed."""
    made = replace(spec.fleet, is_apart=True)
    show = report.as_json if as_json else report.table
    return play(lambda serving: Drill(spec, serving).run(), made, called="steady", data=spec.data, show=show)


class Drill:
    """One run."""

    def __init__(self, spec: SteadySpec, serving: Fleet) -> None:
        self._spec = spec
        self._fleet = serving
        self._clock = SystemClock()
        self._heard = Heard()
        self._sink = Sink(serving, clock=self._clock, ear=self._heard)
        self._stalls = 0

    async def run(self) -> Account:
        """From the start of the runners to the end of the bad weather."""
        async with self._sink.listening():
            say(f"{self._fleet.spec.runners} runners start")
            await self._sink.start_runners()
            before, load = await self._look(), os.getloadavg()[0]
            began = self._clock.boot()
            with _at_work(self._spec.trouble.busy):
                lost = await self._bad_weather()
            seconds = self._clock.boot() - began
            after = await self._look()
        return self._account(before, after, seconds=seconds, lost=lost, load=load)

    async def _look(self) -> tuple[LeasePage, dict[str, str | None]]:
        """Who has which camera, and which runners there are."""
        page = await asyncio.to_thread(self._fleet.desk.leases)
        listed = await asyncio.to_thread(self._fleet.desk.runners)
        return page, {each.runner_id: each.incarnation for each in listed.items}

    async def _bad_weather(self) -> int:
        """Packets that it cost."""
        trouble, until = self._spec.trouble, self._clock.boot() + self._spec.seconds
        told_at = self._clock.boot()
        self._heard.is_counted = True
        with self._fleet.weather(Weather(loss=trouble.loss, delay=trouble.delay)) as links:
            while self._clock.boot() < until:
                await self._stall()
                if self._clock.boot() >= told_at:
                    told_at += _TOLD_EVERY
                    say(f"{until - self._clock.boot():4.0f} s to go, {self._heard.detections:,} detections so far")
                await asyncio.sleep(min(trouble.stall_every - trouble.stall_for, max(0.0, until - self._clock.boot())))
            self._heard.is_counted = False
            return sum(link.lost for link in links)

    async def _stall(self) -> None:
        """The control plane stands still for a while."""
        pids = tree(self._fleet.control.process.pid)
        send(signal.SIGSTOP, pids)
        try:
            await asyncio.sleep(self._spec.trouble.stall_for)
        finally:
            send(signal.SIGCONT, pids)
        self._stalls += 1

    def _account(
        self,
        before: tuple[LeasePage, dict[str, str | None]],
        after: tuple[LeasePage, dict[str, str | None]],
        *,
        seconds: float,
        lost: int,
        load: float,
    ) -> Account:
        made = self._fleet.spec
        account = Account(
            cameras=made.cameras,
            runners=made.runners,
            ttl=made.ttl,
            renew_every=made.renew_every,
            database=made.database_name,
            bus=made.bus_name,
            seconds=round(seconds, 1),
            load=(round(load, 1), round(os.getloadavg()[0], 1)),
            trouble=self._spec.trouble,
            stalls=self._stalls,
            lost=lost,
            changes=changes(before[0], after[0]),
            runners_anew=sum(after[1].get(name) != incarnation for name, incarnation in before[1].items()),
            detections=self._heard.detections,
            states={str(state): count for state, count in self._heard.states.items()},
        )
        return replace(account, objectives=judge(account))


def changes(before: LeasePage, after: LeasePage) -> dict[str, int]:
    """How often each camera that did was given to somebody: each grant has the next version."""
    had = {row.camera_uuid: row.version for row in before.items}
    more = {row.camera_uuid: row.version - had[row.camera_uuid] for row in after.items if row.camera_uuid in had}
    return {camera: count for camera, count in more.items() if count}


@contextlib.contextmanager
def _at_work(count: int) -> Iterator[None]:
    """Processes that never rest."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for each in started:
            each.kill()
            each.wait()
