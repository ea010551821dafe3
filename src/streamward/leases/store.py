"""What the core asks of a database: small ports, one for each noun, and the values that cross them.

A store object is one control plane's way into the database. It carries that control plane's clock guard, tells
database time in every answer, and makes each change in one conditional statement or one transaction. Rows of a tenant
are reached through that tenant's scope (`None`: every tenant) or through a runner, whose row carries its tenant.

One conformance suite holds every driver to the rules in `leases.lease`, `leases.dialing` and `leases.logins`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from streamward.leases.dialing import Bucket, DialGranted, DialRefused
from streamward.leases.handover import HandoverAsk, HandoversTold
from streamward.leases.lease import Denied, Grant, Lease, Owner, SessionState
from streamward.leases.login_talk import LoginsJudged, LoginTalk
from streamward.leases.logins import LoginId, LoginRecord
from streamward.leases.rebalance import Rebalance, RebalanceAsk
from streamward.model.camera import Camera, Site
from streamward.model.errors import StreamwardError
from streamward.model.ids import CameraId, Generation, RunnerId, SiteId, TenantId
from streamward.model.register import IdentityStore, Note, Outbox, Register
from streamward.model.runner import AS_STARTED, Making, Runner, RunnerSpec
from streamward.model.status import StreamStatus
from streamward.model.tenant import TenantDeletions
from streamward.model.vault import Sealed

EVERY = 2**31 - 1  # rows


class StoreUnavailable(StreamwardError):
    """The database does not answer; what was asked of it may or may not have happened."""

    def __str__(self) -> str:
        return "the database does not answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A runner asks for one named camera."""

    owner: Owner
    camera_id: CameraId
    ttl: float | None = None  # None: the policy's
    echo: datetime | None = None  # as in `Renewal`: what it holds already is extended only if that fits


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenClaim:
    """A runner asks for up to `limit` free cameras of its share."""

    owner: Owner
    limit: int
    beyond_share: bool = False  # also for what is others' to take: they had their time
    echo: datetime | None = None  # as in `Claim`


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """Leases given, each with its camera, and the database's time at that moment."""

    leases: tuple[tuple[Lease, Camera], ...]
    at: datetime
    more: bool = False  # free cameras are left, its own share or others': ask again soon
    changed: tuple[CameraId, ...] = ()  # those that got a new generation, not merely more time


@dataclass(frozen=True, slots=True)
class Named:
    """One exact grant, as a runner names it (without a generation: whatever it holds of that camera)."""

    camera_id: CameraId
    generation: Generation | None
    made_until: datetime | None = None  # on release: the last moment its owner stamped


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """A runner renews what it holds."""

    owner: Owner
    leases: tuple[Named, ...]
    ttl: float | None = None  # None: each lease's own
    echo: datetime | None = None  # database time of the newest renewal's answer that arrived; None: not given


@dataclass(frozen=True, slots=True)
class Kept:
    """A lease that was renewed."""

    camera_id: CameraId
    generation: Generation
    ttl: float

    def expires_at(self, renewed_at: datetime) -> datetime:
        """When it expires, renewed at that database time."""
        return renewed_at + timedelta(seconds=self.ttl)


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewed:
    """What became of a renewal, camera by camera."""

    at: datetime
    kept: tuple[Kept, ...]
    lost: tuple[CameraId, ...]  # not the owner's any more, or no longer wanted: stop at once
    busy: tuple[CameraId, ...]  # locked just now, or the echo was too old: ask again at once
    unlisted: tuple[Named, ...]  # held by this owner, but not named: it should release what it does not know


@dataclass(frozen=True, slots=True, kw_only=True)
class Lapse:
    """What the keeper's scan found."""

    orphaned: tuple[CameraId, ...]
    next_expiry_in: float | None  # seconds of database time; None: nothing is leased
    clock_jumped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """An expired lease inside its soft window, or past it."""

    camera_id: CameraId
    generation: Generation
    site_id: SiteId
    expires_at: datetime
    soft_for: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteLoad:
    """How much a site needs, and how much its healthy runners could still take."""

    unowned: int
    free_slots: int
    runners: int  # healthy and eligible, full or not
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseCounts:
    """Numbers for metrics."""

    leased: int
    free: int
    orphaned: int


class LeaseStore(Protocol):
    """Who owns which camera."""

    async def acquire(self, claim: Claim) -> Granted | Denied: ...
    async def acquire_free(self, claim: OpenClaim) -> Granted | Denied: ...
    async def renew(self, renewal: Renewal) -> Renewed | Denied: ...
    async def release(self, owner: Owner, leases: Sequence[Named]) -> tuple[CameraId, ...]: ...
    async def lapse(self) -> Lapse: ...
    async def orphans(self) -> list[Orphan]: ...
    async def reclaim(self, camera_id: CameraId, generation: Generation, *, note: Note | None = None) -> bool:
        """Frees an expired lease; a person's doing is noted with it."""
        ...


class HandoverStore(Protocol):
    """Who may watch a camera before it holds it."""

    async def hand_over(self, ask: HandoverAsk) -> HandoversTold:
        """Takes in what a runner tells, gives it what it may watch; nothing to an incarnation that has ended."""
        ...

    async def rebalance(self, ask: RebalanceAsk) -> Rebalance:
        """Plans a round of moves and stores their handovers; a dry run stores nothing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseFilter:
    """Which leases to list, in the order of their cameras, after the one named."""

    scope: TenantId | None  # the caller's tenant; None sees all
    site_id: SiteId | None = None
    runner_id: RunnerId | None = None
    state: SessionState | None = None
    after: CameraId | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedLease:
    """A lease, whose camera it is about, and what was last reported of the stream, by its owner or one before.

    It has no owner if that was granted the camera for another tenant, which had a camera of this id before.
    """

    lease: Lease
    tenant_id: TenantId
    site_id: SiteId
    status: StreamStatus | None = None


class LeaseRecords(Protocol):
    """What the store knows of ownership, present and past."""

    async def find(self, camera_id: CameraId) -> Lease | None: ...
    async def leases(self, wanted: LeaseFilter) -> list[PlacedLease]:
        """Leases of cameras that there are, granted or not."""
        ...

    async def history(self, camera_id: CameraId, *, newest: int = EVERY) -> list[Grant]:
        """So many of the newest grants, the oldest of them first."""
        ...

    async def counts(self) -> LeaseCounts: ...


class RunnerStore(Protocol):
    """Who runs, in which incarnation, under which flags."""

    async def register(self, spec: RunnerSpec) -> Runner | Denied: ...
    async def end(self, owner: Owner) -> tuple[CameraId, ...]: ...
    async def heartbeat(
        self, owner: Owner, making: Making = AS_STARTED, *, answer_delay: float | None = None
    ) -> Runner | Denied: ...
    async def find_runner(self, runner_id: RunnerId) -> Runner | None: ...
    async def runners(self) -> list[Runner]: ...
    async def site_load(self, site_id: SiteId) -> SiteLoad: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraFilter:
    """Which cameras to list, in the order of their ids, after the one named."""

    scope: TenantId | None  # the caller's tenant; None sees all
    enabled: bool | None = None
    tenant_id: TenantId | None = None
    site_id: SiteId | None = None
    name: str | None = None
    after: CameraId | None = None
    limit: int = 100


class CameraStore(Protocol):
    """Which cameras there are. Credentials come and go sealed. People's edits go through `Register.edit`."""

    async def page(self, wanted: CameraFilter) -> list[Camera]: ...
    async def find_camera(self, camera_id: CameraId, *, scope: TenantId | None) -> Camera | None: ...
    async def find_cameras(self, camera_ids: Sequence[CameraId], *, scope: TenantId | None) -> list[Camera]:
        """Those of these ids that there are, in no order."""
        ...

    async def find_named_cameras(self, names: Sequence[str], *, tenant_id: TenantId) -> list[Camera]:
        """Those of a tenant that have one of these names, in no order."""
        ...

    async def save_camera(self, camera: Camera) -> None:
        """Writes a camera of a fleet that is made up, whatever was there."""
        ...

    async def save_site(self, site: Site) -> None:
        """Writes a site, and its tenant if there is none."""
        ...

    async def reseal(self, camera_id: CameraId, *, old: Sealed, new: Sealed) -> bool:
        """Puts the same credential in under another key, if it has not changed meanwhile; that is no revision."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Dial:
    """One first connection of a camera; without a camera it is anonymous and cannot be retried safely."""

    site_id: SiteId
    camera_id: CameraId | None = None
    generation: Generation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetView:
    """A site's budget now."""

    bucket: Bucket
    in_flight: int
    waiting: int = 0  # wanted cameras that were not dialed yet under their present lease, or have none


DialOutcome = DialGranted | DialRefused | None  # None: there is no such site


class DialStore(Protocol):
    """Who may connect to a site's cameras now."""

    async def consume(self, dial: Dial, *, scope: TenantId | None) -> DialOutcome: ...
    async def consume_all(self, dials: Sequence[Dial], *, scope: TenantId | None) -> list[DialOutcome]:
        """The same for many, in their order; each site's are decided together."""
        ...

    async def finish(self, dial: Dial, *, scope: TenantId | None) -> bool: ...
    async def finish_all(self, dials: Sequence[Dial], *, scope: TenantId | None) -> int:
        """How many of these, which all name a camera, were under way."""
        ...

    async def budget(self, site_id: SiteId, *, scope: TenantId | None) -> BudgetView | None: ...
    async def budgets(self) -> dict[SiteId, BudgetView]:
        """Those of all sites of all tenants."""
        ...


class LoginStore(Protocol):
    """How often each login was refused lately."""

    async def judge_logins(self, talk: LoginTalk, *, scope: TenantId | None) -> LoginsJudged:
        """Takes in what a runner tells, and answers what it asks."""
        ...

    async def find_login(self, tenant_id: TenantId, names: Sequence[LoginId]) -> LoginRecord | None:
        """The record of a login under the first of its names that has one."""
        ...

    async def retry_login(self, tenant_id: TenantId, names: Sequence[LoginId]) -> bool:
        """Allows one more try of a login that is parked; returns whether it was."""
        ...


class StatusStore(Protocol):
    """What was last reported of each stream. A report of a superseded generation is ignored."""

    async def record(self, reports: Sequence[StreamStatus]) -> int: ...
    async def find_status(self, camera_id: CameraId) -> StreamStatus | None: ...


class KeyKind(StrEnum):
    """What a key of the control planes is for."""

    SIGNING = "signing"  # of tokens
    MASTER = "master"  # of camera credentials


class Store(
    LeaseStore,
    LeaseRecords,
    HandoverStore,
    RunnerStore,
    CameraStore,
    DialStore,
    LoginStore,
    StatusStore,
    Register,
    IdentityStore,
    TenantDeletions,
    Outbox,
    Protocol,
):
    """Everything one database holds, for the wiring; services take the small port that they use."""

    async def open(self) -> None: ...
    async def close(self) -> None: ...
    async def ping(self) -> datetime:
        """Tells the database's time, and looks at its clock."""
        ...

    async def agree_key(self, kind: KeyKind, key_id: str) -> str:
        """The id of the key that every control plane needs: the one that is recorded, or this one, which is then."""
        ...

    async def find_key(self, kind: KeyKind) -> str | None: ...
    async def record_key(self, kind: KeyKind, key_id: str) -> None:
        """Puts another key in the place of the recorded one."""
        ...

    @property
    def statements(self) -> int:
        """How many this process has sent to a database so far; 0 if there is none."""
        ...
