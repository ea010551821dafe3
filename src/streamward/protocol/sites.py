"""Sites and dial budgets on the wire (S0-033, S0-034)."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from streamward.model.address_policy import AddressPolicy, parse_network
from streamward.model.camera import DEFAULT_DIALS, DEFAULT_DIALS_PER_MINUTE, LeasePolicyName
from streamward.model.certificates import LARGEST_PEM, check_authorities
from streamward.model.source_url import NETWORK, SourceKind
from streamward.protocol.fields import Id, Message, Version

MOST_NETWORKS = 100
MOST_ADDED = 1_000_000

DialCapacity = Annotated[int, msgspec.Meta(ge=1, le=10_000)]
DialRate = Annotated[float, msgspec.Meta(gt=0, le=1_000_000, description="tokens per minute")]
LocalKind = Literal["device", "file", "null"]
LOCAL_KINDS: tuple[LocalKind, ...] = ("device", "file", "null")
AuthoritiesPem = Annotated[
    str,
    msgspec.Meta(
        max_length=LARGEST_PEM,
        pattern=r"^[\x09\x0a\x0d\x20-\x7e]*$",
        description="certificates in PEM: the CAs that issue those of the site's rtsps cameras, and no others do",
    ),
]
NetworkText = Annotated[str, msgspec.Meta(max_length=64, description="a network like 10.20.0.0/16, or an address")]


class NamedDial(Message, frozen=True):
    """Runner is about to make a first connection, or has made it; with camera and version a retry costs nothing.

    An empty body names no camera: each such call takes a token of its own.
    """

    camera_uuid: Id | None = None
    version: Version | None = None

    def __post_init__(self) -> None:
        if (self.camera_uuid is None) != (self.version is None):
            raise ValueError("camera_uuid and version go together")


class DialToken(Message, frozen=True):
    """Control plane: go; so many tokens are left."""

    site_id: str
    tokens: float
    reserve: float


class DialFinished(Message, frozen=True):
    """Control plane: the dial no longer counts as in flight; false if it had ended, or was not known."""

    site_id: str
    finished: bool


class BudgetQuery(Message, frozen=True):
    """Operator asks for a site's budget, and what it would be with so many cameras more; answered by SiteBudget."""

    add: Annotated[int, msgspec.Meta(ge=0, le=MOST_ADDED)] = 0


class SiteBudget(Message, frozen=True):
    """Control plane: a site's budget now; `refill_rate` is in tokens per minute.

    `waiting` are cameras that were not dialed yet under their present lease, or have none. `dialed_in_s` is how long
    the budget takes for all of them, and for those that were asked about; null: for ever.
    """

    site_id: str
    tokens: float
    capacity: int
    refill_rate: float
    reserve: float
    reserve_size: int
    in_flight: int
    waiting: int
    dialed_in_s: float | None
    updated_at: datetime


class SourceRules(Message, frozen=True):
    """Which sources a site's cameras may have.

    With an allow list nothing else is allowed; what is denied is denied in any case. Loopback, link-local, cloud
    metadata, multicast and the like need a network of their own in the allow list. `kinds` are those beside rtsp and
    rtsps.
    """

    allow: Annotated[list[NetworkText], msgspec.Meta(max_length=MOST_NETWORKS)] = msgspec.field(default_factory=list)
    deny: Annotated[list[NetworkText], msgspec.Meta(max_length=MOST_NETWORKS)] = msgspec.field(default_factory=list)
    kinds: list[LocalKind] = msgspec.field(default_factory=list)

    @property
    def policy(self) -> AddressPolicy:
        """As addresses are judged by; raises NetworkRefused."""
        return AddressPolicy(
            allow=tuple(map(parse_network, self.allow)),
            deny=tuple(map(parse_network, self.deny)),
            kinds=NETWORK | {SourceKind(kind) for kind in self.kinds},
        )


class SourceLimits(SourceRules, frozen=True):
    """Which sources a runner opens at all, whatever its cameras' sites allow.

    The same form as a site's rules; the kind `null` is always permitted. Files are opened only below one of `folders`,
    symbolic links resolved.
    """

    folders: list[str] = msgspec.field(default_factory=list)

    def __post_init__(self) -> None:
        if "file" in self.kinds and not self.folders:
            raise ValueError("the kind file needs at least one of `folders`")


class CreateSite(Message, frozen=True):
    """Operator adds a site; answered by SiteDetails. An operator of all tenants names the tenant."""

    site_id: Id
    tenant_id: Id | None = None
    policy: LeasePolicyName | None = None
    capacity: DialCapacity = DEFAULT_DIALS
    refill_rate: DialRate = DEFAULT_DIALS_PER_MINUTE
    sources: SourceRules = SourceRules()
    tls_ca: AuthoritiesPem | None = None

    def __post_init__(self) -> None:
        if self.tls_ca is not None:
            check_authorities(self.tls_ca)


class ChangeSite(Message, frozen=True):
    """Operator changes a site, and leaves alone what is not named; answered by SiteDetails."""

    policy: LeasePolicyName | UnsetType | None = UNSET
    capacity: DialCapacity | UnsetType = UNSET
    refill_rate: DialRate | UnsetType = UNSET
    sources: SourceRules | UnsetType = UNSET
    tls_ca: AuthoritiesPem | UnsetType | None = UNSET

    def __post_init__(self) -> None:
        if isinstance(self.tls_ca, str):
            check_authorities(self.tls_ca)


class SiteRemoved(Message, frozen=True):
    """Control plane: the site is gone."""

    site_id: str


class SiteDetails(Message, frozen=True):
    """Control plane: a site; without a `policy` its cameras are held by the runner's own.

    `limits` are those of the installation: a source must pass these too. One without a `tls_ca` has no such field:
    certificates of its cameras are judged by the CAs of the runner's host.
    """

    site_id: str
    tenant_id: str
    policy: LeasePolicyName | None
    capacity: int
    refill_rate: float
    sources: SourceRules
    limits: SourceRules
    updated_at: datetime
    tls_ca: str | UnsetType = UNSET


class SitePage(Message, frozen=True):
    """Control plane: sites in the order of their ids; `next_cursor` is null on the last page."""

    items: list[SiteDetails]
    next_cursor: str | None
