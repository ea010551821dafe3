"""The leases of a Worker that has no Manager: it takes those of its own cameras and keeps them, or does not run them.

What may be trusted and how things are dated is `leases.held`, as for a Manager. Not knowing means not holding.
"""

import asyncio
from datetime import datetime
from typing import Any, Protocol

from streamward.leases.fence import Stamp
from streamward.leases.held import Held, heard
from streamward.leases.lease import Owner
from streamward.leases.policy import FAST, RENEW_TIMEOUT
from streamward.leases.store import Kept
from streamward.model.ids import CameraId, Generation
from streamward.protocol.leases import (
    AcquireCamera,
    CamerasReleased,
    CamerasRenewed,
    GrantedLease,
    LeaseGivenBack,
    NamedLease,
    ReleaseCameras,
    RenewCameras,
)
from streamward.protocol.problem import Problem
from streamward.runner.facts import LeasesRenewed
from streamward.runtime.clock import Clock
from streamward.runtime.journal import Journal

RETRY_EVERY = 2.0  # seconds until a camera that somebody else has is asked for again
LOOK_EVERY = 0.1  # seconds until it is looked at again whether anything is wanted yet
AGAIN_AFTER = 0.5  # seconds after a renewal that was not answered, or not for each lease


class Control(Protocol):
    """The control plane, one call at a time; None: it did not answer in time."""

    async def post(self, path: str, message: Any, kind: type[Any], *, within: float) -> Any | Problem | None: ...


class OwnLeases:
    """What this Worker holds."""

    def __init__(
        self, owner: Owner, control: Control, *, clock: Clock, journal: Journal | None = None, ttl: float = FAST.ttl
    ) -> None:
        self._journal = journal or Journal()
        self._owner = owner
        self._control = control
        self._clock = clock
        self._ttl = ttl
        self._held: dict[CameraId, Held] = {}
        self._stamped_until: dict[CameraId, datetime] = {}  # of the generation that is held
        self._wanted: set[CameraId] = set()
        self._newest: Held | None = None  # of any camera: the newest word of the database's time

    def want(self, camera_id: CameraId) -> None:
        """A camera to be held from now on."""
        self._wanted.add(camera_id)

    def generation(self, camera_id: CameraId) -> Generation | None:
        """Under which generation a camera may be run now; None: under none."""
        held = self._held.get(camera_id)
        return held.generation if held is not None and held.is_trusted(self._clock.boot()) else None

    def holds(self, camera_id: CameraId) -> bool:
        """Whether a camera may be run now."""
        return self.generation(camera_id) is not None

    def stamp(self, camera_id: CameraId, *, arrived: float, now: float) -> Stamp | None:
        held = self._held.get(camera_id)
        stamp = None if held is None else held.stamp(camera_id, self._owner, arrived=arrived, now=now)
        if stamp is not None:
            self._stamped_until[camera_id] = max(stamp.made_at, self._stamped_until.get(camera_id, stamp.made_at))
        return stamp

    def database_time(self, boot: float) -> datetime:
        return self._clock.wall() if self._newest is None else self._newest.database_time(boot)

    async def tick(self) -> float:
        """Renews what is held and asks for what is not; returns in how many seconds to do it again."""
        if not self._wanted:
            return LOOK_EVERY
        missing = [camera_id for camera_id in sorted(self._wanted) if not self.holds(camera_id)]
        # One after the other, slow answers would cost what is held.
        is_answered, *_ = await asyncio.gather(self._renew(), *map(self._acquire, missing))
        return min(FAST.renew_every, RETRY_EVERY) if is_answered else AGAIN_AFTER

    async def give_back(self) -> None:
        """Releases everything; to be called when nothing is made under it any more."""
        given = [
            LeaseGivenBack(camera_uuid=each, version=held.generation, made_until=self._stamped_until.get(each))
            for each, held in self._held.items()
        ]
        self._held.clear()
        self._wanted.clear()
        message = ReleaseCameras(runner_id=self._owner.runner_id, cameras=given, incarnation=self._owner.incarnation)
        await self._control.post("/v1/leases/cameras/release", message, CamerasReleased, within=RENEW_TIMEOUT)

    async def _acquire(self, camera_id: CameraId) -> None:
        asked = self._clock.boot()
        message = AcquireCamera(
            runner_id=self._owner.runner_id,
            camera_uuid=camera_id,
            ttl_seconds=self._ttl,
            incarnation=self._owner.incarnation,
        )
        answer = await self._control.post("/v1/leases/camera/acquire", message, GrantedLease, within=RENEW_TIMEOUT)
        if isinstance(answer, GrantedLease):
            kept = Kept(camera_id, Generation(answer.version), answer.ttl_ms / 1000)
            self._take(kept, at=answer.server_time, asked=asked)

    async def _renew(self) -> bool:
        """Returns whether that was answered, for each of them."""
        if not self._held:
            return True
        asked = self._clock.boot()
        named = [NamedLease(camera_uuid=each, version=held.generation) for each, held in self._held.items()]
        message = RenewCameras(runner_id=self._owner.runner_id, cameras=named, incarnation=self._owner.incarnation)
        answer = await self._control.post("/v1/leases/cameras/renew", message, CamerasRenewed, within=RENEW_TIMEOUT)
        if isinstance(answer, CamerasRenewed):
            self._journal.record(LeasesRenewed(duration_ms=(self._clock.boot() - asked) * 1000))
            for lost in answer.lost:
                self._held.pop(CameraId(lost), None)
            for each in answer.renewed:
                kept = Kept(CameraId(each.camera_uuid), Generation(each.version), each.ttl_ms / 1000)
                self._take(kept, at=answer.server_time, asked=asked)
        return isinstance(answer, CamerasRenewed) and not answer.busy

    def _take(self, kept: Kept, *, at: datetime, asked: float) -> None:
        known = self._held.get(kept.camera_id)
        if known is None or known.generation != kept.generation:
            self._stamped_until.pop(kept.camera_id, None)
        held = heard(kept, at=at, asked=asked, now=self._clock.boot(), known=known)
        self._held[kept.camera_id] = self._newest = held
