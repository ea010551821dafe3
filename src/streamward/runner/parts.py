"""What a Worker is put together from: the ports of the things around it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any, Protocol

from streamward.leases.fence import Stamp
from streamward.leases.logins import LoginId
from streamward.model.ids import CameraId
from streamward.model.stream_error import StreamFailure
from streamward.model.video import VideoCodec
from streamward.protocol import events as wire
from streamward.protocol.shards import Source
from streamward.protocol.streams import StreamReport
from streamward.protocol.worker_link import WorkerExit
from streamward.runner.detectors import Newer, none_newer
from streamward.runner.dialing import Host
from streamward.runner.impatience import End
from streamward.runner.logins import Logins
from streamward.runner.looking import Compare, nothing_differs
from streamward.runner.pipeline import FrameDecoder
from streamward.runtime.blame import Board
from streamward.runtime.clock import Clock
from streamward.runtime.journal import Journal
from streamward.vision.camera import CameraListener
from streamward.vision.detector import Detector
from streamward.vision.watchdog import Watchdog


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


class Ear(Protocol):
    """Who is told, beside the bus, how the cameras of this shard do; none of it may wait."""

    def reported(self, report: StreamReport) -> None: ...
    def failed(self, failure: wire.StreamFailed) -> None: ...

    def showing(self, camera_id: CameraId, arrived: float) -> None:
        """The first frame since a camera was added."""
        ...

    def dial_ended(self, camera_id: CameraId) -> None:
        """The first connection since a camera was added was made, or has failed."""
        ...


Dial = Callable[[Source, CameraListener], Awaitable[StreamFailure]]


def _goes_on(_code: WorkerExit) -> None:
    """Nobody would start it again."""


def _nowhere(_source: Source) -> Host | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerParts:
    """What a Worker is put together from."""

    clock: Clock
    detector: Callable[[str], Detector]  # by its name; may take long; raises DetectorUnusable
    decoder: Callable[[VideoCodec | None], FrameDecoder]
    dial: Dial
    login: Callable[[Source], LoginId | None]
    logins: Logins
    stamps: Stamps
    sink: Sink
    ear: Ear
    journal: Journal
    random: Random
    host: Callable[[Source], Host | None] = _nowhere  # None: on this one
    compare: Compare = nothing_differs  # sees movement, for cameras that are decoded by it
    end: End = _goes_on  # of the process, when it is of no more use
    newer: Newer = none_newer  # versions of detectors that are in use
    watchdogs: Sequence[Watchdog] = ()  # whoever else wants to hear what the pipeline does
    board: Board | None = None  # where cameras that are decoded or looked at are named, for when that ends the process


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWord:
    """The last event of a camera: when its frame arrived, and how it was dated; and which start of it that was."""

    epoch: int = 0
    arrived: float | None = None
    made_until: datetime | None = None
