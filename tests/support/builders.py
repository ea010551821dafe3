"""Values for tests: `a_lease(…)`, `an_owner(…)`; each has sound defaults, a test names only what it is about."""

from datetime import UTC, datetime, timedelta

from streamward.leases.clock_guard import ClockView
from streamward.leases.dialing import Bucket
from streamward.leases.lease import Grant, Lease, Owner, SessionState
from streamward.leases.policy import Terms
from streamward.leases.sharding import OwnedCamera
from streamward.leases.store import Orphan, SiteLoad
from streamward.model.camera import Camera, LeasePolicyName, Site
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId, SiteId, TenantId
from streamward.model.runner import DrainMode, Runner, RunnerSpec
from streamward.model.status import StreamState, StreamStatus
from streamward.protocol.events import DetectionEvent, Latency

START = datetime(2026, 1, 1, tzinfo=UTC)

CAMERA = CameraId("cam-1")
SITE = SiteId("site-1")
TENANT = TenantId("tenant-1")


def at(seconds: float) -> datetime:
    """So many seconds after the start."""
    return START + timedelta(seconds=seconds)


def steady(now: datetime) -> ClockView:
    """A clock that has run as expected for long, and may judge at `now`."""
    return ClockView(expected_at=now, steady_for=1e6)


def an_owner(runner_id: str = "runner-1", *, incarnation: str = "inc-1") -> Owner:
    return Owner(RunnerId(runner_id), Incarnation(incarnation))


def terms(*, ttl: float = 8.0, soft_for: float = 0.0) -> Terms:
    return Terms(ttl=ttl, soft_for=soft_for)


def a_lease(*, owner: Owner | None = None, state: SessionState = SessionState.ACTIVE, soft_for: float = 0.0) -> Lease:
    """A lease of generation 1, granted at the start for 8 s."""
    return Lease(
        camera_id=CAMERA,
        generation=Generation(1),
        owner=owner or an_owner(),
        state=state,
        ttl=8.0,
        soft_for=soft_for,
        granted_at=START,
        expires_at=at(8),
    )


def a_grant(
    generation: int,
    *,
    granted_at: datetime,
    owner: Owner | None = None,
    ended_at: datetime | None = None,
    made_until: datetime | None = None,
) -> Grant:
    return Grant(
        camera_id=CAMERA,
        generation=Generation(generation),
        owner=owner or an_owner(),
        tenant_id=TENANT,
        site_id=SITE,
        granted_at=granted_at,
        ended_at=ended_at,
        made_until=made_until,
    )


def a_camera(
    camera_id: str = CAMERA,
    *,
    enabled: bool = True,
    do_not_process: bool = False,
    site: str = SITE,
    tenant: str = TENANT,
) -> Camera:
    return Camera(
        camera_id=CameraId(camera_id),
        tenant_id=TenantId(tenant),
        site_id=SiteId(site),
        rtsp_url="rtsp://192.0.2.1/stream",
        enabled=enabled,
        do_not_process=do_not_process,
        updated_at=START,
    )


def a_runner(*, cordoned: bool = False, drain: DrainMode = DrainMode.NONE) -> Runner:
    return Runner(
        runner_id=RunnerId("runner-1"),
        incarnation=Incarnation("inc-1"),
        tenant_id=None,
        site_id=None,
        policy=LeasePolicyName.FAST,
        capacity=40,
        cordoned=cordoned,
        drain=drain,
        last_seen_at=START,
        revision=1,
    )


def a_bucket(*, tokens: float = 10.0, reserve: float = 0.0, reserve_size: int = 0, per_minute: float = 120.0) -> Bucket:
    return Bucket(tokens=tokens, reserve=reserve, reserve_size=reserve_size, per_minute=per_minute, updated_at=START)


def an_orphan(camera_id: str = CAMERA, *, expires_at: datetime, soft_for: float) -> Orphan:
    return Orphan(
        camera_id=CameraId(camera_id),
        generation=Generation(1),
        site_id=SITE,
        expires_at=expires_at,
        soft_for=soft_for,
    )


def a_load(*, unowned: int = 0, free_slots: int = 0, now: datetime) -> SiteLoad:
    return SiteLoad(unowned=unowned, free_slots=free_slots, runners=1, at=now)


def an_owned_camera(camera_id: str, *, site: str = SITE, tenant: str = TENANT) -> OwnedCamera:
    return OwnedCamera(camera_id=CameraId(camera_id), site_id=SiteId(site), tenant_id=TenantId(tenant))


def a_site(site_id: str = SITE, *, tenant: str = TENANT, policy: LeasePolicyName | None = None) -> Site:
    return Site(site_id=SiteId(site_id), tenant_id=TenantId(tenant), policy=policy)


def a_spec(
    owner: Owner | None = None,
    *,
    site: str | None = None,
    tenant: str | None = None,
    policy: LeasePolicyName = LeasePolicyName.FAST,
    capacity: int | None = None,
) -> RunnerSpec:
    """What that owner's runner says when it registers."""
    owner = owner or an_owner()
    return RunnerSpec(
        runner_id=owner.runner_id,
        incarnation=owner.incarnation,
        site_id=None if site is None else SiteId(site),
        tenant_id=None if tenant is None else TenantId(tenant),
        policy=policy,
        capacity=capacity,
    )


def a_status(
    camera_id: str = CAMERA,
    *,
    owner: Owner | None = None,
    state: StreamState = StreamState.STREAMING,
    generation: int | None = None,
) -> StreamStatus:
    return StreamStatus(
        camera_id=CameraId(camera_id),
        runner_id=(owner or an_owner()).runner_id,
        state=state,
        ts=START,
        generation=None if generation is None else Generation(generation),
    )


def an_event() -> DetectionEvent:
    return DetectionEvent(
        ts=datetime(2026, 11, 16, tzinfo=UTC),
        runner_id="r1",
        shard_id="s0",
        tenant_id="t-01",
        site_id="site-1",
        camera_uuid="cam-1",
        frame_id=7,
        fps=5.0,
        detections=[],
        latency=Latency(inference_s=0.1, e2e_s=0.2),
        generation=3,
        epoch=1,
        incarnation="inc-1",
        seq=9,
        event_id="cam-1.3.1.7",
    )
