"""A Worker's own watchdog, and those of others, behind one port.

The others hear each thing after the Worker has done its part, each in a turn of its own of the event loop: one that
raises keeps neither the Worker nor another from hearing it.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from streamward.model.ids import CameraId
from streamward.vision.watchdog import Seen, ShownFrame, StatusUpdate, Watchdog


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the Worker itself does."""

    on_frame: Callable[[CameraId, float], None]
    on_seen: Callable[[Seen], None]
    on_trouble: Callable[[StatusUpdate], None]


class Hooks:
    """Stands between a pipeline and whoever listens."""

    def __init__(self, own: Parts, *, others: Sequence[Watchdog]) -> None:
        self._own = own
        self._others = others
        self._loop = asyncio.get_running_loop()

    def on_frame_decoded(self, camera_id: CameraId, arrived_at: float) -> None:
        """Of each frame."""
        self._own.on_frame(camera_id, arrived_at)
        for other in self._others:
            self._loop.call_soon(other.on_frame_decoded, camera_id, arrived_at)

    def on_model_inference_started(self, shown: ShownFrame) -> None:
        """Of each look; the Worker itself waits for its end."""
        for other in self._others:
            self._loop.call_soon(other.on_model_inference_started, shown)

    def on_model_prediction_ready(self, seen: Seen) -> None:
        """Of each look that was no failure."""
        self._own.on_seen(seen)
        for other in self._others:
            self._loop.call_soon(other.on_model_prediction_ready, seen)

    def on_status_update(self, update: StatusUpdate) -> None:
        """Of what failed in the pipeline; the Worker decides what is told on."""
        self._own.on_trouble(update)

    def spread(self, update: StatusUpdate) -> None:
        """Tells the others what the Worker knows already."""
        for other in self._others:
            self._loop.call_soon(other.on_status_update, update)
