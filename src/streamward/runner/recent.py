"""What cameras showed in the last seconds, and what was last seen in it: for clips and snapshots.

Hears connections beside whoever watches, and the pipeline as one of its watchdogs. Nothing here is decoded before
somebody asks.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from streamward.model.errors import StreamwardError
from streamward.model.ids import CameraId
from streamward.model.stream_error import StreamFailure
from streamward.model.video import VideoCodec
from streamward.runtime.aside import aside
from streamward.vision.camera import CameraListener
from streamward.vision.detections import NOTHING, Detections
from streamward.vision.lane import ArrivedUnit
from streamward.vision.ring import Group, Ring, Units
from streamward.vision.watchdog import Seen, ShownFrame, StatusUpdate

T = TypeVar("T")

BOXES_FOR = 5.0  # seconds after which what was seen is too old to be shown
AT_ONCE = 2  # that are cut; a few MiB each
MOST_WAITING = 30  # for their turn


class NothingToShow(StreamwardError):
    """There is nothing of a camera here."""

    def __init__(self, camera_id: str) -> None:
        super().__init__(camera_id)
        self.camera_id = camera_id

    def __str__(self) -> str:
        return "nothing of this camera is kept here"


class TooManyAtOnce(StreamwardError):
    """More want something than can wait for it."""

    def __str__(self) -> str:
        return "too many clips and pictures are being made: ask again in a moment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """An MP4 file and its length."""

    content: bytes
    seconds: float


class Cutter(Protocol):
    """Makes files of what came; raises errors of ours if that cannot be read."""

    def clip(self, codec: VideoCodec, units: Units) -> bytes:
        """An MP4 of these, which begin with a keyframe."""
        ...

    def snapshot(self, codec: VideoCodec, units: Units, boxes: Detections) -> bytes:
        """The last of these as JPEG, with boxes around what was seen."""
        ...


@dataclass(slots=True)
class _Kept:
    ring: Ring
    codec: VideoCodec | None = None
    seen: Seen | None = None


class Recent:
    """All cameras of a Worker."""

    def __init__(
        self, ring: Callable[[], Ring], cutter: Cutter, *, lost: Callable[[], int] = int, limit: str = "none"
    ) -> None:
        """`lost` says how many groups of pictures could not be kept; `limit`, for people, how much is kept at most."""
        self.lost = lost
        self.limit = limit
        self._ring = ring
        self._cutter = cutter
        self._kept: dict[CameraId, _Kept] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    def hearing(self, camera_id: CameraId, listener: CameraListener) -> CameraListener:
        """Who hears a connection of a camera, and tells its listener."""
        if camera_id not in self._kept:
            self._kept[camera_id] = _Kept(self._ring())
        return _Ear(self._kept[camera_id], listener)

    def drop(self, camera_id: CameraId) -> None:
        """It is not watched here any more; nothing that still comes of it is kept."""
        kept = self._kept.pop(camera_id, None)
        if kept is not None:
            kept.ring.close()

    @property
    def spans(self) -> dict[CameraId, float]:
        """Seconds that are kept of each camera."""
        return {camera_id: kept.ring.span for camera_id, kept in self._kept.items()}

    async def clip(self, camera_id: CameraId, *, seconds: float) -> Clip:
        """The last seconds as MP4, from a keyframe on; raises NothingToShow and TooManyAtOnce."""

        def cut(codec: VideoCodec, units: Units, _seen: Seen | None) -> Clip:
            span = units[-1].arrived_at - units[0].arrived_at
            return Clip(content=self._cutter.clip(codec, units), seconds=span)

        return await self._cut(camera_id, seconds, cut)

    async def snapshot(self, camera_id: CameraId, *, has_boxes: bool) -> bytes:
        """The newest picture as JPEG, or with boxes that in which they were seen; raises as `clip`."""

        def cut(codec: VideoCodec, units: Units, seen: Seen | None) -> bytes:
            if not has_boxes or seen is None or units[0].arrived_at > seen.arrived_at:
                return self._cutter.snapshot(codec, units, NOTHING)
            shown = tuple(unit for unit in units if unit.arrived_at <= seen.arrived_at)
            return self._cutter.snapshot(codec, shown, seen.detections)

        return await self._cut(camera_id, BOXES_FOR, cut)

    async def _cut(self, camera_id: CameraId, seconds: float, cut: Callable[[VideoCodec, Units, Seen | None], T]) -> T:
        """In a thread, a few at once; what is cut is what is there when its turn comes."""
        if self._waiting >= MOST_WAITING:
            raise TooManyAtOnce
        self._waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= 1
        try:
            kept = self._kept.get(camera_id)
            groups = () if kept is None else kept.ring.latest(seconds)
            if kept is None or kept.codec is None or not groups:
                raise NothingToShow(camera_id)
            codec, seen = kept.codec, kept.seen
            return await aside(f"cut {camera_id}", lambda: _tried(lambda: cut(codec, _read(camera_id, groups), seen)))
        finally:
            self._turns.release()

    def on_frame_decoded(self, camera_id: CameraId, arrived_at: float) -> None: ...
    def on_model_inference_started(self, shown: ShownFrame) -> None: ...
    def on_status_update(self, update: StatusUpdate) -> None: ...

    def on_model_prediction_ready(self, seen: Seen) -> None:
        kept = self._kept.get(seen.camera_id)
        if kept is not None:
            kept.seen = seen


def _read(camera_id: CameraId, groups: Sequence[Group]) -> Units:
    """What is left of them; raises NothingToShow."""
    units = tuple(unit for group in groups for unit in group.units())
    if not units:
        raise NothingToShow(camera_id)
    return units


def _tried(cut: Callable[[], T]) -> T | Exception:
    try:
        return cut()
    except StreamwardError as error:
        return error


class _Ear:
    """Keeps what one connection brings."""

    def __init__(self, kept: _Kept, listener: CameraListener) -> None:
        self._kept = kept
        self._listener = listener

    def playing(self, codec: VideoCodec | None) -> None:
        if codec is not self._kept.codec:
            self._kept.ring.clear()
            self._kept.codec = codec
        self._listener.playing(codec)

    def unit(self, unit: ArrivedUnit) -> None:
        if not unit.is_damaged and self._kept.codec is not None:
            self._kept.ring.add(unit)
        self._listener.unit(unit)

    def trouble(self, trouble: StreamFailure) -> None:
        self._listener.trouble(trouble)
