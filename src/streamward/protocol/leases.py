"""Runner → control plane and back: leases, in S0's spelling (`version` is the generation, `owner_id` the runner)."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from streamward.leases.holder import MOST_ASKED
from streamward.model.camera import LeasePolicyName
from streamward.model.runner import LONGEST_PROBLEM, DrainMode
from streamward.model.video import DecodeMode
from streamward.protocol.fields import (
    Capacity,
    ClearText,
    Id,
    Instant,
    Message,
    TtlSeconds,
    Version,
    check_repeats,
    check_year,
)
from streamward.protocol.seeing import ZoneShape

MAX_NAMED = 10_000  # leases in one message
Make = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]  # as large as its column


class AcquireCamera(Message, frozen=True):
    """Runner asks for one camera; answered by GrantedLease, or 409 while somebody else has it."""

    runner_id: Id
    camera_uuid: Id
    ttl_seconds: TtlSeconds
    incarnation: Id | None = None
    server_time_echo: Instant | None = None  # as in RenewCameras; too old or ahead: 409, `busy`

    def __post_init__(self) -> None:
        check_year(self.server_time_echo)


class RenewCamera(Message, frozen=True):
    """Runner keeps one camera; answered by CameraLease, or 404 when it is not the owner: stop that camera."""

    runner_id: Id
    camera_uuid: Id
    ttl_seconds: TtlSeconds
    version: Version | None = None
    incarnation: Id | None = None
    server_time_echo: Instant | None = None  # as in RenewCameras

    def __post_init__(self) -> None:
        check_year(self.server_time_echo)


class ReleaseCamera(Message, frozen=True):
    """Runner gives one camera back; answered by CamerasReleased, also when it was not its own any more."""

    runner_id: Id
    camera_uuid: Id
    version: Version | None = None
    incarnation: Id | None = None


class CameraLease(Message, frozen=True):
    """Control plane: this is yours until `ttl_ms` after you asked, less your margin."""

    camera_uuid: str
    owner_id: str
    expires_at: datetime
    version: int
    ttl_ms: int
    server_time: datetime


class CameraSource(Message, frozen=True, omit_defaults=True):
    """Control plane, to the runner that holds the camera's lease only: where to dial, and what to log in with.

    `credential_version` rises when user or password change. Without a `detector` the runner's own looks at it. A camera
    may have moved to another site since it was granted. `revision` is the camera's, as changes of it are told with.
    What has its default is left out, so that a runner from before a field reads all cameras that do without it.
    """

    rtsp_url: str
    username: ClearText | None
    password: ClearText | None
    credential_version: int
    detector: str | None = None
    max_fps: float | None = None
    decode: DecodeMode | None = None
    detect_every_n_frames: int | None = None
    zones: list[ZoneShape] = msgspec.field(default_factory=list)
    thresholds: dict[str, float] = msgspec.field(default_factory=dict)
    tls_fingerprint: str | None = None
    site_id: str | None = None
    revision: int | None = None


class GrantedLease(CameraLease, frozen=True):
    """Control plane: the camera is yours, as in CameraLease, and this is its source.

    Without one its credential cannot be opened; an operator has to give it again.
    """

    source: CameraSource | None


class AcquireCameras(Message, frozen=True):
    """Runner asks for up to `limit` free cameras; answered by CamerasAcquired.

    It is given no more than its share among the runners that were heard lately, unless it asks for more than that.
    """

    runner_id: Id
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_ASKED)]
    incarnation: Id | None = None
    beyond_share: bool = False
    server_time_echo: Instant | None = None  # as in AcquireCamera

    def __post_init__(self) -> None:
        check_year(self.server_time_echo)


class AcquiredCamera(Message, frozen=True):
    """One camera of CamerasAcquired."""

    camera_uuid: str
    tenant_id: str
    site_id: str
    version: int
    ttl_ms: int
    expires_at: datetime
    source: CameraSource | None


class CamerasAcquired(Message, frozen=True):
    """Control plane: these are yours now; `more` says that free ones are left, for you or for others."""

    server_time: datetime
    leases: list[AcquiredCamera]
    more: bool


class NamedLease(Message, frozen=True):
    """One exact grant."""

    camera_uuid: Id
    version: Version


class RenewCameras(Message, frozen=True):
    """Runner keeps all that it holds; answered by CamerasRenewed.

    `server_time_echo` is the newest `server_time` of a renewal's answer that the runner received (before the first one:
    of its first grant). A lease is extended only while that is at most its ttl old and at most 1 s ahead; otherwise it
    is `busy`. Without an echo every renewal extends, also one whose answers never arrive.
    """

    runner_id: Id
    cameras: Annotated[list[NamedLease], msgspec.Meta(max_length=MAX_NAMED)]
    incarnation: Id | None = None
    server_time_echo: Instant | None = None

    def __post_init__(self) -> None:
        check_year(self.server_time_echo)


class RenewedLease(Message, frozen=True):
    """One lease of CamerasRenewed."""

    camera_uuid: str
    version: int
    ttl_ms: int


class CamerasRenewed(Message, frozen=True):
    """Control plane: kept, lost (stop at once), busy (ask again at once), and held by you, though not named."""

    server_time: datetime
    renewed: list[RenewedLease]
    lost: list[str]
    busy: list[str]
    unlisted: list[NamedLease]


class LeaseGivenBack(Message, frozen=True):
    """One lease of ReleaseCameras: nothing was stamped later than `made_until`."""

    camera_uuid: Id
    version: Version
    made_until: Instant | None = None

    def __post_init__(self) -> None:
        check_year(self.made_until)


class ReleaseCameras(Message, frozen=True):
    """Runner gives cameras back, each once; answered by CamerasReleased."""

    runner_id: Id
    cameras: Annotated[list[LeaseGivenBack], msgspec.Meta(max_length=MAX_NAMED)]
    incarnation: Id | None = None

    def __post_init__(self) -> None:
        check_repeats((each.camera_uuid for each in self.cameras), most=1)


class CamerasReleased(Message, frozen=True):
    """Control plane: these were yours and are free now."""

    released: list[str]


class RegisterRunner(Message, frozen=True):
    """Runner started a new incarnation, which ends every earlier one; answered by RunnerFlags."""

    runner_id: Id
    incarnation: Id | None = None
    site_id: Id | None = None
    policy: LeasePolicyName | None = None
    capacity_streams: Capacity | None = None


class ReleaseAll(Message, frozen=True):
    """Runner gives everything back and ends this incarnation; answered by CamerasReleased."""

    runner_id: Id
    incarnation: Id | None = None


class Heartbeat(Message, frozen=True):
    """Runner lives (S0-025), every second; answered by RunnerFlags."""

    runner_id: Id
    streams_owned: Annotated[int, msgspec.Meta(ge=0)]
    shards: Annotated[int, msgspec.Meta(ge=0)] = 0
    cpu_pct: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    mem_mb: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    make: Make = 0  # of its Workers: the latest that is known to work
    tried_make: Make = 0  # the latest that it was told of
    make_problem: Annotated[str, msgspec.Meta(max_length=LONGEST_PROBLEM)] | None = None  # why it refused that one
    answer_delay_s: Annotated[float, msgspec.Meta(ge=0)] | None = None  # while answers come too late to keep a lease
    ts: Instant | None = None
    type: Literal["runner.heartbeat"] = "runner.heartbeat"


class RunnerFlags(Message, frozen=True):
    """Control plane: what operators want of the runner (S0-072), and how it stands."""

    runner_id: str
    cordoned: bool
    drain_mode: DrainMode
    capacity_streams: int
    incarnation: str | None
    site_id: str | None
    policy: LeasePolicyName
    last_seen_at: datetime
    make: int = 0  # of its Workers, as it is wanted: rises with each rollout
    detector: str | None = None  # of that make; null: the runner's own setting
    earlier_detector: str | None = None  # to go back to
    proven_make: int = 0  # what the runner has come to
    tried_make: int = 0  # the latest that it knows of
    make_problem: str | None = None  # why it refused that one


class ReclaimCamera(Message, frozen=True):
    """Operator takes an expired lease from its owner before its soft window ends; answered by CamerasReleased."""

    camera_uuid: Id
    version: Version
