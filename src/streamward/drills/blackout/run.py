"""`streamward drill blackout`: runs it, shows how it goes, and says what it came to.

    steady ─→ control plane killed ─→ away for minutes ─→ another starts in its place ─→ it serves ─→ steady

What Workers did meanwhile is told by the dates of detections and by the recorder's sessions.
"""

import asyncio
import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from streamward.drills.blackout import report
from streamward.drills.blackout.account import STOP, Account, Back, Camera, Later, Losses, judge
from streamward.drills.blackout.witness import Witness, WorkerKey
from streamward.drills.takeover.fleet import Fleet, FleetSpec
from streamward.drills.takeover.sink import Sink, say
from streamward.drills.takeover.stage import play
from streamward.leases.fence import Verdict
from streamward.leases.lease import SessionState
from streamward.protocol.lease_listing import LeasePage, LeaseRow, streams
from streamward.runtime.clock import SystemClock

_SETTLED = 12.0  # seconds after which every Worker knows its share of the site's pace
_LOOK_EVERY = 0.2  # seconds between two looks at the recorder
_TOLD_EVERY = 30.0  # seconds between two words about how it goes


@dataclass(frozen=True, slots=True, kw_only=True)
class BlackoutSpec:
    """What is to be done."""

    fleet: FleetSpec
    seconds: float = 120.0
    on_control_loss: str = STOP
    data: Path | None = None


@dataclass(slots=True, kw_only=True)
class Times:
    """When it was what, in boot-time."""

    asked: float  # for the database's time
    told: datetime
    killed: float = 0.0
    started: float = 0.0  # another control plane
    served: float = 0.0
    sessions: float = 0.0  # the recorder last had one

    def date(self, boot: float) -> datetime:
        """The database's, on the late side."""
        return self.told + timedelta(seconds=boot - self.asked)


@dataclass(slots=True)
class Found:
    """When a camera was first found to be well again, in boot-time."""

    leased: dict[str, float] = field(default_factory=dict)
    streaming: dict[str, float] = field(default_factory=dict)
    detected: dict[str, float] = field(default_factory=dict)

    def is_all(self, cameras: int) -> bool:
        return all(len(each) == cameras for each in (self.leased, self.streaming, self.detected))


def main(spec: BlackoutSpec, *, as_json: bool = False) -> int:
    """Runs the drill and prints what it came to; 1 if an objective was missed."""
    made = replace(spec.fleet, runner={"ON_CONTROL_LOSS": spec.on_control_loss})
    show = report.as_json if as_json else report.table
    return play(lambda serving: Drill(spec, serving).run(), made, called="blackout", data=spec.data, show=show)


class Drill:
    """One run."""

    def __init__(self, spec: BlackoutSpec, serving: Fleet) -> None:
        self._spec = spec
        self._fleet = serving
        self._clock = SystemClock()
        self._witness = Witness()
        self._sink = Sink(serving, clock=self._clock, ear=self._witness)
        self._found = Found()

    async def run(self) -> Account:
        """From the start of the runners until nothing is under way any more."""
        began, load = self._clock.boot(), os.getloadavg()[0]
        async with self._sink.listening():
            say(f"{self._fleet.spec.runners} runners start")
            await self._sink.start_runners()
            await self._sink.until(self._is_heard, "a picture of every camera")
            await asyncio.sleep(_SETTLED)
            before, times = await self._blackout()
            say(f"the control plane serves again, {times.served - times.started:.2f} s after its start")
            with contextlib.suppress(TimeoutError):
                await self._sink.until(lambda: self._is_back(times), "every camera to be back")
            counted = self._witness.newest()
            with contextlib.suppress(TimeoutError):
                await self._sink.until(lambda: not self._witness.missing(counted), "every detection")
            after = await asyncio.to_thread(self._fleet.desk.leases)
            losses = self._losses(counted)
        each = [self._camera(row, after, times) for row in before.items]
        return self._account(each, losses, times, seconds=self._clock.boot() - began, load=load)

    def _is_heard(self) -> bool:
        return len(self._witness.cameras) == self._fleet.spec.cameras

    async def _blackout(self) -> tuple[LeasePage, Times]:
        """The leases before it, and when it was what; returns when a control plane serves again."""
        asked = self._clock.boot()
        before = await asyncio.to_thread(self._fleet.desk.leases)
        times = Times(asked=asked, told=before.server_time)
        self._sink.is_blind = True
        say(f"the control plane is killed, for {self._spec.seconds:g} s")
        with self._fleet.control_away():
            times.killed = times.sessions = self._clock.boot()
            await self._watch(times)
            times.started = self._clock.boot()
        await asyncio.to_thread(self._fleet.control.wait_ready)
        times.served = self._clock.boot()
        self._sink.is_blind = False
        return before, times

    async def _watch(self, times: Times) -> None:
        """The recorder, until the time is over."""
        until, told_at = times.killed + self._spec.seconds, times.killed + _TOLD_EVERY
        while (now := self._clock.boot()) < until:
            sessions = len(await self._fleet.recorder.clients())
            if sessions:
                times.sessions = self._clock.boot()
            if now >= told_at:
                told_at += _TOLD_EVERY
                say(f"{until - now:4.0f} s to go, {sessions} camera sessions")
            await asyncio.sleep(min(_LOOK_EVERY, max(0.0, until - self._clock.boot())))

    def _is_back(self, times: Times) -> bool:
        """Looks at all cameras, and notes what is new."""
        page = self._fleet.desk.leases()
        now, served = self._clock.boot(), times.date(times.served)
        for row in page.items:
            camera = row.camera_uuid
            if _is_leased(row, page):
                self._found.leased.setdefault(camera, now)
            if self._is_told(row, times):
                self._found.streaming.setdefault(camera, now)
            if self._witness.made(camera, since=served):
                self._found.detected.setdefault(camera, now)
        return self._found.is_all(self._fleet.spec.cameras)

    def _is_told(self, row: LeaseRow, times: Times) -> bool:
        """Whether the last word about it is that it streams; of what had stopped only words from after that count."""
        since = times.started if self._spec.on_control_loss == STOP else 0.0
        is_heard = self._witness.streaming.get(row.camera_uuid, -1.0) >= since
        is_known = row.stream is not None and row.stream.ts >= times.date(since)
        return is_heard and is_known and streams(row)

    def _camera(self, row: LeaseRow, after: LeasePage, times: Times) -> Camera:
        camera, found = row.camera_uuid, self._found
        killed, served = times.date(times.killed), times.date(times.served)
        # What comes from the moment on at which another control plane starts may be from after its return.
        made = self._witness.made(camera, since=killed, until=times.date(times.started))
        versions = {each.camera_uuid: each.version for each in after.items}
        backs = (_since(times.served, each.get(camera)) for each in (found.leased, found.streaming, found.detected))
        leased, streaming, detected = backs
        return Camera(
            camera=camera,
            made=len(made),
            last=round((made[-1] - killed).total_seconds(), 3) if made else None,
            gap=round(self._witness.gap(camera, since=killed, until=served), 3),
            is_moved=versions.get(camera) != row.version,
            back=Back(leased=leased, streaming=streaming, detected=detected),
        )

    def _losses(self, counted: Mapping[WorkerKey, int]) -> Losses:
        lines = (line for runner in self._fleet.runners.values() for line in runner.lines())
        return Losses(
            workers_ended=sum(line.get("event") == "worker.exited" for line in lines),
            detections_lost=self._witness.missing(counted),
            detections_doubled=self._witness.doubled,
        )

    def _account(self, each: list[Camera], losses: Losses, times: Times, *, seconds: float, load: float) -> Account:
        made, judged = self._fleet.spec, self._sink.judged_later
        account = Account(
            cameras=made.cameras,
            runners=made.runners,
            ttl=made.ttl,
            renew_every=made.renew_every,
            on_control_loss=self._spec.on_control_loss,
            database="PostgreSQL" if made.database else report.SQLITE,
            bus=made.bus_name,
            away_for=round(times.started - times.killed, 3),
            served_after=round(times.served - times.started, 3),
            seconds=round(seconds, 1),
            load=(round(load, 1), round(os.getloadavg()[0], 1)),
            each=each,
            sessions_until=round(times.sessions - times.killed, 3),
            losses=losses,
            later=Later(live=judged[Verdict.LIVE], late=judged[Verdict.LATE], refused=judged[Verdict.REFUSED]),
            fenced=self._sink.fenced(),
        )
        return replace(account, objectives=judge(account))


def _is_leased(row: LeaseRow, page: LeasePage) -> bool:
    """Whether somebody has it, and for some time still."""
    is_fresh = row.expires_at is not None and row.expires_at > page.server_time
    return row.owner_id is not None and row.state is SessionState.ACTIVE and is_fresh


def _since(served: float, at: float | None) -> float | None:
    return None if at is None else round(at - served, 3)
