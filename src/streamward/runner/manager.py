"""The Manager of one host: holds leases, and has exactly what it holds run by its Workers.

    control plane ⇄ holder ─held→ shards ─→ processes ─→ cameras in them      one look every time something happens
                       ↑ releases wait until nothing is made any more

The decisions are pure (`leases.holder`, `sharding`, `quarantine`, `supervision`, `reconcile`); here they are applied.
The Manager waits for no Worker: what it tells them goes into channels, and what they say comes back as words.

Guaranteed: a lease is given back only when its camera has stopped, or the process that ran it is dead; Workers are told
absolute deadlines, and end by themselves what is not fed.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from streamward.leases.held import Held
from streamward.leases.holder import HolderState, Releasing
from streamward.leases.logins import ANSWER_WITHIN
from streamward.leases.moments import NEVER, Moments
from streamward.leases.reconcile import (
    AddCamera,
    DropCamera,
    MuteCamera,
    Running,
    UnmuteCamera,
    Voice,
    Wanted,
    reconcile,
)
from streamward.leases.sharding import OwnedCamera
from streamward.leases.store import Named
from streamward.model.ids import CameraId, Generation, ShardId
from streamward.model.runner import NO_LOAD, DrainMode
from streamward.model.status import StreamState
from streamward.model.stream_error import StreamErrorCode
from streamward.protocol.events import StreamFailed, first_epoch
from streamward.protocol.leases import CamerasAcquired, CamerasReleased, ReleaseAll, RunnerFlags
from streamward.protocol.logins import AskLogins, LoginAnswers
from streamward.protocol.runner_link import Reply
from streamward.protocol.spawning import Exited
from streamward.protocol.streams import StreamReport
from streamward.protocol.worker_link import (
    Began,
    DialEnded,
    LoginsAnswered,
    LoginsAsked,
    Showing,
    Stopped,
    Told,
    Warmed,
    Word,
)
from streamward.runner import facts
from streamward.runner.crew import Crew, Seat, speaks
from streamward.runner.dial_tokens import DialTokens
from streamward.runner.given_up import GivenUp
from streamward.runner.handovers import Handovers
from streamward.runner.lease_line import LeaseLine
from streamward.runner.manager_parts import Counts, ManagerParts, ManagerSpec
from streamward.runner.staffing import SPARE, Staffing
from streamward.runtime.hedging import WITHIN, hedged

LOOK_EVERY = 0.25  # seconds, if nothing happens before
_FOREVER = 1e12  # boot-time; JSON has no infinity
_GRACE_MARGIN = 1.0  # seconds that a Worker has beyond its own grace
_ENDS_GATHER_FOR = 0.05  # seconds: a dial takes longer
_STOP_WITHIN = 0.5  # seconds for which a release waits for all its cameras; the rest goes with the next one


@dataclass(frozen=True, slots=True)
class _Spoken:
    """Until when, in boot-time, events of a camera may have been made, and by the Worker of which shard."""

    until: float
    shard_id: ShardId | None


class Manager:
    """One host's; a service runs its ticks."""

    def __init__(self, spec: ManagerSpec, parts: ManagerParts) -> None:
        self._spec = spec
        self._parts = parts
        self._holder = parts.holder
        self._known = parts.known
        self._clock = parts.clock
        self.crew = Crew(
            parts.spawner,
            log=parts.log,
            grace=spec.template.grace_timeout_s + _GRACE_MARGIN,
            clock=parts.clock,
            on_word=self._heard,
            on_gone=self._gone,
        )
        self.handovers = Handovers(parts, self.crew, poke=self._look_again)
        self._line = LeaseLine(
            parts.holder, parts.control, clock=parts.clock, journal=parts.journal, stopping=self._stopping
        )
        self.dials = DialTokens(parts.control, clock=parts.clock, journal=parts.journal, random=parts.random)
        self.reports: dict[CameraId, StreamReport] = {}  # to be told to the control plane
        self.load = NO_LOAD  # of this host's processes, as it was measured last
        self.poke: Callable[[], None] = lambda: None
        self.tell_paces: Callable[[], None] = lambda: None  # to Workers: before they are told of cameras
        self.staffing = Staffing(spec, parts, self.crew, do=self._do, poke=self._look_again)
        self._epoch = first_epoch(parts.clock.wall())  # of the newest start of any camera
        self._moments: dict[CameraId, Moments] = {}
        self._spoken: dict[CameraId, _Spoken] = {}  # the last events of a camera
        self._states: dict[CameraId, StreamState] = {}  # as Workers reported them last
        self._fed: dict[CameraId, Held] = {}
        every = spec.template.telemetry.report_interval_seconds
        self._given_up = GivenUp(parts.holder.owner.runner_id, parts.clock, every)
        self.is_superseded = False  # another start of this runner has taken its place
        self._is_leaving = False
        self._is_drained = False  # by an operator
        self._changed = asyncio.Event()
        self._doing: set[asyncio.Task[None]] = set()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held any more, and nothing runs."""
        return self._holder.state is HolderState.ENDED and not self.crew.running()

    @property
    def counts(self) -> Counts:
        """How much it has."""
        held = self._holder.held(-_FOREVER)
        is_emptying = bool(held or self._holder.giving_back or self.crew.running())
        return Counts(
            desired=len(held),
            owned=len(self._holder.held(self._clock.boot())),
            running=len(self.crew.running()),
            shards=len(self.staffing.planned),
            workers=len(self.crew.seats),
            is_draining=(self._is_leaving or self._is_drained) and is_emptying,
        )

    @property
    def ports(self) -> dict[ShardId, int]:
        """Where the Worker of each shard serves."""
        seats = self.crew.seats.values()
        return {seat.shard_id: seat.port for seat in seats if seat.shard_id is not None and seat.port is not None}

    async def tick(self) -> float:
        """One look at everything."""
        now = self._clock.boot()
        if self._holder.state is HolderState.ENDED and not self._is_leaving:
            self.is_superseded = True
        self._holder.making, self._holder.load = self.staffing.making, self.load
        self._line.send_due(self._answered)
        if self._holder.flags.drain is DrainMode.HARD:  # before any of them is asked to end in good order
            self._terminate()
        # Of all that is not lost, trusted or not: while the control plane is away Workers stay, and run nothing.
        owned = list(filter(None, map(self._known.owned, self._holder.held(-_FOREVER) | self.handovers.silent)))
        self._give_up_strangers(owned, now)
        self.staffing.plan(owned, is_leaving=self._is_leaving)
        self._name_cameras()
        self.reports |= self._given_up.reports(set(self.staffing.given_up()))
        self.tell_paces()
        self._plan_cameras(now)
        self._feed()
        self._forget()
        for number in self.crew.kill_stuck():
            self._parts.journal.record(facts.WorkerStuck(worker=number))
        return max(0.0, min(LOOK_EVERY, self._holder.next_due() - self._clock.boot()))

    def wake(self) -> None:
        """Something may be free, or has changed."""
        self._holder.wake(self._clock.boot())
        self.poke()

    def leave(self) -> None:
        """Takes nothing more, and gives everything back as its cameras stop."""
        self._is_leaving = True
        self._holder.leave(self._clock.boot())
        self.poke()

    async def finish(self) -> bool:
        """Ends every Worker, then the incarnation; to be called when it is empty. Returns whether that was heard."""
        while self.crew.seats:
            for number in list(self.crew.seats):  # also who was just being born
                self.crew.end(number)
            self._changed.clear()
            await self._changed.wait()
        if self.is_superseded:
            return True
        self._holder.end()
        owner = self._holder.owner
        message = ReleaseAll(runner_id=owner.runner_id, incarnation=owner.incarnation)
        control, path = self._parts.control, "/v1/runners/release-all"
        answer = await hedged(partial(control.post, path, message, CamerasReleased, within=WITHIN))
        return isinstance(answer, CamerasReleased)

    async def close(self) -> None:
        """Lets go of everything."""
        await self._line.close()
        await self.handovers.close()
        for task in self._doing:
            task.cancel()
        await asyncio.gather(*self._doing, return_exceptions=True)
        await self.crew.close()

    def _held(self) -> dict[CameraId, Held]:
        """What may be run now; who continues fenced holds until it is told otherwise."""
        if not self._spec.continues_fenced:
            return self._holder.held(self._clock.boot())
        return {each: replace(held, deadline=_FOREVER) for each, held in self._holder.held(-_FOREVER).items()}

    def _give_up_strangers(self, owned: Iterable[OwnedCamera], now: float) -> None:
        """Cameras that have moved to a site that this runner does not serve."""
        site_id = self._holder.spec.runner.site_id
        for camera in owned:
            if site_id not in (None, camera.site_id):
                self._holder.drop(camera.camera_id, now)

    def _name_cameras(self) -> None:
        """Workers know the cameras of their shard before those may dial; one that is replaced, what is left in it."""
        planned = {shard.shard_id: shard.cameras for shard in self.staffing.planned}
        for seat in self.crew.seats.values():
            if seat.shard_id is not None:
                seat.expect(planned.get(seat.shard_id, seat.cameras))

    def _plan_cameras(self, now: float) -> None:
        wanted = self._wanted()
        for camera_id, each in wanted.items():  # also while its Worker begins
            if not self.dials.has(camera_id, each.generation) and self.dials.is_due(camera_id):
                self._do(self._pay(camera_id, each.generation))
        for step in reconcile(wanted, self.crew.running(), self.crew.by_shard(), now=now):
            seat = self.crew.seats[step.worker]
            match step:
                case DropCamera(_, camera_id):
                    seat.drop(camera_id)
                case MuteCamera(_, camera_id):
                    seat.mute(camera_id, is_final=wanted[camera_id].is_silent)
                case UnmuteCamera(_, camera_id):
                    self._unmute(seat, camera_id, now)
                case AddCamera(_, camera_id, is_muted):
                    self._add(seat, camera_id, wanted[camera_id], is_muted=is_muted)

    def _wanted(self) -> dict[CameraId, Wanted]:
        found, held, silent = {}, self._held(), self.handovers.silent
        stopped = self.handovers.handed.keys() - self.crew.running().keys()  # their heirs have them
        for shard in self.staffing.planned:
            for camera_id in [each for each in shard.cameras if each not in stopped]:
                lease, revision = held.get(camera_id), self._known.revision(camera_id)
                generation = silent.get(camera_id) if lease is None else lease.generation
                if generation is not None and revision is not None:
                    found[camera_id] = Wanted(
                        shard_id=shard.shard_id, generation=generation, revision=revision, is_silent=lease is None
                    )
        return found

    def _add(self, seat: Seat, camera_id: CameraId, wanted: Wanted, *, is_muted: bool) -> None:
        """A camera begins, if its first dial is paid for; one that moves dials as it would again."""
        if not self.dials.has(camera_id, wanted.generation):
            return
        self._epoch += 1
        is_paid = self.dials.spend(camera_id)
        source = self._known.source(camera_id, generation=wanted.generation, epoch=self._epoch, is_dial_paid=is_paid)
        self._fed.pop(camera_id, None)
        self._states.pop(camera_id, None)
        here = Running(
            worker=seat.number,
            generation=wanted.generation,
            revision=wanted.revision,
            epoch=self._epoch,
            voice=Voice.SILENT if is_muted else Voice.SPEAKS,
            since=self._clock.boot(),
        )
        seat.add(source, here)

    def _unmute(self, seat: Seat, camera_id: CameraId, now: float) -> None:
        running, spoken = seat.cameras[camera_id], self._spoken.get(camera_id)
        seat.unmute(camera_id, after=0.0 if spoken is None else spoken.until)
        shard_id = seat.shard_id or SPARE
        self._parts.journal.record(
            facts.BluegreenCutover(
                camera_id=camera_id,
                shard_id=shard_id,
                old=None if spoken is None else spoken.shard_id,
                new=shard_id,
                has_shown=running.is_shown,
                duration_ms=round((now - running.since) * 1000),
            )
        )

    async def _pay(self, camera_id: CameraId, generation: Generation) -> None:
        owned = self._known.owned(camera_id)
        if owned is not None and await self.dials.take(camera_id, owned.site_id, generation):
            self.poke()

    async def _tell_ended(self) -> None:
        """Of all dials that end in these moments together; who comes later finds nothing more to tell."""
        await asyncio.sleep(_ENDS_GATHER_FOR)
        await self.dials.tell()

    def _feed(self) -> None:
        """Tells Workers of leases that were heard of since they were last told."""
        held = self._held()
        for camera_id, lease in held.items():
            known = self._moments.get(camera_id, NEVER)
            self._moments[camera_id] = known.heard(lease)
        fresh = {camera_id: lease for camera_id, lease in held.items() if self._fed.get(camera_id) != lease}
        self._fed = held
        for seat in self.crew.seats.values():
            seat.feed(fresh)

    def _forget(self) -> None:
        """Cameras that are neither held nor given back nor running: what they log in with, too."""
        held, silent = self._holder.held(-_FOREVER), self.handovers.silent
        kept = {*held, *self._holder.giving_back, *silent, *self.crew.running()}
        self._known.keep(kept)
        self.dials.keep(kept)
        self._moments = {camera_id: each for camera_id, each in self._moments.items() if camera_id in kept}
        self._spoken = {camera_id: each for camera_id, each in self._spoken.items() if camera_id in kept}
        self._states = {camera_id: each for camera_id, each in self._states.items() if camera_id in kept}

    def _answered(self, reply: Reply) -> None:
        if isinstance(reply, RunnerFlags):
            self._is_drained = reply.drain_mode is not DrainMode.NONE
            self.staffing.want(reply)
        if isinstance(reply, CamerasAcquired):
            for lease in reply.leases:
                self._known.granted(lease)
            for site_id in self._known.sites(is_missing=True):
                self._do(self._learn(self._known.reread_site(site_id)))
        self.poke()

    async def _learn(self, reading: Coroutine[Any, Any, None]) -> None:
        await reading
        self.poke()

    def _heard(self, seat: Seat, word: Word) -> None:
        match word:
            case Told(reports=reports, failures=failures):
                self._told(seat, reports, failures)
                return
            case DialEnded(camera_uuid=camera_uuid):
                self.dials.ended(CameraId(camera_uuid))
                self._do(self._learn(self._tell_ended()))
                return
            case LoginsAsked():
                self._do(self._pass_on(seat, word))
                return
            case Stopped(camera_uuid=camera_uuid, last_arrived=last_arrived, made_until=made_until):
                self._stopped(seat, CameraId(camera_uuid), made_until, spoken=last_arrived or 0.0)
            case Warmed(problem=problem):
                self.staffing.warmed(seat, problem)
            case Began(pid=pid, port=port):
                self._parts.journal.record(facts.WorkerBegan(shard_id=seat.shard_id or SPARE, pid=pid, port=port))
            case Showing(camera_uuid=camera_uuid):
                running = seat.cameras.get(CameraId(camera_uuid))
                generation = 0 if running is None else running.generation
                self._parts.journal.record(facts.StreamShown(camera_id=CameraId(camera_uuid), version=generation))
        self.poke()

    def _told(self, seat: Seat, reports: list[StreamReport], failures: list[StreamFailed]) -> None:
        if seat.terminated_at is not None:
            return  # its streams were announced as disconnected
        told = {CameraId(each.camera_uuid): each for each in reports if speaks(seat, each.camera_uuid)}
        self.reports |= told
        self._states |= {camera_id: report.state for camera_id, report in told.items()}
        for failure in failures:
            running = seat.cameras.get(CameraId(failure.camera_uuid))
            is_own = running is not None and running.has_own_detector  # which fails in any Worker
            if failure.code == StreamErrorCode.DETECTOR_FAILED and not is_own:
                self.staffing.failed(seat.shard_id, f"its detector fails: {failure.detail}")

    async def _pass_on(self, seat: Seat, asked: LoginsAsked) -> None:
        owner = self._holder.owner
        message = AskLogins(runner_id=owner.runner_id, incarnation=owner.incarnation, told=asked.told, asks=asked.asks)
        answer = await self._parts.control.post("/v1/logins", message, LoginAnswers, within=ANSWER_WITHIN)
        if isinstance(answer, LoginAnswers):
            seat.tell(LoginsAnswered(number=asked.number, items=answer.items))

    def _stopped(self, seat: Seat, camera_id: CameraId, made_until: datetime | None, *, spoken: float) -> None:
        before = self._spoken.get(camera_id)
        if before is None or spoken >= before.until:
            self._spoken[camera_id] = _Spoken(spoken, seat.shard_id)
        if made_until is not None:
            self._moments[camera_id] = self._moments.get(camera_id, NEVER).made(made_until)
        self._changed.set()

    def _gone(self, seat: Seat, news: Exited) -> None:
        """A Worker is dead: nothing is made by it any more, whatever it had made until now."""
        now = self._clock.boot()
        for camera_id, running in seat.cameras.items():
            if running.voice is Voice.SPEAKS:
                self._announce_end(camera_id, seat, running.generation)
            if running.voice is not Voice.SILENT:
                self._stopped(seat, camera_id, self._moments.get(camera_id, NEVER).latest(now), spoken=now)
        if not seat.is_ending and self._parts.spawner.is_ready:  # with its fork server dies who has done nothing
            self.staffing.died(seat, news)
        fact = facts.WorkerExited(shard_id=seat.shard_id or SPARE, pid=news.pid, code=news.code, signal=news.signal)
        self._parts.journal.record(fact)
        self._changed.set()
        self.poke()

    def _terminate(self) -> None:
        """Announces the streams first: what a Worker publishes itself in its last moment may be lost."""
        for seat in self.crew.terminate():
            for camera_id, running in seat.cameras.items():
                if running.voice is Voice.SPEAKS:
                    self._announce_end(camera_id, seat, running.generation)

    def _announce_end(self, camera_id: CameraId, seat: Seat, generation: Generation) -> None:
        """Of a camera whose Worker did not announce it itself."""
        camera = self._known.owned(camera_id)
        if camera is not None and self._states.get(camera_id) is not StreamState.DISCONNECTED:
            report = self._parts.ends.publish(camera, shard_id=seat.shard_id, generation=generation)
            self.reports[camera_id], self._states[camera_id] = report, report.state

    async def _stopping(self, releasing: Releasing) -> Releasing:
        """What of a release has stopped within a moment, with the last moment under each lease."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STOP_WITHIN):
                await self._stop_all(releasing)
        running = self._running_of(releasing)
        stopped = tuple(self._dated(each) for each in releasing.leases if each.camera_id not in running)
        for each in stopped:
            self.dials.forget(each.camera_id)
        return Releasing(releasing.owner, stopped)

    async def _stop_all(self, releasing: Releasing) -> None:
        while running := self._running_of(releasing):
            for camera_id in running.keys() - self.handovers.handed.keys():  # those are told to fall silent
                for each in running[camera_id]:
                    self.crew.seats[each.worker].drop(camera_id)
            self._changed.clear()
            await self._changed.wait()

    def _running_of(self, releasing: Releasing) -> dict[CameraId, list[Running]]:
        """Those of which something may still be made; one whose heir sees it may keep its connection for a moment."""
        cameras, handed = {each.camera_id for each in releasing.leases}, self.handovers.handed
        return {
            camera_id: places
            for camera_id, places in self.crew.running().items()
            if camera_id in cameras
            and (camera_id not in handed or any(each.voice is not Voice.SILENT for each in places))
        }

    def _dated(self, named: Named) -> Named:
        moments = self._moments.get(named.camera_id, NEVER)
        until = moments.made_until if moments.generation == named.generation else None
        return replace(named, made_until=max(filter(None, (until, named.made_until)), default=None))

    def _look_again(self) -> None:
        self._changed.set()
        self.poke()

    def _do(self, doing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(doing)
        self._doing.add(task)
        task.add_done_callback(self._doing.discard)
