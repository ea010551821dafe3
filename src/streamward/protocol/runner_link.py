"""A runner's asks as messages, and messages as answers: what stands between `leases.holder` and any transport."""

from datetime import datetime

from streamward.leases.holder import Acquired, Answer, Ask, Beat, Flags, Released, Releasing
from streamward.leases.lease import DenialReason, Denied
from streamward.leases.store import Kept, Named, OpenClaim, Renewal, Renewed
from streamward.model.ids import CameraId, Generation
from streamward.model.runner import RunnerSpec
from streamward.protocol.handovers import AskHandovers, HandoverAnswers
from streamward.protocol.leases import (
    AcquireCameras,
    AcquiredCamera,
    CamerasAcquired,
    CamerasReleased,
    CamerasRenewed,
    Heartbeat,
    LeaseGivenBack,
    NamedLease,
    RegisterRunner,
    ReleaseCameras,
    RenewCameras,
    RenewedLease,
    RunnerFlags,
)
from streamward.protocol.problem import Problem

Request = RegisterRunner | AcquireCameras | RenewCameras | ReleaseCameras | Heartbeat | AskHandovers
Reply = RunnerFlags | CamerasAcquired | CamerasRenewed | CamerasReleased | HandoverAnswers | Problem

PATHS: dict[type[Request], str] = {
    RegisterRunner: "/v1/runners/register",
    AcquireCameras: "/v1/leases/cameras/acquire",
    RenewCameras: "/v1/leases/cameras/renew",
    ReleaseCameras: "/v1/leases/cameras/release",
    Heartbeat: "/v1/runners/heartbeat",
    AskHandovers: "/v1/handovers",
}
REPLIES: dict[type[Request], type[Reply]] = {
    RegisterRunner: RunnerFlags,
    AcquireCameras: CamerasAcquired,
    RenewCameras: CamerasRenewed,
    ReleaseCameras: CamerasReleased,
    Heartbeat: RunnerFlags,
    AskHandovers: HandoverAnswers,
}


def request(ask: Ask, *, at: datetime | None = None) -> Request:
    """The message that carries an ask; `at` is the time of a heartbeat by the runner's clock."""
    match ask.body:
        case RunnerSpec() as spec:
            return RegisterRunner(
                runner_id=spec.runner_id,
                incarnation=spec.incarnation,
                site_id=spec.site_id,
                policy=spec.policy,
                capacity_streams=spec.capacity,
            )
        case OpenClaim(owner=owner, limit=limit, beyond_share=beyond_share, echo=echo):
            return AcquireCameras(
                runner_id=owner.runner_id,
                incarnation=owner.incarnation,
                limit=limit,
                beyond_share=beyond_share,
                server_time_echo=echo,
            )
        case Renewal(owner=owner, leases=leases, echo=echo):
            named = [NamedLease(camera_uuid=each.camera_id, version=each.generation or 0) for each in leases]
            return RenewCameras(
                runner_id=owner.runner_id, incarnation=owner.incarnation, cameras=named, server_time_echo=echo
            )
        case Releasing(owner, leases):
            return ReleaseCameras(
                runner_id=owner.runner_id,
                incarnation=owner.incarnation,
                cameras=[_given_back(each) for each in leases],
            )
        case Beat(owner, streams_owned, making, load, answer_delay):
            return Heartbeat(
                runner_id=owner.runner_id,
                streams_owned=streams_owned,
                shards=load.shards,
                cpu_pct=load.cpu_pct,
                mem_mb=load.mem_mb,
                make=making.proven,
                tried_make=making.tried,
                make_problem=making.problem,
                answer_delay_s=answer_delay,
                ts=at,
            )


def answer(reply: Reply) -> Answer | None:
    """What a reply means to the runner's leases; None: nothing that they can act on."""
    match reply:
        case RunnerFlags():
            return Flags(capacity=reply.capacity_streams, cordoned=reply.cordoned, drain=reply.drain_mode)
        case CamerasAcquired():
            return Acquired(at=reply.server_time, leases=tuple(map(_kept, reply.leases)), more=reply.more)
        case CamerasRenewed():
            return Renewed(
                at=reply.server_time,
                kept=tuple(map(_kept, reply.renewed)),
                lost=tuple(map(CameraId, reply.lost)),
                busy=tuple(map(CameraId, reply.busy)),
                unlisted=tuple(Named(CameraId(each.camera_uuid), Generation(each.version)) for each in reply.unlisted),
            )
        case CamerasReleased():
            return Released(tuple(map(CameraId, reply.released)))
        case HandoverAnswers():
            return None
        case Problem():
            return Denied(DenialReason(reply.reason)) if reply.reason in set(DenialReason) else None


def _kept(lease: AcquiredCamera | RenewedLease) -> Kept:
    return Kept(CameraId(lease.camera_uuid), Generation(lease.version), lease.ttl_ms / 1000)


def _given_back(named: Named) -> LeaseGivenBack:
    return LeaseGivenBack(camera_uuid=named.camera_id, version=named.generation or 0, made_until=named.made_until)
