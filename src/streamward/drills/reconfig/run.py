"""`streamward drill reconfig`: runs it, shows how it goes, and says what it came to."""

import asyncio
import os
import secrets
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from streamward.drills.reconfig import report
from streamward.drills.reconfig.account import ENDS, NEW, Account, Order, Others, Step, judge
from streamward.drills.reconfig.frames import Frames
from streamward.drills.soak.marked import DETECTOR
from streamward.drills.takeover.fleet import Fleet, FleetSpec
from streamward.drills.takeover.sink import PATIENCE, Sink, say
from streamward.drills.takeover.stage import play
from streamward.nvr.tally import Count, Deed
from streamward.runtime.clock import SystemClock

LOOP = 125  # pictures of the recorder: five seconds
_LOOK_EVERY = 0.1
_SETTLED = 2.0  # seconds in which others would notice something
_OVER = (Deed.SESSION_ENDED, Deed.SESSION_LOST)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconfigSpec:
    """What is to be done."""

    fleet: FleetSpec
    times: int = 3  # all orders in turn
    data: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How everything stands at a moment."""

    at: float  # boot-time
    date: datetime
    lost: Counter[str]
    begun: Counter[str]
    dials: Counter[str]  # by the recorder's names
    versions: dict[str, int | None]

    def boot(self, timestamp: float) -> float:
        """Another moment, since 1970, in boot-time."""
        return self.at + timestamp - self.date.timestamp()


def main(spec: ReconfigSpec, *, as_json: bool = False) -> int:
    """Runs the drill and prints what it came to; 1 if an objective was missed."""
    made = replace(spec.fleet, spare=2, runner={"RUNNER_DETECTOR": DETECTOR})
    show = report.as_json if as_json else report.table
    return play(lambda serving: Drill(spec, serving).run(), made, called="reconfig", data=spec.data, show=show)


class Drill:
    """One run."""

    def __init__(self, spec: ReconfigSpec, serving: Fleet) -> None:
        self._spec = spec
        self._fleet = serving
        self._clock = SystemClock()
        self._frames = Frames(loop=LOOP)
        self._sink = Sink(serving, clock=self._clock, ear=self._frames)
        self._new, self._spare = serving.recorder.cameras[-2:]
        self._shown = {camera: camera for camera in serving.recorder.cameras}  # what the recorder calls each

    async def run(self) -> Account:
        """From the start of the runners to the last order."""
        began, load = self._clock.boot(), os.getloadavg()[0]
        async with self._sink.listening():
            say(f"{self._fleet.spec.runners} runners start")
            await self._sink.start_runners()
            await self._sink.until(self._is_heard, "a picture of every camera")
            steps = await self._all()
        return self._account(steps, seconds=self._clock.boot() - began, load=load)

    def _is_heard(self) -> bool:
        return len(self._frames.begun) == self._fleet.spec.cameras

    async def _all(self) -> list[Step]:
        done: list[Step] = []
        for order, camera in [*self._orders()] * self._spec.times:
            done.append(await self._one(len(done) + 1, order, camera))
            say(report.line(done[-1]))
        return done

    def _orders(self) -> Iterator[tuple[Order, str]]:
        """Each at another camera, as far as there are as many."""
        known = self._fleet.recorder.cameras[: self._fleet.spec.cameras]
        yield Order.ADD, self._new
        yield from zip((Order.RENAME, Order.ADDRESS, Order.CREDENTIAL), known, strict=False)
        yield Order.DISABLE, known[-1]
        yield Order.ENABLE, known[-1]
        yield Order.REMOVE, self._new

    async def _one(self, number: int, order: Order, camera: str) -> Step:
        before, meant = await self._state(), {self._shown[camera]}
        await asyncio.to_thread(self._give, order, camera)
        done_at = await self._done(order, camera, before)
        await asyncio.sleep(_SETTLED)
        after = await self._state()
        return Step(
            number=number,
            order=order,
            camera=camera,
            done_after=None if done_at is None else round(done_at - before.at, 3),
            after_token=self._after_token(camera, before, done_at) if order in NEW else None,
            dials=(after.dials - before.dials)[self._shown[camera]],
            others=_others(camera, meant | {self._shown[camera]}, before, after),
        )

    def _give(self, order: Order, camera: str) -> None:
        """As an operator does it."""
        path = f"/v1/cameras/{camera}"
        match order:
            case Order.ADD:
                self._fleet.add_camera(camera)
            case Order.RENAME:
                self._fleet.desk.change(path, {"labels": {"name": secrets.token_hex(4)}})
            case Order.ADDRESS:
                self._shown[camera], self._spare = self._spare, self._shown[camera]
                self._fleet.desk.change(path, {"rtsp_url": self._fleet.recorder.url(self._shown[camera])})
            case Order.CREDENTIAL:
                self._fleet.desk.change(path, {"username": "drill", "password": secrets.token_hex(8)})
            case Order.DISABLE | Order.ENABLE:
                self._fleet.desk.change(path, {"enabled": order is Order.ENABLE})
            case Order.REMOVE:
                self._fleet.desk.remove(path)

    async def _done(self, order: Order, camera: str, before: State) -> float | None:
        """When it was; None: it never was."""
        now, last = self._clock.boot(), before.at + PATIENCE
        if order is Order.RENAME:
            return now
        while self._clock.boot() < last:
            counts = await self._fleet.recorder.counts()
            done_at = self._over(counts, camera, before) if order in ENDS else self._streams(counts, camera, before)
            if done_at is not None:
                return done_at
            await asyncio.sleep(_LOOK_EVERY)
        return None

    def _over(self, counts: list[Count], camera: str, before: State) -> float | None:
        """When its session was over."""
        times = _times(counts, self._shown[camera], *_OVER)
        return min((before.boot(each) for each in times if each >= before.date.timestamp()), default=None)

    def _streams(self, counts: list[Count], camera: str, before: State) -> float | None:
        """When it was told to stream after it was dialed."""
        times = _times(counts, self._shown[camera], Deed.DIALED)
        dialed_at = min((before.boot(each) for each in times if each >= before.date.timestamp()), default=None)
        if dialed_at is None:
            return None
        return min((each for each in self._frames.streamed.get(camera, ()) if each >= dialed_at), default=None)

    def _after_token(self, camera: str, before: State, done_at: float | None) -> float | None:
        taken = [
            before.boot(at.timestamp())
            for runner in self._fleet.runners.values()
            for line in runner.lines()
            if line.get("event") == "dial.token.taken" and line["camera_uuid"] == camera
            if (at := datetime.fromisoformat(line["ts"])) >= before.date
        ]
        return None if done_at is None or not taken else round(done_at - min(taken), 3)

    async def _state(self) -> State:
        counts = await self._fleet.recorder.counts()
        page = await asyncio.to_thread(self._fleet.desk.leases)
        dials: Counter[str] = Counter()
        for each in counts:
            if each.deed is Deed.DIALED and each.camera is not None:
                dials[each.camera] += each.total
        return State(
            at=self._clock.boot(),
            date=datetime.now(UTC),
            lost=self._frames.lost.copy(),
            begun=self._frames.begun.copy(),
            dials=dials,
            versions={row.camera_uuid: row.version for row in page.items},
        )

    def _account(self, steps: list[Step], *, seconds: float, load: float) -> Account:
        made = self._fleet.spec
        account = Account(
            cameras=made.cameras,
            runners=made.runners,
            database=made.database_name,
            bus=made.bus_name,
            seconds=round(seconds, 1),
            load=(round(load, 1), round(os.getloadavg()[0], 1)),
            unread=self._frames.unread,
            steps=steps,
        )
        return replace(account, objectives=judge(account))


def _times(counts: list[Count], camera: str, *deeds: Deed) -> list[float]:
    """When something was done to a camera."""
    return [at for each in counts if each.camera == camera and each.deed in deeds for at in each.times]


def _others(camera: str, meant: set[str], before: State, after: State) -> Others:
    """What happened beside an order that was meant for a camera, by whatever names the recorder calls it."""
    kept = before.versions.keys() & after.versions.keys() - {camera}
    return Others(
        lost=sum(count for each, count in (after.lost - before.lost).items() if each != camera),
        dials=sum(count for each, count in (after.dials - before.dials).items() if each not in meant),
        begun=sum(count for each, count in (after.begun - before.begun).items() if each != camera),
        moved=sum(before.versions[each] != after.versions[each] for each in kept),
    )
