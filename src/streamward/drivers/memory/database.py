"""What survives a control plane: the rows, and the database's own clock."""

from collections import Counter
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Protocol

from streamward.insight.batch import BatchId
from streamward.insight.broadcasts import Broadcast
from streamward.insight.records import AnalysisRecord, BatchRecord, DetectionRecord
from streamward.insight.rules import Wishes
from streamward.insight.zone_events import ZoneEventRecord
from streamward.leases.dialing import Bucket
from streamward.leases.handover import Handover, HandoverStage
from streamward.leases.lease import Grant, Lease, Owner
from streamward.leases.login_talk import LoginKey
from streamward.leases.logins import LoginRecord
from streamward.leases.store import KeyKind
from streamward.model.announcement import Announcement
from streamward.model.camera import Camera, Site
from streamward.model.identity import Identity, Invitation
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId, SiteId, TenantId
from streamward.model.register import AuditRow, Note, Repeated
from streamward.model.runner import Runner
from streamward.model.status import StreamStatus
from streamward.model.tenant import Tenant, TenantDeletion


class WallClock(Protocol):
    """The database's time."""

    def wall(self) -> datetime: ...


DialKey = tuple[SiteId, CameraId | None, Generation | None, int]  # the number tells anonymous dials apart


@dataclass(slots=True)
class Dialing:
    """A dial under way."""

    granted_at: datetime


@dataclass(slots=True)
class MemoryDatabase:
    """Rows in dictionaries; each store method changes them without awaiting, so each is one transaction."""

    clock: WallClock
    cameras: dict[CameraId, Camera] = field(default_factory=dict)
    sites: dict[SiteId, Site] = field(default_factory=dict)
    leases: dict[CameraId, Lease] = field(default_factory=dict)
    free_since: dict[CameraId, datetime] = field(default_factory=dict)
    handovers: dict[CameraId, Handover] = field(default_factory=dict)
    grants: dict[CameraId, dict[Generation, Grant]] = field(default_factory=dict)
    runners: dict[RunnerId, Runner] = field(default_factory=dict)
    incarnations: set[tuple[RunnerId, Incarnation]] = field(default_factory=set)
    buckets: dict[SiteId, Bucket] = field(default_factory=dict)
    dials: dict[DialKey, Dialing] = field(default_factory=dict)
    logins: dict[LoginKey, LoginRecord] = field(default_factory=dict)
    created: dict[tuple[str, str], Repeated] = field(default_factory=dict)
    statuses: dict[CameraId, StreamStatus] = field(default_factory=dict)
    tenants: dict[TenantId, Tenant] = field(default_factory=dict)
    invitations: dict[str, Invitation] = field(default_factory=dict)
    identities: dict[str, Identity] = field(default_factory=dict)
    audit: list[AuditRow] = field(default_factory=list)
    outbox: list[tuple[TenantId, Announcement]] = field(default_factory=list)
    announced: int = 0  # how many there ever were
    unpublished: set[int] = field(default_factory=set)
    detections: dict[int, DetectionRecord] = field(default_factory=dict)
    detection_ids: dict[tuple[str, int], int] = field(default_factory=dict)  # by event and place in it
    zone_events: dict[int, ZoneEventRecord] = field(default_factory=dict)
    zone_event_ids: dict[tuple[str, int], int] = field(default_factory=dict)  # by event and place in it
    batches: dict[BatchId, BatchRecord] = field(default_factory=dict)
    reopened: set[BatchId] = field(default_factory=set)
    analyses: dict[BatchId, AnalysisRecord] = field(default_factory=dict)
    broadcasts: list[Broadcast] = field(default_factory=list)
    wishes: dict[TenantId, Wishes] = field(default_factory=dict)
    deletions: dict[str, TenantDeletion] = field(default_factory=dict)  # by the tenant's internal id
    has_batchers: list[datetime] = field(default_factory=list)  # when one was at work last; empty: never
    keys: dict[KeyKind, str] = field(default_factory=dict)  # which the control planes share
    numbered: Counter[str] = field(default_factory=Counter)  # how many rows of each kind there ever were

    def now(self) -> datetime:
        return self.clock.wall()

    def number(self, kind: str) -> int:
        """The next row's number; none comes twice."""
        self.numbered[kind] += 1
        return self.numbered[kind]

    def note(self, note: Note) -> None:
        """Writes a manual change down."""
        told = {each.name: getattr(note, each.name) for each in fields(note)}
        self.audit.append(AuditRow(position=len(self.audit) + 1, at=self.now(), **told))

    def put_lease(self, lease: Lease) -> None:
        """Writes a lease; the end of its newest grant goes into the grant's row too."""
        self.leases[lease.camera_id] = lease
        grants = self.grants.get(lease.camera_id, {})
        if lease.ended_at is not None and lease.generation in grants:
            grants[lease.generation] = replace(
                grants[lease.generation], ended_at=lease.ended_at, made_until=lease.made_until
            )

    def heir(self, camera_id: CameraId) -> Owner | None:
        """Who may watch a camera that it does not hold."""
        handover, generation = self.handovers.get(camera_id), self.leases[camera_id].generation
        if handover is None or handover.stage is HandoverStage.REFUSED or not handover.counts(generation, self.now()):
            return None
        return handover.heir

    def held_by(self, owner: Owner) -> list[Lease]:
        """An owner's leases, expired or not."""
        return [lease for lease in self.leases.values() if lease.owner == owner]

    def slots_used(self, owner: Owner) -> int:
        """How many of its leases take a slot: an orphan does not, or a full runner could never take its own back."""
        return sum(lease.takes_slot for lease in self.held_by(owner))
