"""`streamward drill scale`: runs it, shows how it goes, and says what it came to.

    few cameras and runners ─ steady ─→ all runners, then all cameras ─ steady, scraped ─→ some stand by, some die

All runners are there before most cameras come: so everybody asks for them at once.
"""

import asyncio
import contextlib
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random

from streamward.drills.roles import ProcessFailed
from streamward.drills.scale import report
from streamward.drills.scale.account import Account, Moved, Scrape, Start, Window, judge
from streamward.drills.scale.fleet import SERVES, Fleet, ScaleSpec, fleet
from streamward.drills.scale.hearing import Hearing
from streamward.drills.scale.meter import Meter
from streamward.drills.takeover import parts
from streamward.drills.takeover.ledger import Term
from streamward.drills.takeover.runner import Runner
from streamward.drills.takeover.sink import say, terms
from streamward.drills.takeover.stage import perform
from streamward.protocol.lease_listing import LeasePage
from streamward.runtime.clock import SystemClock

PATIENCE = 240.0  # seconds until something counts as never
AT_ONCE = 3  # runners that start together: each needs a core for seconds
SCRAPES = 3
_REST = 5.0  # seconds between two of them, and after whatever upsets the fleet
_FEW_FOR = 60.0  # seconds at most for which few cameras are watched
_LOOK_EVERY = 0.5
_TOLD_EVERY = 60.0  # seconds between two words about how it goes


def main(spec: ScaleSpec, *, as_json: bool = False) -> int:
    """Runs the drill and prints what it came to; 1 if an objective was missed."""
    show = report.as_json if as_json else report.table
    return perform(
        lambda serving: Drill(spec, serving).run(),
        lambda place: fleet(spec, place),
        called="scale",
        data=spec.data,
        show=show,
    )


class Drill:
    """One run."""

    def __init__(self, spec: ScaleSpec, serving: Fleet) -> None:
        self._spec = spec
        self._layout = spec.layout
        self._fleet = serving
        self._clock = SystemClock()
        self._hearing = Hearing(clock=self._clock)
        self._meter = Meter(serving, self._hearing, clock=self._clock)
        self._brought = 0  # cameras so far
        self._random = Random(secrets.randbelow(1 << 32) if spec.seed is None else spec.seed)  # noqa: S311

    async def run(self) -> Account:
        """From the first runner to the last takeover."""
        began = self._clock.boot()
        async with self._hearing.listening(self._spec.amqp, self._fleet.data):
            few = await self._few()
            start = await self._all()
            scrapes, many = await self._steady()
            moved = await self._kill() if self._layout.kills else []
        return self._account(few, many, start, scrapes=scrapes, moved=moved, seconds=self._clock.boot() - began)

    async def _few(self) -> Window:
        """A small fleet, to compare with."""
        runners = self._layout.first_runners
        say(f"{len(runners)} runners start, for {self._layout.few} cameras")
        await self._start_runners(runners)
        await self._bring(0, self._layout.few)
        await self._until_streaming()
        await asyncio.sleep(min(_REST, self._spec.seconds))
        before = await self._meter.look()
        await asyncio.sleep(min(_FEW_FOR, self._spec.seconds))
        return self._meter.window(before, await self._meter.look())

    async def _all(self) -> Start:
        """All runners, and then all cameras."""
        runners = [each for each in self._layout.runner_ids if each not in self._fleet.runners]
        say(f"{len(runners)} more runners start, then {self._layout.cameras - self._layout.few} cameras more are added")
        await self._start_runners(runners)
        registered_at, before = self._registered_at(), await self._meter.look()
        await self._bring(self._layout.few, self._layout.cameras)
        page = await self._until_streaming()
        rush = self._meter.window(before, await self._meter.look())
        streaming = max((self._hearing.streaming.get(term, 0.0) for term in terms(page)), default=0.0)
        owned = [row.granted_at for row in page.items if row.granted_at is not None and row.owner_id]
        is_whole = len(owned) == self._layout.cameras
        start = Start(
            owned_after=_since(registered_at, max(owned)) if is_whole else None,
            streaming_after=_since(registered_at, self._dated(streaming)) if self._all_stream(page) else None,
            shares=dict(Counter(row.owner_id for row in page.items if row.owner_id)),
            grants=rush.granted,
            calls=rush.calls,
        )
        say(f"owned after {start.owned_after} s, streaming after {start.streaming_after} s")
        return start

    async def _steady(self) -> tuple[list[Scrape], Window]:
        """Nothing is done but reading metrics, and that at the end."""
        await asyncio.sleep(min(_REST, self._spec.seconds))
        before, until = await self._meter.look(), self._clock.boot() + self._spec.seconds
        while (left := until - self._clock.boot()) > 0:
            say(f"{left:4.0f} s to go, {self._hearing.detections:,} detections so far")
            self._alive()
            await asyncio.sleep(min(_TOLD_EVERY, left))
        window = self._meter.window(before, await self._meter.look())
        scrapes = []
        for _ in range(SCRAPES):
            await asyncio.sleep(min(_REST, self._spec.seconds))
            scrapes.append(await self._meter.scrape())
        return scrapes, window

    async def _kill(self) -> list[Moved]:
        """Several runners at once; as many stand by, for nobody else has room."""
        say(f"{self._layout.kills} runners stand by, and as many are killed")
        await self._start_runners(self._layout.standbys)
        await asyncio.sleep(min(_REST, self._spec.seconds))
        page = await asyncio.to_thread(self._fleet.desk.leases)
        victims = self._random.sample(self._layout.runner_ids, self._layout.kills)
        had = {term: row.owner_id for row, term in zip(page.items, terms(page), strict=True) if row.owner_id in victims}
        struck, at = self._clock.boot(), datetime.now(UTC)
        for victim in victims:
            self._fleet.runners[victim].kill()
        await self._until_moved(had)
        lines = _since_then(await asyncio.to_thread(self._lines), at)
        return [self._moved(term, lines, victim=str(victim), struck=struck, at=at) for term, victim in had.items()]

    async def _until_moved(self, had: Iterable[Term]) -> None:
        with contextlib.suppress(TimeoutError):
            await self._until(lambda: None not in map(self._again, had), "every camera to stream elsewhere")

    async def _start_runners(self, runner_ids: Sequence[str]) -> None:
        """A few at a time; returns when all of them take cameras."""
        for place in range(0, len(runner_ids), AT_ONCE):
            started = [self._fleet.start_runner(each) for each in runner_ids[place : place + AT_ONCE]]
            await self._until(partial(_serve, started), "runners to start")

    async def _bring(self, first: int, last: int) -> None:
        await asyncio.to_thread(self._fleet.desk.bring, self._layout.described(first, last))
        self._brought = last

    async def _until_streaming(self) -> LeasePage:
        """Who has which camera, when all have streamed or the patience has an end."""
        found: list[LeasePage] = []

        def all_stream() -> bool:
            if self._hearing.cameras < self._brought:
                return False  # not asked yet: a thousand leases are no small answer
            found.append(self._fleet.desk.leases())
            return self._all_stream(found[-1])

        with contextlib.suppress(TimeoutError):
            await self._until(all_stream, "every camera to stream")
        return found[-1] if found else await asyncio.to_thread(self._fleet.desk.leases)

    def _all_stream(self, page: LeasePage) -> bool:
        return all(row.owner_id for row in page.items) and all(each in self._hearing.streaming for each in terms(page))

    def _again(self, term: Term) -> float | None:
        """When a camera was first told to stream in a later generation."""
        while (term := term.next).generation <= self._hearing.newest(term.camera_id):
            if (at := self._hearing.streaming.get(term)) is not None:
                return at
        return None

    async def _until(self, is_so: Callable[[], bool], what: str) -> None:
        last = self._clock.boot() + PATIENCE
        while not await asyncio.to_thread(is_so):
            self._alive()
            if self._clock.boot() > last:
                say(f"waited {PATIENCE:g} s in vain for {what}")
                raise TimeoutError
            await asyncio.sleep(_LOOK_EVERY)

    def _alive(self) -> None:
        """The control plane has to be; a runner that died shows in the figures."""
        if self._fleet.control.process.poll() is not None:
            raise ProcessFailed("control", self._fleet.control.trouble)

    def _registered_at(self) -> datetime:
        """When the last runner was, as the control plane logged it."""
        lines = (line for line in self._fleet.control.lines() if line.get("event") == "runner.registered")
        return max(datetime.fromisoformat(line["ts"]) for line in lines)

    def _dated(self, boot: float) -> datetime:
        return self._clock.wall() - timedelta(seconds=self._clock.boot() - boot)

    def _lines(self) -> list[parts.Line]:
        runners = [line for each in self._fleet.runners.values() for line in each.lines()]
        return [*self._fleet.control.lines(), *runners]

    def _moved(
        self, term: Term, lines: dict[str | None, list[parts.Line]], *, victim: str, struck: float, at: datetime
    ) -> Moved:
        again = self._again(term)
        if again is None:
            return Moved(camera=term.camera_id, streaming_after=None, parts={})
        its = [
            *(line for line in lines.get(None, []) if line.get("runner_id") == victim),
            *lines.get(term.camera_id, []),
        ]
        known = parts.Moves(struck_at=at, told_at=at + timedelta(seconds=again - struck))
        moves = parts.moves(term.next, its, known)
        return Moved(camera=term.camera_id, streaming_after=round(again - struck, 3), parts=moves.parts())

    def _account(
        self, few: Window, many: Window, start: Start, *, scrapes: list[Scrape], moved: list[Moved], seconds: float
    ) -> Account:
        spec = self._spec
        account = Account(
            layout=spec.layout,
            ttl=spec.ttl,
            renew_every=spec.renew_every,
            database="PostgreSQL" if spec.database else "SQLite",
            bus="RabbitMQ" if spec.amqp else "the embedded bus",
            seconds=round(seconds, 1),
            few=few,
            many=many,
            start=start,
            scrapes=scrapes,
            moved=moved,
        )
        return replace(account, objectives=judge(account))


def _serve(runners: Iterable[Runner]) -> bool:
    return all(any(line.get("event") == SERVES for line in each.role.lines()) for each in runners)


def _since(earlier: datetime, later: datetime) -> float:
    return round(max(0.0, (later - earlier).total_seconds()), 2)


def _since_then(lines: Iterable[parts.Line], at: datetime) -> dict[str | None, list[parts.Line]]:
    """Lines from after a moment, by their cameras."""
    found: dict[str | None, list[parts.Line]] = {}
    for line in lines:
        if datetime.fromisoformat(line["ts"]) >= at:
            found.setdefault(line.get("camera_uuid"), []).append(line)
    return found
