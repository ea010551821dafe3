"""`streamward drill takeover` and `drill drain`: runs it, shows how it goes, and says what it came to."""

import asyncio
import contextlib
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from streamward.drills.network.link import CUT_OFF, FAIR
from streamward.drills.roles import ProcessFailed
from streamward.drills.takeover import parts, report
from streamward.drills.takeover.account import Account, How, Moved, Takeover, judge
from streamward.drills.takeover.fleet import SITE, Fleet, FleetSpec
from streamward.drills.takeover.ledger import Term
from streamward.drills.takeover.sink import Sink, busiest, say, terms
from streamward.drills.takeover.stage import play
from streamward.model.runner import DrainMode
from streamward.runtime.clock import SystemClock

_AFTERMATH = 2.0  # seconds for what a runner still has to say that came back
_DRAINS = {How.DRAIN: DrainMode.HARD, How.SOFT: DrainMode.SOFT}


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillSpec:
    """What is to be done."""

    fleet: FleetSpec = field(default_factory=FleetSpec)
    how: How = How.KILL
    times: int = 20
    is_rested: bool = False  # each time the site has its whole budget for takeovers again
    seed: int | None = None
    data: Path | None = None


def main(spec: DrillSpec, *, as_json: bool = False) -> int:
    """Runs the drill and prints what it came to; 1 if an objective was missed."""
    show = report.as_json if as_json else report.table
    return play(lambda serving: Drill(spec, serving).run(), spec.fleet, called="takeover", data=spec.data, show=show)


class Drill:
    """One run."""

    def __init__(self, spec: DrillSpec, serving: Fleet) -> None:
        self._spec = spec
        self._fleet = serving
        self._clock = SystemClock()
        self._sink = Sink(serving, clock=self._clock)
        self._seed = secrets.randbelow(1 << 32) if spec.seed is None else spec.seed
        self._random = Random(self._seed)  # noqa: S311 - repeatable, not secret

    async def run(self) -> Account:
        """From the start of the runners to the last takeover."""
        began = self._clock.boot()
        async with self._sink.listening():
            takeovers = await self._all()
        return self._account(takeovers, seconds=self._clock.boot() - began)

    async def _all(self) -> list[Takeover]:
        done = []
        say(f"{self._spec.fleet.runners} runners start (seed {self._seed})")
        await self._sink.start_runners()
        for number in range(1, self._spec.times + 1):
            done.append(await self._one(number))
            say(report.line(done[-1]))
        await asyncio.sleep(_AFTERMATH)
        return done

    def _has_rested(self) -> bool:
        budget = self._fleet.desk.budget(SITE)
        return budget.reserve > budget.reserve_size - 1

    async def _one(self, number: int) -> Takeover:
        """One blow at a random phase of the renewal; the fleet is whole again afterwards."""
        if self._spec.is_rested:
            await self._sink.until(self._has_rested, "the site's reserve for takeovers")
        await asyncio.sleep(self._random.uniform(0.0, self._spec.fleet.renew_every))
        page = await asyncio.to_thread(self._fleet.desk.leases)
        victim = busiest(page)
        had = terms(page, of=victim)
        load, struck, at = os.getloadavg()[0], self._clock.boot(), datetime.now(UTC)
        await asyncio.to_thread(self._blow(victim))
        with contextlib.suppress(TimeoutError):
            await self._sink.until(lambda: self._have_moved(had), "every camera to stream elsewhere")
        await self._mend(victim, struck=struck)
        with contextlib.suppress(TimeoutError):
            await self._sink.until(self._is_steady, "the fleet to be steady")
        lines = await asyncio.to_thread(self._lines)
        moved = [self._moved(term, lines, struck=struck, at=at) for term in had]
        return Takeover(number=number, how=self._spec.how, victim=victim, load=round(load, 1), moved=moved)

    def _blow(self, victim: str) -> Callable[[], None]:
        match self._spec.how:
            case How.KILL:
                return self._fleet.runners[victim].kill
            case How.FREEZE:
                return lambda: self._fleet.freeze(victim)
            case How.CUT:
                return lambda: self._fleet.set_weather(victim, CUT_OFF)
            case How.DRAIN | How.SOFT as how:
                return lambda: self._fleet.drain(victim, _DRAINS[how])

    async def _mend(self, victim: str, *, struck: float) -> None:
        match self._spec.how:
            case How.KILL:
                await asyncio.to_thread(self._fleet.runners[victim].role.end)
                self._fleet.start_runner(victim)
            case How.FREEZE | How.CUT as how:
                beyond = struck + 1.5 * self._spec.fleet.ttl - self._clock.boot()
                await asyncio.sleep(max(0.0, beyond))
                if how is How.FREEZE:
                    self._fleet.runners[victim].thaw()
                else:
                    self._fleet.set_weather(victim, FAIR)
                await asyncio.sleep(_AFTERMATH)
            case How.DRAIN | How.SOFT:
                await asyncio.to_thread(self._fleet.drain, victim, DrainMode.NONE)

    def _have_moved(self, had: list[Term]) -> bool:
        self._alive()
        return self._sink.have_moved(had)

    def _is_steady(self) -> bool:
        self._alive()
        return self._sink.is_steady()

    def _alive(self) -> None:
        for each in self._fleet.runners.values():
            if self._spec.how is not How.KILL and each.role.process.poll() is not None:
                raise ProcessFailed(each.role.name, each.role.trouble)

    def _moved(self, term: Term, lines: list[parts.Line], *, struck: float, at: datetime) -> Moved:
        heard = self._sink.ledger
        streaming, detected = (heard.first_after(term, seen) for seen in (heard.streaming, heard.detected))
        gap, moves = heard.gap(term), None
        if streaming is not None:
            told_at = at + timedelta(seconds=streaming - struck)
            moves = parts.moves(term.next, lines, parts.Moves(struck_at=at, told_at=told_at))
        return Moved(
            camera=term.camera_id,
            generation=term.generation,
            streaming_after=None if streaming is None else round(streaming - struck, 3),
            detected_after=None if detected is None else round(detected - struck, 3),
            gap=None if gap is None else round(gap, 3),
            dated_ahead=None if moves is None else self._dated_ahead(term.next, moves),
            parts={} if moves is None else moves.parts(),
        )

    def _dated_ahead(self, term: Term, moves: parts.Moves) -> float | None:
        grant = self._sink.ledger.grants(term.camera_id).get(term.generation)
        if grant is None or moves.granted_at is None:
            return None
        return round((grant.granted_at - moves.granted_at).total_seconds(), 3)

    def _lines(self) -> list[parts.Line]:
        """What all of them logged."""
        runners = [line for each in self._fleet.runners.values() for line in each.lines()]
        return [*self._fleet.control.lines(), *runners]

    def _account(self, takeovers: list[Takeover], *, seconds: float) -> Account:
        made = self._spec.fleet
        account = Account(
            how=self._spec.how,
            cameras=made.cameras,
            runners=made.runners,
            ttl=made.ttl,
            renew_every=made.renew_every,
            key_every=made.key_every,
            seed=self._seed,
            database=made.database_name,
            bus=made.bus_name,
            seconds=round(seconds, 1),
            takeovers=takeovers,
            fenced=self._sink.fenced(),
        )
        return replace(account, objectives=judge(account))
