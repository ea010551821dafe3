"""What cameras showed in the last seconds, and what was last seen in it: for clips and snapshots.

Hears connections beside whoever watches, and the pipeline as one of its watchdogs. Nothing here is decoded before
somebody asks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from streamward.model.errors import StreamwardError
from streamward.model.ids import CameraId
from streamward.model.stream_error import StreamFailure
from streamward.model.video import VideoCodec
from streamward.runtime.aside import aside
from streamward.vision.camera import CameraListener
from streamward.vision.detections import NOTHING, Detections
from streamward.vision.lane import ArrivedUnit
from streamward.vision.ring import Ring
from streamward.vision.watchdog import Seen, ShownFrame, StatusUpdate

BOXES_FOR = 5.0  # seconds after which what was seen is too old to be shown


class NothingToShow(StreamwardError):
    """There is nothing of a camera here."""

    def __init__(self, camera_id: str) -> None:
        super().__init__(camera_id)
        self.camera_id = camera_id

    def __str__(self) -> str:
        return "nothing of this camera is kept here"


class Cutter(Protocol):
    """Makes files of what came; raises errors of ours if that cannot be read."""

    def clip(self, codec: VideoCodec, units: tuple[ArrivedUnit, ...]) -> bytes:
        """An MP4 of these, which begin with a keyframe."""
        ...

    def snapshot(self, codec: VideoCodec, units: tuple[ArrivedUnit, ...], boxes: Detections) -> bytes:
        """The last of these as JPEG, with boxes around what was seen."""
        ...


@dataclass(slots=True)
class _Kept:
    ring: Ring
    codec: VideoCodec | None = None
    seen: Seen | None = None


class Recent:
    """All cameras of a Worker."""

    def __init__(self, ring: Callable[[], Ring], cutter: Cutter) -> None:
        self._ring = ring
        self._cutter = cutter
        self._kept: dict[CameraId, _Kept] = {}

    def hearing(self, camera_id: CameraId, listener: CameraListener) -> CameraListener:
        """Who hears a connection of a camera, and tells its listener."""
        kept = self._kept.setdefault(camera_id, _Kept(self._ring()))
        return _Ear(kept, listener)

    def drop(self, camera_id: CameraId) -> None:
        """It is not watched here any more."""
        self._kept.pop(camera_id, None)

    async def clip(self, camera_id: CameraId, *, seconds: float) -> bytes:
        """The last seconds as MP4; raises NothingToShow."""
        codec, units = self._latest(camera_id, seconds)
        return await aside(f"clip {camera_id}", lambda: _tried(lambda: self._cutter.clip(codec, units)))

    async def snapshot(self, camera_id: CameraId, *, has_boxes: bool) -> bytes:
        """The newest picture as JPEG, or with boxes that in which they were seen; raises NothingToShow."""
        codec, units = self._latest(camera_id, BOXES_FOR)
        boxes = NOTHING
        seen = self._kept[camera_id].seen if has_boxes else None
        if seen is not None and units[0].arrived_at <= seen.arrived_at:
            boxes = seen.detections
            units = tuple(unit for unit in units if unit.arrived_at <= seen.arrived_at)
        return await aside(f"snapshot {camera_id}", lambda: _tried(lambda: self._cutter.snapshot(codec, units, boxes)))

    def on_frame_decoded(self, camera_id: CameraId, arrived_at: float) -> None: ...
    def on_model_inference_started(self, shown: ShownFrame) -> None: ...
    def on_status_update(self, update: StatusUpdate) -> None: ...

    def on_model_prediction_ready(self, seen: Seen) -> None:
        kept = self._kept.get(seen.camera_id)
        if kept is not None:
            kept.seen = seen

    def _latest(self, camera_id: CameraId, seconds: float) -> tuple[VideoCodec, tuple[ArrivedUnit, ...]]:
        kept = self._kept.get(camera_id)
        units = () if kept is None else kept.ring.latest(seconds)
        if kept is None or kept.codec is None or not units:
            raise NothingToShow(camera_id)
        return kept.codec, units


def _tried(cut: Callable[[], bytes]) -> bytes | Exception:
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
        if not unit.is_damaged:
            self._kept.ring.add(unit)
        self._listener.unit(unit)

    def trouble(self, trouble: StreamFailure) -> None:
        self._listener.trouble(trouble)
