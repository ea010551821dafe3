"""The handover service: what a runner sees of cameras that it is to have, and which it may watch before it has them."""

from msgspec import UNSET

from streamward.control.courier import SourceCourier
from streamward.control.leasing import owner_of
from streamward.leases.handover import HandoverAsk
from streamward.leases.store import HandoverStore
from streamward.model.camera import Camera
from streamward.model.identity import Caller
from streamward.model.ids import CameraId, Generation
from streamward.protocol.handovers import AskHandovers, HandoverAnswers, WatchCamera
from streamward.protocol.leases import NamedLease
from streamward.protocol.problem import Problem


class HandoverService:
    """Messages in, messages out."""

    def __init__(self, store: HandoverStore, *, courier: SourceCourier) -> None:
        self._store = store
        self._courier = courier

    async def hand_over(self, caller: Caller, message: AskHandovers) -> HandoverAnswers | Problem:
        owner = owner_of(caller, message.runner_id, message.incarnation)
        if isinstance(owner, Problem):
            return owner
        ask = HandoverAsk(
            owner=owner,
            room=message.room,
            shown=frozenset(map(CameraId, message.shown)),
            refused=frozenset(map(CameraId, message.refused)),
        )
        told = await self._store.hand_over(ask)
        return HandoverAnswers(
            watch=[self._to_watch(camera, generation) for camera, generation in told.watch],
            awaited=sorted(told.handing.awaited),
            shown=sorted(told.handing.shown),
            moving=[
                NamedLease(camera_uuid=camera_id, version=generation)
                for camera_id, generation in sorted(told.handing.moving)
            ]
            or UNSET,
        )

    def _to_watch(self, camera: Camera, generation: Generation) -> WatchCamera:
        return WatchCamera(
            camera_uuid=camera.camera_id,
            tenant_id=camera.tenant_id,
            site_id=camera.site_id,
            version=generation,
            source=self._courier.source(camera),
        )
