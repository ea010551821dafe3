"""A Worker with cameras that are scripts, and what it said."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from streamward.drivers.decoder import decoder_for
from streamward.drivers.detectors.colour import ColourDetector
from streamward.leases.fence import Stamp
from streamward.model.ids import CameraId, Generation
from streamward.model.source_url import SourceUrlRefused, UrlFault
from streamward.model.stream_error import StreamErrorCode, StreamFailure
from streamward.model.video import VideoCodec
from streamward.nvr.clip import Clip, encode
from streamward.nvr.scene import Picture, make_scene
from streamward.protocol import codec
from streamward.protocol.events import DetectionEvent, StreamFailed
from streamward.protocol.shards import ShardConfig
from streamward.protocol.streams import StreamReport
from streamward.runner.logins import LocalLogins
from streamward.runner.parts import WorkerParts
from streamward.runner.worker import Worker
from streamward.runtime.clock import SystemClock
from streamward.runtime.journal import Journal
from streamward.vision.detections import Detections
from streamward.vision.detector import Detector
from streamward.vision.lane import ArrivedUnit
from streamward.vision.unusable import DetectorUnusable
from streamward.vision.watchdog import Seen, ShownFrame, StatusUpdate
from tests.support.builders import START, an_owner
from tests.support.news import News

PICTURE = Picture(width=640, height=360, fps=10, loop=20)
CLIP: Clip = encode(make_scene(1, PICTURE))
SHARD = b"""{"runner_id":"r1","shard_id":"s0","max_fps":100,"sources":[
    {"camera_uuid":"cam-1","url":"rtsp://192.0.2.1/1","site_id":"site-1","tenant_id":"t-01","epoch":7},
    {"camera_uuid":"cam-2","url":"rtsp://192.0.2.1/2","site_id":"site-1","tenant_id":"t-01"},
    {"camera_uuid":"cam-3","url":"rtsp://192.0.2.1/3","site_id":"site-1","tenant_id":"t-01","do_not_process":true}]}"""

FORBIDDEN = b"""{"camera_uuid":"cam-1","url":"rtsp://192.0.2.1/1","site_id":"site-1","tenant_id":"t-01",
    "do_not_process":true}"""


def shard(*cameras: str) -> bytes:
    """A shard of cameras, each with the name of its detector behind its own if it has one."""
    sources = [
        {"camera_uuid": name, "url": "rtsp://192.0.2.1/1", "site_id": "site-1", "tenant_id": "t-01"}
        | ({"detector": detector} if detector else {})
        for name, _, detector in (camera.partition(" ") for camera in cameras)
    ]
    return json.dumps({"runner_id": "r1", "shard_id": "s0", "max_fps": 100, "sources": sources}).encode()


@dataclass
class Leases:
    """Stamps for the cameras that are held."""

    held: set[str]

    def stamp(self, camera_id: CameraId, *, arrived: float, now: float) -> Stamp | None:
        if camera_id not in self.held:
            return None
        return Stamp(
            camera_id=camera_id, generation=Generation(3), owner=an_owner(), made_at=self.database_time(arrived)
        )

    def database_time(self, boot: float) -> datetime:
        return START + timedelta(seconds=boot)


@dataclass
class Heard:
    """A sink that keeps everything."""

    events: list[tuple[str, str, DetectionEvent]] = field(default_factory=list)
    told: list[tuple[str, Any]] = field(default_factory=list)
    changed: News = field(default_factory=News)
    shown: list[str] = field(default_factory=list)
    dialed: list[str] = field(default_factory=list)

    def reported(self, report: StreamReport) -> None: ...
    def failed(self, failure: StreamFailed) -> None: ...

    def showing(self, camera_id: str, arrived: float) -> None:
        assert arrived > 0
        self.shown.append(camera_id)
        self.changed.set()

    def dial_ended(self, camera_id: str) -> None:
        self.dialed.append(camera_id)
        self.changed.set()

    def keep(self, routing_key: str, event_id: str, message: Any) -> None:
        self.events.append((routing_key, event_id, message))
        self.changed.set()

    def tell(self, routing_key: str, message: Any) -> None:
        self.told.append((routing_key, message))
        self.changed.set()

    async def until(self, is_so: Callable[[], object]) -> None:
        await self.changed.until(is_so)


@dataclass
class Looking:
    """The built-in detector, and a note each time it is used; one named `broken` raises."""

    name: str
    shown: list[str]
    size = ColourDetector.size
    keeps_shape = False

    def detect(self, image: Any) -> Detections:
        self.shown.append(self.name)
        if self.name == "broken":
            raise ValueError(self.name)
        return ColourDetector().detect(image)


@dataclass
class Recorder:
    """A watchdog that fails at each word."""

    heard: list[str] = field(default_factory=list)

    def on_frame_decoded(self, camera_id: CameraId, _arrived_at: float) -> None:
        self._fail(f"frame {camera_id}")

    def on_model_inference_started(self, shown: ShownFrame) -> None:
        self._fail(f"look {shown.camera_id}")

    def on_model_prediction_ready(self, seen: Seen) -> None:
        self._fail(f"seen {seen.camera_id}")

    def on_status_update(self, update: StatusUpdate) -> None:
        self._fail(f"{update.what} {update.camera_id}")

    def _fail(self, word: str) -> None:
        self.heard.append(word)
        raise RuntimeError(word)


class Plant:
    """A Worker under way: cam-1 shows the clip, cam-2 refuses."""

    def __init__(self, *held: str, shard: bytes = SHARD, is_managed: bool = False) -> None:
        self.heard = Heard()
        self.journal = Journal()
        self.facts: list[Any] = []
        self.journal.subscribe(self.facts.append)
        self.dialed: list[str] = []
        self.shown: list[str] = []  # to detectors, by their names
        self.watchdog = Recorder()
        parts = WorkerParts(
            clock=SystemClock(),
            detector=self._detector,
            watchdogs=[self.watchdog],
            decoder=decoder_for,
            dial=self._dial,
            login=self._login,
            logins=LocalLogins(clock=SystemClock()),
            stamps=Leases(set(held)),
            sink=self.heard,
            ear=self.heard,
            journal=self.journal,
            random=Random(1),
        )
        self.config = codec.decode(shard, ShardConfig)
        self.worker = Worker(self.config, parts, is_managed=is_managed)

    async def _dial(self, source: Any, listener: Any) -> StreamFailure:
        self.dialed.append(source.camera_uuid)
        if source.camera_uuid == "cam-2":
            return StreamFailure(code=StreamErrorCode.TCP_REFUSED, detail="nobody listens")
        listener.playing(VideoCodec.H264)
        for unit in CLIP.units:
            now = SystemClock().boot()
            listener.unit(ArrivedUnit(content=unit.content, is_keyframe=unit.is_keyframe, arrived_at=now))
        await asyncio.Event().wait()
        raise AssertionError

    def _login(self, source: Any) -> None:
        if source.camera_uuid == "cam-5":
            raise SourceUrlRefused(UrlFault.KIND)

    def _detector(self, name: str) -> Detector:
        if name == "gone":
            raise DetectorUnusable(name, "it is not there")
        return Looking(name, self.shown)

    async def run(self, is_so: Callable[[], object]) -> None:
        task = asyncio.ensure_future(self.worker.run())
        for source in self.config.sources:
            self.worker.add(source)
        await self.heard.until(is_so)
        self.was_ready, self.page = self.worker.is_ready, self.worker.metrics.render().decode()
        task.cancel()
        await asyncio.wait([task])


def of(kind: type[Any], heard: Heard) -> list[Any]:
    return [message for _, message in heard.told if isinstance(message, kind)]
