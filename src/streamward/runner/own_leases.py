"""The leases of a Worker that has no Manager: it takes those of its own cameras and keeps them, or does not run them.

The rules are the Manager's (`leases.holder`): a lease is trusted from before it was asked for, by the boot-time clock,
less a margin; not knowing means not holding; a frame from before the grant is nobody's.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from streamward.leases.fence import Stamp
from streamward.leases.lease import Owner
from streamward.leases.policy import FAST, RENEW_TIMEOUT, trusted_for
from streamward.model.ids import CameraId, Generation
from streamward.protocol.leases import (
    AcquireCamera,
    CamerasReleased,
    CamerasRenewed,
    GrantedLease,
    NamedLease,
    ReleaseCamera,
    RenewCameras,
)
from streamward.protocol.problem import Problem
from streamward.runtime.clock import Clock

RETRY_EVERY = 2.0  # seconds until a camera that somebody else has is asked for again


class Control(Protocol):
    """The control plane, one call at a time; None: it did not answer in time."""

    async def post(self, path: str, message: Any, kind: type[Any], *, within: float) -> Any | Problem | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    generation: Generation
    deadline: float
    told_at: datetime
    asked: float
    since: float


class OwnLeases:
    """What this Worker holds."""

    def __init__(self, owner: Owner, control: Control, *, clock: Clock, ttl: float = FAST.ttl) -> None:
        self._owner = owner
        self._control = control
        self._clock = clock
        self._ttl = ttl
        self._held: dict[CameraId, _Held] = {}
        self._wanted: set[CameraId] = set()
        self._newest: tuple[datetime, float] | None = None  # the database's time, and the boot-time of its ask

    def want(self, camera_id: CameraId) -> None:
        """A camera to be held from now on."""
        self._wanted.add(camera_id)

    def holds(self, camera_id: CameraId) -> bool:
        """Whether a camera may be run now."""
        held = self._held.get(camera_id)
        return held is not None and self._clock.boot() < held.deadline

    def stamp(self, camera_id: CameraId, *, arrived: float, now: float) -> Stamp | None:
        held = self._held.get(camera_id)
        if held is None or now >= held.deadline or arrived < held.since:
            return None
        made_at = held.told_at + timedelta(seconds=arrived - held.asked)
        return Stamp(camera_id=camera_id, generation=held.generation, owner=self._owner, made_at=made_at)

    def database_time(self, boot: float) -> datetime:
        if self._newest is None:
            return datetime.now(UTC)
        at, asked = self._newest
        return at + timedelta(seconds=boot - asked)

    async def tick(self) -> float:
        """Renews what is held and asks for what is not; returns in how many seconds to do it again."""
        await self._renew()
        for camera_id in sorted(self._wanted):
            if not self.holds(camera_id):
                await self._acquire(camera_id)
        return min(FAST.renew_every, RETRY_EVERY)

    async def give_back(self, until: Callable[[], Awaitable[None]] | None = None) -> None:
        """Releases everything, once nothing is made under it any more."""
        if until is not None:
            await until()
        held, self._held = self._held, {}
        self._wanted.clear()
        await asyncio.gather(*(self._release(camera_id, lease) for camera_id, lease in held.items()))

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
            self._take(camera_id, answer.version, answer.ttl_ms / 1000, at=answer.server_time, asked=asked)

    async def _renew(self) -> None:
        if not self._held:
            return
        asked = self._clock.boot()
        named = [NamedLease(camera_uuid=each, version=held.generation) for each, held in self._held.items()]
        message = RenewCameras(runner_id=self._owner.runner_id, cameras=named, incarnation=self._owner.incarnation)
        answer = await self._control.post("/v1/leases/cameras/renew", message, CamerasRenewed, within=RENEW_TIMEOUT)
        if isinstance(answer, CamerasRenewed):
            for lost in answer.lost:
                self._held.pop(CameraId(lost), None)
            for kept in answer.renewed:
                self._take(
                    CameraId(kept.camera_uuid), kept.version, kept.ttl_ms / 1000, at=answer.server_time, asked=asked
                )

    async def _release(self, camera_id: CameraId, held: _Held) -> None:
        message = ReleaseCamera(
            runner_id=self._owner.runner_id,
            camera_uuid=camera_id,
            version=held.generation,
            incarnation=self._owner.incarnation,
        )
        await self._control.post("/v1/leases/camera/release", message, CamerasReleased, within=RENEW_TIMEOUT)

    def _take(self, camera_id: CameraId, version: int, ttl: float, *, at: datetime, asked: float) -> None:
        known = self._held.get(camera_id)
        is_same = known is not None and known.generation == version
        self._newest = (at, asked)
        self._held[camera_id] = _Held(
            generation=Generation(version),
            deadline=asked + trusted_for(ttl),
            told_at=at,
            asked=asked,
            since=known.since if known is not None and is_same else self._clock.boot(),
        )
