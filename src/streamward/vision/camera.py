"""What a camera tells while it is watched."""

from typing import Protocol

from streamward.model.stream_error import StreamFailure
from streamward.model.video import VideoCodec
from streamward.vision.lane import ArrivedUnit


class CameraListener(Protocol):
    """Hears one connection of a camera; called in the event loop, and must not wait."""

    def playing(self, codec: VideoCodec | None) -> None:
        """Pictures of that codec come from now on; None: empty ones, that need no decoding."""
        ...

    def unit(self, unit: ArrivedUnit) -> None:
        """One whole picture came."""
        ...

    def trouble(self, trouble: StreamFailure) -> None:
        """Something was wrong, and the stream goes on."""
        ...
