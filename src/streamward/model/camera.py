"""A camera and the site it stands at."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from streamward.model.address_policy import EVERYWHERE, AddressPolicy
from streamward.model.ids import CameraId, SiteId, TenantId
from streamward.model.secret import MASK
from streamward.model.source_url import SourceKind
from streamward.model.vault import Sealed
from streamward.model.video import DecodeMode
from streamward.model.zone import Zone

DEFAULT_DIALS = 10  # first connections at once (S0-033)
DEFAULT_DIALS_PER_MINUTE = 120.0
UNDATED = datetime(1970, 1, 1, tzinfo=UTC)  # the store dates what it writes

_USERINFO = re.compile(r"(?<=://)[^/?#]*@")


class LeasePolicyName(StrEnum):
    """How long a runner's silence is borne; `leases.policy` has the numbers."""

    FAST = "fast"  # live cameras: another runner in seconds
    FASTER = "faster"  # live cameras whose runners have a short way to the control plane
    STICKY = "sticky"  # edge boxes with shaky links: wait for the old owner first
    TASK = "task"  # job engines


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A client's location: the unit of dial budgets and of lease policy."""

    site_id: SiteId
    tenant_id: TenantId
    policy: LeasePolicyName | None = None  # None: the runner's own
    addresses: AddressPolicy = EVERYWHERE
    tls_ca: str | None = None  # PEM: the CAs of its cameras' certificates; None: those of the runner's host
    dials: int = DEFAULT_DIALS  # the capacity of its dial budget
    dials_per_minute: float = DEFAULT_DIALS_PER_MINUTE
    updated_at: datetime = UNDATED
    revision: int = 0  # set by the store: rises with each change


@dataclass(frozen=True, slots=True, kw_only=True)
class Camera:
    """One live source."""

    camera_id: CameraId
    tenant_id: TenantId
    site_id: SiteId
    name: str | None = None  # by its tenant's choice, and unique in it
    rtsp_url: str = field(repr=False)  # without user and password, but for rows from before these were sealed
    sealed: Sealed | None = field(default=None, repr=False)  # these two, as `CredentialVault` sealed them
    credential_version: int = 0  # rises when they change
    tls_fingerprint: str | None = None  # SHA-256 of its certificate in lower case; None: judged by its issuer
    enabled: bool = True
    do_not_process: bool = False
    detector: str | None = None  # None: the runner's default
    max_fps: float | None = None  # None: as many frames as the runner can take
    decode: DecodeMode | None = None  # None: the runner's default
    detect_every_n_frames: int | None = None  # None: each of those that `max_fps` leaves
    zones: tuple[Zone, ...] = ()  # where in its picture things count; none: everywhere
    thresholds: tuple[tuple[str, float], ...] = ()  # how sure to be of which label, in the order of these
    labels: tuple[tuple[str, str], ...] = ()  # in the order of their names
    updated_at: datetime
    revision: int = 0  # set by the store: rises with each change

    @property
    def is_wanted(self) -> bool:
        """Whether a runner should hold it."""
        return self.enabled and not self.do_not_process

    def withdraws(self, before: "Camera") -> bool:
        """Whether this change takes the camera from its owner: not wanted any more, or another tenant's or site's."""
        is_moved = (self.tenant_id, self.site_id) != (before.tenant_id, before.site_id)
        return is_moved or (before.is_wanted and not self.is_wanted)

    @property
    def source_kind(self) -> SourceKind | None:
        """What its URL's scheme says it is; None: a URL from before these were checked."""
        scheme = self.rtsp_url.partition(":")[0]
        return SourceKind(scheme) if scheme in set(SourceKind) else None

    @property
    def shown_url(self) -> str:
        """The URL as anyone may see it: a user and password are there, but not told."""
        shown = without_credentials(self.rtsp_url)
        return shown if self.sealed is None else shown.replace("://", f"://{MASK}@", 1)


def without_credentials(url: str) -> str:
    """The URL as anyone may see it: user and password become `***`."""
    return _USERINFO.sub("***@", url)
