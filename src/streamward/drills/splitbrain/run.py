"""`streamward drill splitbrain`: runs it, shows how it goes, and says what it came to.

renewals   way to the control plane cut ─→ another owns its cameras ─→ way mended
sleep      bus away ─→ events wait ─→ all stand still ─→ bus back ─→ another owns its cameras ─→ all go on
"""

import asyncio
import contextlib
import itertools
import os
import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from streamward.drills.splitbrain import report
from streamward.drills.splitbrain.account import Account, Round, Split, judge
from streamward.drills.takeover.fleet import Fleet, FleetSpec
from streamward.drills.takeover.ledger import Term
from streamward.drills.takeover.sink import Sink, busiest, say, terms
from streamward.drills.takeover.stage import play
from streamward.leases.fence import Verdict
from streamward.runtime.clock import SystemClock

_HELD_BACK = 1.0  # seconds of events that wait when a runner falls asleep
_APART = 1.75  # ttls that it believes in what it lost, or sleeps
_AFTERMATH = 3.0  # seconds for what it still has to say


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitSpec:
    """What is to be done."""

    fleet: FleetSpec
    rounds: int = 6
    on_control_loss: str = "continue-fenced"
    seed: int | None = None
    data: Path | None = None


def main(spec: SplitSpec, *, as_json: bool = False) -> int:
    """Runs the drill and prints what it came to; 1 if an objective was missed."""
    made = replace(spec.fleet, is_wired=True, runner={"ON_CONTROL_LOSS": spec.on_control_loss})
    show = report.as_json if as_json else report.table
    return play(lambda serving: Drill(spec, serving).run(), made, called="splitbrain", data=spec.data, show=show)


class Drill:
    """One run."""

    def __init__(self, spec: SplitSpec, serving: Fleet) -> None:
        self._spec = spec
        self._fleet = serving
        self._clock = SystemClock()
        self._sink = Sink(serving, clock=self._clock)
        self._seed = secrets.randbelow(1 << 32) if spec.seed is None else spec.seed
        self._random = Random(self._seed)  # noqa: S311 - repeatable, not secret

    async def run(self) -> Account:
        """From the start of the runners to the last round."""
        began, load = self._clock.boot(), os.getloadavg()[0]
        async with self._sink.listening():
            rounds = await self._all()
        return self._account(rounds, seconds=self._clock.boot() - began, load=load)

    async def _all(self) -> list[Round]:
        done = []
        say(f"{self._spec.fleet.runners} runners start (seed {self._seed})")
        await self._sink.start_runners()
        splits = itertools.cycle(Split)
        for number in range(1, self._spec.rounds + 1):
            done.append(await self._one(number, next(splits)))
            say(report.line(done[-1]))
        return done

    async def _one(self, number: int, split: Split) -> Round:
        await asyncio.sleep(self._random.uniform(0.0, self._fleet.spec.renew_every))
        page = await asyncio.to_thread(self._fleet.desk.leases)
        victim = busiest(page)
        had = terms(page, of=victim)
        if split is Split.RENEWALS:
            await self._without_renewals(victim, had)
        else:
            await self._asleep(victim, had)
        await asyncio.sleep(_AFTERMATH)
        with contextlib.suppress(TimeoutError):
            await self._sink.until(self._sink.is_steady, "the fleet to be steady")
        tried = self._sink.ledger.judged(had)
        return Round(
            number=number,
            split=split,
            victim=victim,
            cameras=len(had),
            moved=sum(self._sink.have_moved([term]) for term in had),
            late=tried[Verdict.LATE],
            refused=tried[Verdict.REFUSED],
        )

    async def _without_renewals(self, victim: str, had: list[Term]) -> None:
        wire = self._fleet.control_ways[victim].wire
        await asyncio.to_thread(wire.cut)
        try:
            await self._apart(had)
        finally:
            await asyncio.to_thread(wire.mend)

    async def _asleep(self, victim: str, had: list[Term]) -> None:
        runner = self._fleet.runners[victim]
        with self._fleet.bus_away(victim):
            await asyncio.sleep(_HELD_BACK)
            runner.freeze()
        await self._apart(had)
        runner.thaw()

    async def _apart(self, had: list[Term]) -> None:
        """Until another has the cameras, and for long enough that nobody could think otherwise in good faith."""
        until = self._clock.boot() + _APART * self._fleet.spec.ttl
        with contextlib.suppress(TimeoutError):
            await self._sink.until(lambda: self._sink.have_moved(had), "every camera to stream elsewhere")
        await asyncio.sleep(max(0.0, until - self._clock.boot()))

    def _account(self, rounds: list[Round], *, seconds: float, load: float) -> Account:
        made = self._fleet.spec
        account = Account(
            cameras=made.cameras,
            runners=made.runners,
            ttl=made.ttl,
            renew_every=made.renew_every,
            on_control_loss=self._spec.on_control_loss,
            seed=self._seed,
            database=made.database_name,
            bus=made.bus_name,
            seconds=round(seconds, 1),
            load=(round(load, 1), round(os.getloadavg()[0], 1)),
            rounds=rounds,
            fenced=self._sink.fenced(),
        )
        return replace(account, objectives=judge(account))
