"""The fence: what a sink does with something that an owner made.

    owner, tenant and site as granted, stamped by `made_until`?  ── no ─→ refused
    dated inside the grant's interval, before the next grant?    ── no ─→ refused
    newest generation?                                           ── yes → live     counts as the camera's present
                                                                 ── no ─→ late     stored and flagged, never the present

A record is stored under its date: its stamp, but not before `granted_at`, not after `ended_at`, and not after the
sink's own clock, since an owner stamps on the late side (`leases.held`). The stamp is kept beside it.

The store must test this in the same statement that stores the record. Then, whatever the broker, the network, a
release or a thawed process does, accepted records of two owners never share a moment, and nothing is lost that an
owner made under its lease and gave a moment for. A release that gives no moment, and the withdrawal of a camera, lose
what is stamped later than the database's time of that call: stamps lead it by up to the time that a request takes.

Not guaranteed: the order of a record against a grant that commits in the same instant, if a sink tests and stores in
two steps; anything about records whose `made_at` their maker invented: the fence holds against accidents.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from streamward.leases.lease import Grant, Owner
from streamward.model.ids import CameraId, Generation, SiteId, TenantId


class Verdict(StrEnum):
    """What becomes of a record."""

    LIVE = "live"
    LATE = "late"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Who made a record, and when on the database's clock: every record that leaves a shard carries one."""

    camera_id: CameraId
    generation: Generation
    owner: Owner
    made_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StampedRecord(Stamp):
    """What the fence judges: a stamp, and whose camera the record says it is of."""

    tenant_id: TenantId
    site_id: SiteId


def dated(made_at: datetime, grant: Grant, *, now: datetime) -> datetime:
    """The moment under which a sink stores a record of this grant that it accepts at database time `now`."""
    latest = now if grant.ended_at is None else min(now, grant.ended_at)
    return max(grant.granted_at, min(made_at, latest))


def admit(record: StampedRecord, grants: Mapping[Generation, Grant], *, now: datetime) -> Verdict:
    """Judges a record by the grants of its camera, at database time `now`."""
    grant = grants.get(record.generation)
    if grant is None or _whose(record) != _whose(grant):
        return Verdict.REFUSED
    if grant.made_until is not None and record.made_at > grant.made_until:
        return Verdict.REFUSED
    successor = grants.get(Generation(record.generation + 1))
    if successor is None:
        return Verdict.LIVE
    # Grants' instants strictly rise with the generation, so the next one alone decides.
    return Verdict.LATE if dated(record.made_at, grant, now=now) < successor.granted_at else Verdict.REFUSED


def _whose(named: StampedRecord | Grant) -> tuple[Owner, TenantId, SiteId]:
    return named.owner, named.tenant_id, named.site_id
