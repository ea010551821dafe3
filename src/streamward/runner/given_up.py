"""Cameras whose Worker keeps dying, and which nobody but the Manager can tell anything of."""

from collections.abc import Collection
from dataclasses import dataclass, field

from streamward.model.ids import CameraId, RunnerId
from streamward.model.status import StreamState, Substate
from streamward.protocol.streams import StreamReport
from streamward.runtime.clock import Clock


@dataclass(slots=True)
class GivenUp:
    """Tells of them at once, and then as often as others tell of themselves."""

    runner_id: RunnerId
    clock: Clock
    every: float  # seconds
    _told: dict[CameraId, float] = field(default_factory=dict)  # when, in boot-time, it was told last

    def reports(self, cameras: Collection[CameraId]) -> dict[CameraId, StreamReport]:
        """What is to be told now of those that are given up."""
        now = self.clock.boot()
        self._told = {each: at for each, at in self._told.items() if each in cameras and now - at < self.every}
        untold = set(cameras) - self._told.keys()
        self._told |= dict.fromkeys(untold, now)
        return {camera_id: self._degraded(camera_id) for camera_id in untold}

    def _degraded(self, camera_id: CameraId) -> StreamReport:
        return StreamReport(
            camera_uuid=camera_id,
            runner_id=self.runner_id,
            state=StreamState.DISCONNECTED,
            substate=Substate.DEGRADED,
            ts=self.clock.wall(),
        )
