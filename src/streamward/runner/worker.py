"""A Worker: the cameras of one shard, from their connections to events.

    camera ─units→ pipeline ─Seen→ stamp of its lease ─event→ sink
       └── watcher: dials, watches, tells ──status, errors→ sink

Each record leaves with the stamp of the lease under which its frame arrived, or not at all: a lease whose deadline has
passed stamps nothing, and a Worker that is not told more stops by itself.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from streamward.leases.fence import Stamp
from streamward.model.errors import StreamwardError
from streamward.model.ids import CameraId, SiteId
from streamward.model.stream_error import StreamErrorCode, StreamFailure
from streamward.model.video import VideoCodec
from streamward.protocol import events as wire
from streamward.protocol.shards import ShardConfig, Source
from streamward.protocol.streams import StreamReport, shown_detail
from streamward.runner import facts, hooks
from streamward.runner.blamed import BlamedDecoder
from streamward.runner.detectors import Detectors
from streamward.runner.dialing import Dialing, Way
from streamward.runner.impatience import Impatience
from streamward.runner.line import Line
from streamward.runner.looking import looking_at
from streamward.runner.metrics import WorkerMetrics
from streamward.runner.parts import LastWord, WorkerParts
from streamward.runner.pipeline import FrameDecoder, Pipeline
from streamward.runner.renewing import Renewing
from streamward.runner.watcher import Watcher, WatcherSpec
from streamward.runtime.backoff import Backoff, BackoffSpec
from streamward.vision.readiness import UNSEEN, is_ready
from streamward.vision.speech import Speech
from streamward.vision.stream import Condition
from streamward.vision.watchdog import Seen, StatusUpdate

TELL_EVERY = 0.2  # seconds between two looks at whose summary is due; changes are told as they happen
RATE_EVERY = 5.0  # seconds over which frames a second are reckoned
_BACKOFF = BackoffSpec(first=1.0, longest=60.0, steady=30.0)


@dataclass(slots=True)
class _Watched:
    """A camera under way."""

    source: Source
    watcher: Watcher
    task: "asyncio.Task[None]"
    added_at: float  # boot-time
    interval: float  # seconds between two frames that are looked at
    speech: Speech
    has_dialed: bool = False
    has_shown: bool = False
    last_word: LastWord = field(default_factory=LastWord)


class Worker:
    """One shard; what it is told to watch comes by `add` and goes by `drop`."""

    def __init__(self, config: ShardConfig, parts: WorkerParts, *, is_managed: bool = False) -> None:
        """A managed one is told by `expect` which cameras it has; without a Manager they are those of its config."""
        self._config = config
        self._parts = parts
        self.metrics = WorkerMetrics(runner_id=config.runner_id, shard_id=config.shard_id)
        own = hooks.Parts(on_frame=self._frame, on_seen=self._seen, on_trouble=self._troubled)
        self._hooks = hooks.Hooks(own, others=parts.watchdogs)
        self._pipeline = Pipeline(self._hooks, clock=parts.clock, board=parts.board)
        self.impatience = Impatience(self._pipeline.give_up, end=parts.end, journal=parts.journal)
        self._detectors = Detectors(parts.detector, parts.newer)
        self.renewing = Renewing(self._detectors, self._pipeline.swap, journal=parts.journal)
        self.dialing = Dialing(clock=parts.clock, random=parts.random)
        sources = (CameraId(source.camera_uuid) for source in config.sources if not source.do_not_process)
        self._expected: frozenset[CameraId] | None = None if is_managed else frozenset(sources)  # None: not known yet
        self._watched: dict[CameraId, _Watched] = {}
        self._leaving: dict[CameraId, _Watched] = {}  # what gives its connection back
        self._sequence = 0
        self._looked = 0  # since the rate was last told
        self._rated_at = parts.clock.boot()

    @property
    def is_alive(self) -> bool:
        """Whether its threads live (S0-028)."""
        return self._pipeline.is_alive

    @property
    def is_ready(self) -> bool:
        """Whether enough of the shard's cameras run (S0-029); one that waits for its lease or its dial does not."""
        if self._expected is None:
            return False
        known = self.conditions
        conditions = [known.get(camera_id, UNSEEN) for camera_id in self._expected]
        return is_ready(conditions, self._parts.clock.boot(), quorum_pct=self._config.readiness_quorum_pct)

    def expect(self, cameras: Iterable[CameraId]) -> None:
        """These are the shard's cameras from now on, whether or not they were added yet."""
        self._expected = frozenset(cameras)

    @property
    def conditions(self) -> dict[CameraId, Condition]:
        """How each stream stands."""
        now = self._parts.clock.boot()
        return {camera_id: each.watcher.stream.condition(now) for camera_id, each in self._watched.items()}

    async def run(self) -> None:
        """Tells how its cameras do until it is cancelled, and ends everything then."""
        try:
            while True:
                self._tell_all()
                await asyncio.sleep(TELL_EVERY)
        finally:
            await self.close()

    async def close(self) -> None:
        """Ends every camera, and then all that decodes and looks."""
        await asyncio.gather(*map(self.drop, list(self._watched)))
        await asyncio.gather(*(each.task for each in self._leaving.values()), return_exceptions=True)
        await self._parts.logins.close()
        await self._detectors.close()
        await self._pipeline.close()

    def add(self, source: Source, *, is_muted: bool = False) -> None:
        """Begins to watch a camera; one that must not be processed, or cannot, is not even connected to."""
        camera_id = CameraId(source.camera_uuid)
        if source.do_not_process:
            self._let_go(camera_id)
        if source.do_not_process or camera_id in self._watched:
            return
        try:
            watcher = self._watcher(camera_id, source)
        except StreamwardError as error:
            failure = StreamFailure(code=StreamErrorCode.URL_FORBIDDEN, detail=str(error))
            self._tell_failure(source, failure, is_silent=is_muted)
            return
        max_fps = source.max_fps or self._config.max_fps
        watcher.stream.summary_every = self._config.telemetry.report_interval_seconds
        task = asyncio.get_running_loop().create_task(self._watch(watcher, source), name=f"watch {camera_id}")
        now = self._parts.clock.boot()
        self._watched[camera_id] = watched = _Watched(source, watcher, task, now, 1 / max_fps, Speech(is_muted))
        self._tell_state(watched, now)

    async def _watch(self, watcher: Watcher, source: Source) -> None:
        """Until it is cancelled; a camera is not even connected to before its detector can be had."""
        name = source.detector or self._config.detector
        look = partial(looking_at, source, self._config, compare=self._parts.compare)
        looking = await self._detectors.wait_for(name, look, partial(self._blind, watcher))
        decoder = self._decoder(watcher.camera_id, VideoCodec.H264)
        self._pipeline.add(watcher.camera_id, decoder, looking)
        await watcher.run()

    def _blind(self, watcher: Watcher, error: StreamwardError, retry_in: float) -> None:
        watcher.queue()
        failure = StreamFailure(code=StreamErrorCode.DETECTOR_FAILED, detail=str(error))
        watcher.stream.lost(failure)
        watcher.stream.retry(self._parts.clock.boot() + retry_in)
        self._moved(watcher.camera_id)
        self._failed(watcher.camera_id, failure, retry_in)

    def _watcher(self, camera_id: CameraId, source: Source) -> Watcher:
        parts = self._parts
        spec = WatcherSpec(
            camera_id=camera_id,
            login=parts.login(source),
            way=Way(site_id=SiteId(source.site_id), host=parts.host(source)),
            is_paid=source.is_dial_paid,
            dial=self._dial(source),
            tell=self._failed,
            moved=self._moved,
        )
        backoff = Backoff(_BACKOFF, parts.random)
        return Watcher(spec, clock=parts.clock, backoff=backoff, logins=parts.logins, dialing=self.dialing)

    async def drop(self, camera_id: CameraId) -> LastWord:
        """Watches a camera no more; the others notice nothing. Who asks twice waits twice."""
        watched = self._let_go(camera_id) or self._leaving.get(camera_id)
        if watched is None:
            return LastWord()
        await asyncio.wait([watched.task])
        return replace(watched.last_word, epoch=watched.source.epoch)

    def _let_go(self, camera_id: CameraId) -> _Watched | None:
        """From now on nothing of a camera is decoded, looked at or told; its connection is being given back."""
        watched = self._watched.pop(camera_id, None)
        self._pipeline.drop(camera_id)
        self.metrics.forget(camera_id)
        if watched is not None:
            self._leaving[camera_id] = watched
            self._announce_end(watched)
            watched.task.add_done_callback(lambda _: self._left(watched))
            watched.task.cancel()
            self._parts.journal.record(facts.StreamEnded(**_whose(watched.source)))
        return watched

    def _left(self, watched: _Watched) -> None:
        camera_id = CameraId(watched.source.camera_uuid)
        if self._leaving.get(camera_id) is watched:
            del self._leaving[camera_id]

    def mute(self, camera_id: CameraId, *, is_final: bool = False) -> LastWord:
        """Makes no more events of a camera, but goes on watching it; of one that is not watched any more until now.

        With `is_final` another runner announces it from now on, and this one announces its own end.
        """
        watched = self._watched.get(camera_id)
        if watched is None:
            return LastWord(arrived=self._parts.clock.boot())
        if is_final:
            self._announce_end(watched)
        watched.speech.hush()
        self.metrics.forget(camera_id)
        return watched.last_word

    def unmute(self, camera_id: CameraId, *, after: float) -> None:
        """Makes events of what arrived after that boot-time, as far as it is still known."""
        watched = self._watched.get(camera_id)
        if watched is None:
            return
        now = self._parts.clock.boot()
        for seen in watched.speech.resume(after=after, interval=watched.interval):
            self._make(watched, seen, now)
        self._count(watched, now)
        self._tell_state(watched, now)

    def _dial(self, source: Source) -> Callable[[Watcher], Awaitable[StreamFailure]]:
        decoder = partial(self._decoder, CameraId(source.camera_uuid))
        return lambda watcher: self._parts.dial(source, Line(watcher, self._pipeline, decoder, self._dialed))

    def _decoder(self, camera_id: CameraId, codec: VideoCodec | None) -> FrameDecoder:
        decoder, board = self._parts.decoder(codec), self._parts.board
        return decoder if board is None else BlamedDecoder(decoder, camera_id, board=board)

    def _dialed(self, camera_id: CameraId) -> None:
        watched = self._watched.get(camera_id)
        if watched is not None and not watched.has_dialed:
            watched.has_dialed = True
            self._parts.ear.dial_ended(camera_id)

    def _frame(self, camera_id: CameraId, arrived_at: float) -> None:
        watched = self._since(camera_id, arrived_at)
        if watched is None:
            return
        now = self._parts.clock.boot()
        watched.watcher.stream.frame(arrived_at, now)
        self._tell_state(watched, now)
        if not watched.speech.is_silent:
            self._show(watched, arrived_at, now)

    def _show(self, watched: _Watched, arrived_at: float, now: float) -> None:
        """The first frame, of a silent camera the first that was looked at: it is fit to speak."""
        if watched.has_shown:
            return
        watched.has_shown = True
        duration_ms = round((now - watched.added_at) * 1000)
        self._parts.journal.record(facts.StreamBegan(**_whose(watched.source), duration_ms=duration_ms))
        self._parts.ear.showing(CameraId(watched.source.camera_uuid), arrived_at)

    def _since(self, camera_id: CameraId, arrived_at: float) -> _Watched | None:
        """The camera as it is watched now, if that frame is of this start of it: others were counted anew."""
        watched = self._watched.get(camera_id)
        return None if watched is None or arrived_at < watched.added_at else watched

    def _seen(self, seen: Seen) -> None:
        now = self._parts.clock.boot()
        watched = self._since(seen.camera_id, seen.arrived_at)
        self._looked += 1
        if watched is None:
            return
        watched.watcher.stream.looked(seen.picture, now)
        is_told = watched.speech.admit(seen)
        if watched.speech.is_fit:
            self._show(watched, seen.arrived_at, now)
        if is_told:
            self._make(watched, seen, now)

    def _make(self, watched: _Watched, seen: Seen, now: float) -> None:
        """One event for each frame that was looked at, if a lease stands behind it."""
        stamp = self._parts.stamps.stamp(seen.camera_id, arrived=seen.arrived_at, now=now)
        if stamp is None:
            return
        seen, e2e_s = watched.speech.introduce(seen), now - seen.arrived_at
        self.metrics.looked(seen.camera_id, inference_s=seen.inference_s, e2e_s=e2e_s)
        fps = watched.watcher.stream.condition(now).fps
        event = self._event(watched.source, seen, stamp, latency=_latency(seen.inference_s, e2e_s), fps=fps)
        watched.last_word = LastWord(arrived=seen.arrived_at, made_until=stamp.made_at)
        began = self._parts.clock.boot()
        self._parts.sink.keep(_key("detections", watched.source), event.event_id, event)
        self.metrics.kept(self._parts.clock.boot() - began)

    def _event(
        self, source: Source, seen: Seen, stamp: Stamp, *, latency: wire.Latency, fps: float
    ) -> wire.DetectionEvent:
        self._sequence, at = self._sequence + 1, self._parts.stamps.database_time
        name = wire.event_id(source.camera_uuid, generation=stamp.generation, epoch=source.epoch, frame=seen.frame)
        return wire.DetectionEvent(
            ts=stamp.made_at,
            runner_id=self._config.runner_id,
            shard_id=self._config.shard_id,
            tenant_id=source.tenant_id,
            site_id=source.site_id,
            camera_uuid=source.camera_uuid,
            frame_id=seen.frame,
            fps=fps,
            detections=[wire.seen_thing(each) for each in seen.detections],
            latency=latency,
            generation=stamp.generation,
            epoch=source.epoch,
            incarnation=stamp.owner.incarnation,
            seq=self._sequence,
            event_id=name,
            zone_events=[wire.zone_crossed(each, at(each.at)) for each in seen.zone_events],
        )

    def _tell_all(self) -> None:
        now = self._parts.clock.boot()
        if now - self._rated_at >= RATE_EVERY:
            self.metrics.pipeline(self._looked / (now - self._rated_at))
            self._looked, self._rated_at = 0, now
        for watched in self._watched.values():
            self._count(watched, now)
            self._tell_state(watched, now)

    def _count(self, watched: _Watched, now: float) -> None:
        """In the metrics, where each camera stands once: as whoever speaks of it sees it."""
        camera_id, condition = watched.watcher.camera_id, watched.watcher.stream.condition(now)
        if not watched.speech.is_silent:
            self.metrics.condition(camera_id, condition, now, dropped=sum(self._pipeline.dropped(camera_id)))

    def _moved(self, camera_id: CameraId) -> None:
        watched = self._watched.get(camera_id)
        if watched is not None:
            self._tell_state(watched, self._parts.clock.boot())

    def _tell_state(self, watched: _Watched, now: float) -> None:
        """Of a silent camera another Worker tells."""
        if watched.speech.is_silent:
            return
        if (condition := watched.watcher.stream.due(now)) is not None:
            self._announce(watched, condition, now)

    def _announce_end(self, watched: _Watched) -> None:
        """DISCONNECTED of a camera that is let go (S0-047); of a silent one another Worker or runner announces."""
        now = self._parts.clock.boot()
        if watched.speech.is_silent:
            return
        if (condition := watched.watcher.stream.ended(now)) is not None:
            self._announce(watched, condition, now)

    def _announce(self, watched: _Watched, condition: Condition, now: float) -> None:
        report = self._report(watched.source, condition, now)
        self._parts.sink.tell(_key("stream.status", watched.source), report)
        self._parts.ear.reported(report)
        camera_id = CameraId(watched.source.camera_uuid)
        self._hooks.spread(StatusUpdate(camera_id=camera_id, at=now, what=condition.state))

    def _report(self, source: Source, condition: Condition, now: float) -> StreamReport:
        at, last = self._parts.stamps.database_time, condition.last_frame_at
        return StreamReport(
            camera_uuid=source.camera_uuid,
            runner_id=self._config.runner_id,
            shard_id=self._config.shard_id,
            state=condition.state,
            substate=condition.substate,
            error_code=condition.error_code,
            error_detail=None if condition.error_detail is None else shown_detail(condition.error_detail),
            retry_at=None if condition.retry_at is None else at(condition.retry_at),
            fps=condition.fps,
            last_frame_ts=None if last is None else at(last),
            last_frame_age_s=None if last is None else round(max(0.0, now - last), 3),
            version=source.generation,
            ts=at(now),
        )

    def _failed(self, camera_id: CameraId, failure: StreamFailure, retry_in: float | None) -> None:
        self._dialed(camera_id)
        watched = self._watched.get(camera_id)
        if watched is not None:
            self._tell_failure(watched.source, failure, retry_in=retry_in, is_silent=watched.speech.is_silent)

    def _troubled(self, update: StatusUpdate) -> None:
        """What fails with each frame is counted each time, and told now and then."""
        watched = self._watched.get(update.camera_id)
        if watched is None or not isinstance(update.what, StreamErrorCode):
            return
        is_told = watched.watcher.trouble(StreamFailure(code=update.what, detail=update.detail))
        if not is_told and not watched.speech.is_silent:
            self.metrics.failed(update.camera_id, update.what)

    def _tell_failure(
        self, source: Source, failure: StreamFailure, *, retry_in: float | None = None, is_silent: bool = False
    ) -> None:
        """To the Manager also of a silent camera. Without `retry_in` nothing is dialed again."""
        now, camera_id = self._parts.clock.boot(), CameraId(source.camera_uuid)
        message = wire.StreamFailed(
            camera_uuid=camera_id,
            runner_id=self._config.runner_id,
            code=failure.code,
            detail=failure.detail,
            retry_in_ms=round((retry_in or 0.0) * 1000),
            ts=self._parts.stamps.database_time(now),
        )
        what = {**_whose(source), "error_code": message.code, "detail": message.detail}
        self._parts.journal.record(
            facts.StreamError(**what)
            if retry_in is None
            else facts.RtspConnectRetry(**what, retry_in_ms=message.retry_in_ms)
        )
        if not is_silent:
            self.metrics.failed(camera_id, failure.code)
            self._parts.sink.tell(_key("stream.error", source), message)
        self._parts.ear.failed(message)
        self._hooks.spread(StatusUpdate(camera_id=camera_id, at=now, what=failure.code, detail=failure.detail))


def _whose(source: Source) -> dict[str, Any]:
    return {"camera_id": CameraId(source.camera_uuid), "site_id": source.site_id, "tenant_id": source.tenant_id}


def _latency(inference_s: float, e2e_s: float) -> wire.Latency:
    return wire.Latency(inference_s=round(inference_s, 4), e2e_s=round(e2e_s, 4))


def _key(kind: str, source: Source) -> str:
    return wire.routing_key(kind, tenant_id=source.tenant_id, site_id=source.site_id, camera_uuid=source.camera_uuid)
