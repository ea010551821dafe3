"""`streamward drill dialstorm` and `drill reboot`: runs one, shows how it goes, and says what it came to."""

import asyncio
import contextlib
import math
import os
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from streamward.drills.storm import report
from streamward.drills.storm.account import Account, Cause, Heard, ahead, dials_in, firsts, judge, most_at_once
from streamward.drills.takeover.fleet import Fleet, FleetSpec
from streamward.drills.takeover.sink import Sink, say
from streamward.drills.takeover.stage import play
from streamward.leases.dial_forecast import dialed_in
from streamward.leases.dialing import Bucket
from streamward.leases.redialing import Pace
from streamward.model.camera import DEFAULT_DIALS, DEFAULT_DIALS_PER_MINUTE
from streamward.nvr.faults import Reboot, Slow
from streamward.runtime.clock import SystemClock

FPS = 5  # of the recorder: that many cameras are much for one machine
_REQUESTS = 4  # of a dial: OPTIONS, DESCRIBE, SETUP, PLAY
_FIRST_PICTURE = 1.0  # seconds, and the way of the news
_SETTLED = 12.0  # seconds after which every Worker knows its share
_WHOLE = Pace(per_minute=DEFAULT_DIALS_PER_MINUTE, burst=DEFAULT_DIALS)


@dataclass(frozen=True, slots=True, kw_only=True)
class StormSpec:
    """What is to be done."""

    cause: Cause
    cameras: int = 100
    runners: int = 3
    answers_after: float = 0.0  # seconds that the recorder takes for each answer
    down_for: float = 10.0  # seconds that it is away, if it is
    go2rtc: Path | None = None  # through which cameras are read
    data: Path | None = None

    @property
    def fleet(self) -> FleetSpec:
        """No runner has room for all cameras."""
        is_new = self.cause is Cause.ADDED
        room = math.ceil(self.cameras / self.runners) + 1
        reading = {} if self.go2rtc is None else {"RUNNER_MODE": "go2rtc", "RUNNER_GO2RTC": str(self.go2rtc.absolute())}
        return FleetSpec(
            cameras=0 if is_new else self.cameras,
            spare=self.cameras if is_new else 0,
            runners=self.runners,
            fps=FPS,
            runner={"CAPACITY_STREAMS": str(room), "RUNNER_MAX_FPS": "1", **reading},
        )


def main(spec: StormSpec, *, as_json: bool = False) -> int:
    """Runs the drill and prints what it came to; 1 if an objective was missed."""
    show = report.as_json if as_json else report.table
    return play(lambda serving: Drill(spec, serving).run(), spec.fleet, called=spec.cause, data=spec.data, show=show)


@dataclass(frozen=True, slots=True)
class _Beginning:
    """The moment from which everything is counted."""

    boot: float
    timestamp: float  # since 1970


class Drill:
    """One run."""

    def __init__(self, spec: StormSpec, serving: Fleet) -> None:
        self._spec = spec
        self._fleet = serving
        self._clock = SystemClock()
        self._heard = Heard()
        self._sink = Sink(serving, clock=self._clock, ear=self._heard)

    async def run(self) -> Account:
        """From the start of the runners until every camera streams, or does not."""
        began, load = self._clock.boot(), os.getloadavg()[0]
        async with self._sink.listening():
            say(f"{self._spec.runners} runners start")
            await self._sink.start_runners()
            if self._spec.answers_after:
                await self._fleet.recorder.set(Slow(seconds=self._spec.answers_after), None)
            beginning = await (self._add() if self._spec.cause is Cause.ADDED else self._reboot())
            with contextlib.suppress(TimeoutError):
                await self._sink.until(self._all_stream, "every camera to stream")
            return await self._account(beginning, seconds=self._clock.boot() - began, load=load)

    async def _add(self) -> _Beginning:
        beginning = self._now()
        say(f"{self._spec.cameras} cameras are added")
        await asyncio.to_thread(self._fleet.add_cameras, self._fleet.recorder.cameras)
        return beginning

    async def _reboot(self) -> _Beginning:
        """Until it is back."""
        await asyncio.sleep(_SETTLED)
        say(f"the recorder is away for {self._spec.down_for:g} s")
        before = self._now()
        await self._fleet.recorder.set(Reboot(down_for=self._spec.down_for), None)
        await self._sink.until(lambda: not self._heard.streaming, "every camera to be lost")
        back = replace(before, boot=before.boot + self._spec.down_for)
        back = replace(back, timestamp=before.timestamp + self._spec.down_for)
        await asyncio.sleep(max(0.0, back.boot - self._clock.boot()))
        return back

    def _now(self) -> _Beginning:
        return _Beginning(self._clock.boot(), self._clock.wall().timestamp())

    def _all_stream(self) -> bool:
        return len(self._heard.streaming) == self._spec.cameras

    async def _account(self, beginning: _Beginning, *, seconds: float, load: float) -> Account:
        spec, cameras = self._spec, self._fleet.recorder.cameras
        dials = dials_in(await self._fleet.recorder.counts(), since=beginning.timestamp)
        page = await asyncio.to_thread(self._fleet.desk.leases)
        streaming = self._heard.streaming
        account = Account(
            cause=spec.cause,
            cameras=spec.cameras,
            runners=spec.runners,
            capacity=DEFAULT_DIALS,
            per_minute=DEFAULT_DIALS_PER_MINUTE,
            answers_after=spec.answers_after,
            down_for=spec.down_for if spec.cause is Cause.REBOOT else 0.0,
            seconds=round(seconds, 1),
            load=(load, os.getloadavg()[0]),
            shares=dict(Counter(row.owner_id for row in page.items if row.owner_id)),
            dials=len(dials),
            most_at_once=most_at_once(dials),
            ahead=round(ahead(firsts(dials) if spec.cause is Cause.ADDED else dials, _WHOLE), 2),
            took={each: round(streaming[each] - beginning.boot, 3) if each in streaming else None for each in cameras},
            foreseen=self._foreseen() if spec.cause is Cause.ADDED else None,
        )
        return replace(account, objectives=judge(account))

    def _foreseen(self) -> float | None:
        """By a budget that is full."""
        full = Bucket(tokens=DEFAULT_DIALS, reserve=0.0, reserve_size=0, updated_at=self._clock.wall())
        takes = _REQUESTS * self._spec.answers_after + _FIRST_PICTURE
        return dialed_in(full, dials=self._spec.cameras, takes=takes)
