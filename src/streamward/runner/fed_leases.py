"""The leases of a Worker that has a Manager: what it was last told of them, and nothing that it asks for itself.

A Worker that is not fed stops by itself: no frame is stamped after its lease's deadline.
"""

from collections.abc import Iterable
from datetime import datetime

from streamward.leases.fence import Stamp
from streamward.leases.held import Held
from streamward.leases.lease import Owner
from streamward.model.ids import CameraId
from streamward.protocol.worker_link import FedLease, held
from streamward.runtime.clock import Clock


class FedLeases:
    """What this Worker was told that its runner holds."""

    def __init__(self, owner: Owner, *, clock: Clock) -> None:
        self._owner = owner
        self._clock = clock
        self._held: dict[CameraId, Held] = {}
        self._newest: Held | None = None

    def feed(self, leases: Iterable[FedLease]) -> None:
        """Takes in what the Manager said; of two words about a camera the one that was asked for later counts."""
        for each in leases:
            told, known = held(each), self._held.get(CameraId(each.camera_uuid))
            if known is None or told.asked >= known.asked:
                self._held[CameraId(each.camera_uuid)] = told
            if self._newest is None or told.asked >= self._newest.asked:
                self._newest = told

    def forget(self, camera_id: CameraId) -> None:
        """A camera that is watched no more."""
        self._held.pop(camera_id, None)

    def expired(self) -> list[CameraId]:
        """The cameras whose leases may not be used any more."""
        now = self._clock.boot()
        return [camera_id for camera_id, each in self._held.items() if not each.is_trusted(now)]

    def stamp(self, camera_id: CameraId, *, arrived: float, now: float) -> Stamp | None:
        """Under which lease a frame arrived; None: under none that is trusted."""
        known = self._held.get(camera_id)
        return None if known is None else known.stamp(camera_id, self._owner, arrived=arrived, now=now)

    def database_time(self, boot: float) -> datetime:
        """The database's time at that boot-time, as well as it is known."""
        return self._clock.wall() if self._newest is None else self._newest.database_time(boot)
