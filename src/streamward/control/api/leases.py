"""Who may process which camera: S0's three calls, their batch forms, and the operator's reclaim."""

from streamward.control.api.cameras import UNKNOWN
from streamward.control.api.routing import Access, Routes
from streamward.control.handing import HandoverService
from streamward.control.leasing import LeaseService
from streamward.leases.store import CameraStore
from streamward.model.identity import Author, Caller
from streamward.model.ids import CameraId
from streamward.protocol import leases as wire
from streamward.protocol.handovers import AskHandovers, HandoverAnswers
from streamward.protocol.problem import Problem

_ENDED = "The incarnation has ended: start anew and register"


def add_leases(routes: Routes, service: LeaseService, *, cameras: CameraStore, handovers: HandoverService) -> None:
    """Adds the routes about leases."""
    _add_batch(routes, service)
    _add_single(routes, service)
    _add_handovers(routes, handovers)

    @routes.post(
        "/v1/leases/reclaim",
        access=Access.OPERATOR,
        refuses={404: "There is no such camera", 409: "The grant has not expired, or is not the newest"},
    )
    async def reclaim_camera(author: Author, message: wire.ReclaimCamera) -> wire.CamerasReleased | Problem:
        """Takes an expired lease from its owner before its soft window ends."""
        camera = await cameras.find_camera(CameraId(message.camera_uuid), scope=author.tenant_id)
        return UNKNOWN if camera is None else await service.reclaim(message, camera=camera, author=author)


def _add_handovers(routes: Routes, service: HandoverService) -> None:
    @routes.post("/v1/handovers", access=Access.RUNNER)
    async def ask_handovers(caller: Caller, message: AskHandovers) -> HandoverAnswers | Problem:
        """Takes in what a runner sees of the cameras that it is to have, and says which it may watch before that."""
        return await service.hand_over(caller, message)


def _add_single(routes: Routes, service: LeaseService) -> None:
    @routes.post(
        "/v1/leases/camera/acquire",
        access=Access.RUNNER,
        refuses={404: "There is no such camera", 409: "Somebody else holds a fresh lease, or the runner may not"},
    )
    async def acquire_camera(caller: Caller, message: wire.AcquireCamera) -> wire.GrantedLease | Problem:
        """Takes one camera."""
        return await service.acquire(caller, message)

    @routes.post(
        "/v1/leases/camera/renew",
        access=Access.RUNNER,
        refuses={
            404: "Not the owner: stop that camera",
            409: "Locked just now, or the echoed time is too old: ask again",
        },
    )
    async def renew_camera(caller: Caller, message: wire.RenewCamera) -> wire.CameraLease | Problem:
        """Keeps one camera."""
        return await service.renew(caller, message)

    @routes.post("/v1/leases/camera/release", access=Access.RUNNER)
    async def release_camera(caller: Caller, message: wire.ReleaseCamera) -> wire.CamerasReleased | Problem:
        """Gives one camera back; also answers 200 when it was not the runner's any more."""
        return await service.release(caller, message)


def _add_batch(routes: Routes, service: LeaseService) -> None:
    @routes.post("/v1/leases/cameras/renew", access=Access.RUNNER, refuses={409: _ENDED})
    async def renew_cameras(caller: Caller, message: wire.RenewCameras) -> wire.CamerasRenewed | Problem:
        """Keeps all that a runner holds."""
        return await service.renew_many(caller, message)

    @routes.post(
        "/v1/leases/cameras/acquire", access=Access.RUNNER, refuses={409: "The runner may take no lease just now"}
    )
    async def acquire_cameras(caller: Caller, message: wire.AcquireCameras) -> wire.CamerasAcquired | Problem:
        """Takes up to so many free cameras."""
        return await service.acquire_free(caller, message)

    @routes.post("/v1/leases/cameras/release", access=Access.RUNNER)
    async def release_cameras(caller: Caller, message: wire.ReleaseCameras) -> wire.CamerasReleased | Problem:
        """Gives several cameras back."""
        return await service.release(caller, message)
