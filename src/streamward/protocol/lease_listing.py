"""People read who has which camera, in S0's spelling (`version` is the generation, `owner_id` the runner)."""

from datetime import datetime

from streamward.leases.lease import UNGRANTED, Grant, Lease, SessionState
from streamward.leases.store import PlacedLease
from streamward.model.status import StreamState, StreamStatus, Substate
from streamward.protocol.fields import Cursor, Id, Limit, Message


class LeaseQuery(Message, frozen=True):
    """Which leases to list; answered by LeasePage."""

    site_id: Id | None = None
    runner_id: Id | None = None
    state: SessionState | None = None
    limit: Limit = 100
    cursor: Cursor | None = None


class StreamSeen(Message, frozen=True):
    """What the owner last reported of a stream under its present grant."""

    runner_id: str
    version: int | None
    state: StreamState
    substate: Substate | None
    error_code: str | None
    ts: datetime
    fps: float | None
    last_frame_ts: datetime | None


class LeaseRow(Message, frozen=True):
    """Control plane: a camera's ownership; without an owner nobody has it, without instants nobody ever had.

    Without a `stream` its owner has reported nothing of it yet.
    """

    camera_uuid: str
    tenant_id: str
    site_id: str
    state: SessionState
    owner_id: str | None
    incarnation: str | None
    version: int
    granted_at: datetime | None
    expires_at: datetime | None
    ttl_ms: int
    stream: StreamSeen | None


class LeasePage(Message, frozen=True):
    """Control plane: leases in the order of their cameras, by database time; `next_cursor` is null on the last page."""

    items: list[LeaseRow]
    next_cursor: str | None
    server_time: datetime


class PastGrant(Message, frozen=True):
    """One grant of LeaseDetails."""

    version: int
    owner_id: str
    incarnation: str
    tenant_id: str  # the camera's, when it was granted
    site_id: str
    granted_at: datetime
    ended_at: datetime | None  # when it was released or its camera withdrawn
    made_until: datetime | None  # nothing that was stamped later counts


class LeaseDetails(LeaseRow, frozen=True):
    """Control plane: a camera's ownership, and its newest grants, the newest first."""

    grants: list[PastGrant]
    server_time: datetime


def lease_row(placed: PlacedLease) -> LeaseRow:
    """A lease as people see it."""
    lease = placed.lease
    was_granted = lease.generation != UNGRANTED
    return LeaseRow(
        camera_uuid=lease.camera_id,
        tenant_id=placed.tenant_id,
        site_id=placed.site_id,
        state=lease.state,
        owner_id=None if lease.owner is None else lease.owner.runner_id,
        incarnation=None if lease.owner is None else lease.owner.incarnation,
        version=lease.generation,
        granted_at=lease.granted_at if was_granted else None,
        expires_at=lease.expires_at if was_granted else None,
        ttl_ms=round(lease.ttl * 1000),
        stream=_seen(lease, placed.status),
    )


def _seen(lease: Lease, status: StreamStatus | None) -> StreamSeen | None:
    """Reports of a former owner or grant, and of one that was withdrawn or released, say nothing of the stream now."""
    if status is None or lease.owner is None or lease.ended_at is not None:
        return None
    if status.runner_id != lease.owner.runner_id or status.generation not in (None, lease.generation):
        return None
    return StreamSeen(
        runner_id=status.runner_id,
        version=status.generation,
        state=status.state,
        substate=status.substate,
        error_code=status.error_code,
        ts=status.ts,
        fps=status.fps,
        last_frame_ts=status.last_frame_ts,
    )


def streams(row: LeaseRow) -> bool:
    """Whether a camera streams under the lease that counts."""
    stream = row.stream
    return (
        stream is not None
        and stream.state is StreamState.STREAMING
        and row.owner_id == stream.runner_id
        and row.version == stream.version
    )


def past_grant(grant: Grant) -> PastGrant:
    """A grant as people see it."""
    return PastGrant(
        version=grant.generation,
        owner_id=grant.owner.runner_id,
        incarnation=grant.owner.incarnation,
        tenant_id=grant.tenant_id,
        site_id=grant.site_id,
        granted_at=grant.granted_at,
        ended_at=grant.ended_at,
        made_until=grant.made_until,
    )
