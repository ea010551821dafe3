"""What one connection of a camera says, and to whom it goes: units to the pipeline, all else to the watcher."""

from collections.abc import Callable

from streamward.model.ids import CameraId
from streamward.model.stream_error import StreamFailure
from streamward.model.video import VideoCodec
from streamward.runner.pipeline import FrameDecoder, Pipeline
from streamward.runner.watcher import Watcher
from streamward.vision.lane import ArrivedUnit


class Line:
    """Hears one connection of a camera."""

    def __init__(
        self,
        watcher: Watcher,
        pipeline: Pipeline,
        decoder: Callable[[VideoCodec | None], FrameDecoder],
        dialed: Callable[[CameraId], None],
    ) -> None:
        self._watcher = watcher
        self._pipeline = pipeline
        self._decoder = decoder
        self._dialed = dialed
        self._codec: VideoCodec | None = None
        self._is_interrupted = False  # access units were lost since the last one that was decoded

    def playing(self, codec: VideoCodec | None) -> None:
        self._codec = codec
        self._pipeline.restart(self._watcher.camera_id, self._decoder(codec))
        self._watcher.connected()
        self._dialed(self._watcher.camera_id)

    def unit(self, unit: ArrivedUnit) -> None:
        self._watcher.stream.unit(unit.arrived_at)
        if unit.is_damaged:
            self._is_interrupted = True
            return
        if self._is_interrupted and unit.is_recovery_point:  # what is missing would show in the frames up to there
            self._pipeline.restart(self._watcher.camera_id, self._decoder(self._codec))
        self._is_interrupted = False
        self._pipeline.offer(self._watcher.camera_id, unit)

    def trouble(self, trouble: StreamFailure) -> None:
        self._watcher.trouble(trouble)
