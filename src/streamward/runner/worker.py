"""A Worker: the cameras of one shard, from their connections to events.

    camera ─units→ pipeline ─Seen→ stamp of its lease ─event→ sink
       └── watcher: dials, watches, tells ──status, errors→ sink

Each record leaves with the stamp of the lease under which its frame arrived, or not at all: a lease whose deadline has
passed stamps nothing, and a Worker that is not told more stops by itself.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any, Protocol

from streamward.leases.fence import Stamp
from streamward.model.ids import CameraId
from streamward.model.stream_error import StreamFailure
from streamward.model.video import VideoCodec
from streamward.protocol import events as wire
from streamward.protocol.shards import ShardConfig, Source
from streamward.protocol.streams import StreamReport
from streamward.runner.metrics import WorkerMetrics
from streamward.runner.pipeline import FrameDecoder, Pipeline, Seen
from streamward.runner.watcher import Watcher, WatcherSpec
from streamward.runtime.backoff import Backoff, BackoffSpec
from streamward.runtime.clock import Clock
from streamward.vision.camera import CameraListener
from streamward.vision.detector import Detector
from streamward.vision.lane import ArrivedUnit
from streamward.vision.logins import LoginGuard, LoginKey
from streamward.vision.readiness import is_ready
from streamward.vision.sampling import Sampler
from streamward.vision.stream import Condition

TELL_EVERY = 0.2  # seconds between two looks at what is to be told
RATE_EVERY = 5.0  # seconds over which frames a second are reckoned
_DIALING = BackoffSpec(first=1.0, longest=60.0, steady=30.0)


class Stamps(Protocol):
    """What is known of the leases of this shard's cameras."""

    def stamp(self, camera_id: CameraId, *, arrived: float, now: float) -> Stamp | None:
        """Under which lease a frame arrived; None: under none that is trusted."""
        ...

    def database_time(self, boot: float) -> datetime:
        """The database's time at that boot-time, as well as it is known."""
        ...


class Sink(Protocol):
    """Where a Worker's messages go; neither waits."""

    def keep(self, routing_key: str, event_id: str, message: Any) -> None:
        """An event that must not be lost."""
        ...

    def tell(self, routing_key: str, message: Any) -> None:
        """A message that is worth something now or never."""
        ...


Dial = Callable[[Source, CameraListener], Awaitable[StreamFailure]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerParts:
    """What a Worker is put together from."""

    clock: Clock
    detector: Detector
    decoder: Callable[[VideoCodec], FrameDecoder]
    dial: Dial
    login: Callable[[Source], LoginKey | None]
    stamps: Stamps
    sink: Sink
    random: Random


class Worker:
    """One shard."""

    def __init__(self, config: ShardConfig, parts: WorkerParts) -> None:
        self._config = config
        self._parts = parts
        self._sources = {CameraId(source.camera_uuid): source for source in config.sources}
        self.metrics = WorkerMetrics(runner_id=config.runner_id, shard_id=config.shard_id)
        self._pipeline = Pipeline(parts.detector, clock=parts.clock, on_frame=self._frame, on_seen=self._seen)
        self._logins = LoginGuard()
        self._watchers: dict[CameraId, Watcher] = {}
        self._tasks: dict[CameraId, asyncio.Task[None]] = {}
        self._sequence = 0
        self._looked = 0  # since the rate was last told
        self._rated_at = parts.clock.boot()

    @property
    def is_ready(self) -> bool:
        """Whether enough of the cameras run (S0-029)."""
        now = self._parts.clock.boot()
        conditions = [watcher.stream.condition(now) for watcher in self._watchers.values()]
        return is_ready(conditions, now, quorum_pct=self._config.readiness_quorum_pct)

    @property
    def conditions(self) -> dict[CameraId, Condition]:
        """How each stream stands."""
        now = self._parts.clock.boot()
        return {camera_id: watcher.stream.condition(now) for camera_id, watcher in self._watchers.items()}

    async def run(self) -> None:
        """Watches until it is cancelled, and ends everything then."""
        try:
            for source in self._sources.values():
                self.add(source)
            while True:
                self._tell_all()
                await asyncio.sleep(TELL_EVERY)
        finally:
            for camera_id in list(self._tasks):
                await self.drop(camera_id)
            await self._pipeline.close()

    def add(self, source: Source) -> None:
        """Begins to watch a camera; one that must not be processed is not even connected to."""
        camera_id = CameraId(source.camera_uuid)
        self._sources[camera_id] = source
        if source.do_not_process:
            return
        sampler = Sampler(max_fps=source.max_fps or self._config.max_fps, every_n=source.detect_every_n_frames)
        self._pipeline.add(camera_id, self._parts.decoder(VideoCodec.H264), sampler)
        spec = WatcherSpec(
            camera_id=camera_id, login=self._parts.login(source), dial=self._dialing(source), tell=self._failed
        )
        watcher = Watcher(
            spec, clock=self._parts.clock, backoff=Backoff(_DIALING, self._parts.random), logins=self._logins
        )
        self._watchers[camera_id] = watcher
        self._tasks[camera_id] = asyncio.get_running_loop().create_task(watcher.run(), name=f"watch {camera_id}")

    async def drop(self, camera_id: CameraId) -> None:
        """Watches a camera no more; the others notice nothing."""
        task = self._tasks.pop(camera_id, None)
        self._watchers.pop(camera_id, None)
        self._pipeline.drop(camera_id)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
            with contextlib.suppress(KeyError):
                self.metrics.forget(camera_id)

    def _dialing(self, source: Source) -> Callable[[Watcher], Awaitable[StreamFailure]]:
        return lambda watcher: self._parts.dial(source, _Ear(watcher, self._pipeline, self._parts.decoder))

    def _frame(self, camera_id: CameraId, arrived_at: float) -> None:
        watcher = self._watchers.get(camera_id)
        if watcher is not None:
            watcher.stream.frame(arrived_at)

    def _seen(self, seen: Seen) -> None:
        """One event for each frame that was looked at, if a lease stands behind it."""
        now = self._parts.clock.boot()
        stamp = self._parts.stamps.stamp(seen.camera_id, arrived=seen.arrived_at, now=now)
        watcher = self._watchers.get(seen.camera_id)
        self._looked += 1
        if stamp is None or watcher is None:
            return
        e2e_s = now - seen.arrived_at
        self.metrics.looked(seen.camera_id, inference_s=seen.inference_s, e2e_s=e2e_s)
        event = self._event(seen, stamp, fps=watcher.stream.condition(now).fps, e2e_s=e2e_s)
        self._parts.sink.keep(self._key("detections", seen.camera_id), event.event_id, event)

    def _event(self, seen: Seen, stamp: Stamp, *, fps: float, e2e_s: float) -> wire.DetectionEvent:
        source = self._sources[seen.camera_id]
        self._sequence += 1
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
            latency=wire.Latency(inference_s=round(seen.inference_s, 4), e2e_s=round(e2e_s, 4)),
            generation=stamp.generation,
            epoch=source.epoch,
            incarnation=stamp.owner.incarnation,
            seq=self._sequence,
            event_id=name,
        )

    def _tell_all(self) -> None:
        now = self._parts.clock.boot()
        if now - self._rated_at >= RATE_EVERY:
            self.metrics.pipeline(self._looked / (now - self._rated_at))
            self._looked, self._rated_at = 0, now
        for camera_id, watcher in self._watchers.items():
            self.metrics.condition(camera_id, watcher.stream.condition(now), now)
            if (condition := watcher.stream.due(now)) is not None:
                self._parts.sink.tell(self._key("stream.status", camera_id), self._report(camera_id, condition, now))

    def _report(self, camera_id: CameraId, condition: Condition, now: float) -> StreamReport:
        at, last = self._parts.stamps.database_time, condition.last_frame_at
        return StreamReport(
            camera_uuid=camera_id,
            runner_id=self._config.runner_id,
            shard_id=self._config.shard_id,
            state=condition.state,
            substate=condition.substate,
            error_code=condition.error_code,
            fps=condition.fps,
            last_frame_ts=None if last is None else at(last),
            last_frame_age_s=None if last is None else round(max(0.0, now - last), 3),
            ts=at(now),
        )

    def _failed(self, camera_id: CameraId, failure: StreamFailure, retry_in: float) -> None:
        self.metrics.failed(camera_id, failure.code)
        message = wire.StreamFailed(
            camera_uuid=camera_id,
            runner_id=self._config.runner_id,
            code=failure.code,
            detail=failure.detail,
            retry_in_ms=round(retry_in * 1000),
            ts=self._parts.stamps.database_time(self._parts.clock.boot()),
        )
        self._parts.sink.tell(self._key("stream.error", camera_id), message)

    def _key(self, kind: str, camera_id: CameraId) -> str:
        source = self._sources[camera_id]
        return wire.routing_key(
            kind, tenant_id=source.tenant_id, site_id=source.site_id, camera_uuid=source.camera_uuid
        )


class _Ear:
    """Hears one connection of a camera."""

    def __init__(self, watcher: Watcher, pipeline: Pipeline, decoder: Callable[[VideoCodec], FrameDecoder]) -> None:
        self._watcher = watcher
        self._pipeline = pipeline
        self._decoder = decoder

    def playing(self, codec: VideoCodec) -> None:
        self._pipeline.restart(self._watcher.camera_id, self._decoder(codec))
        self._watcher.connected()

    def unit(self, unit: ArrivedUnit) -> None:
        self._pipeline.offer(self._watcher.camera_id, unit)
