"""The fence: what a sink does with something that an owner made.

    newest generation?            ── yes ─→ live     counts as the camera's present
    made before the next grant?   ── yes ─→ late     stored and flagged, never the present
    otherwise                     ─────────→ refused

A date that leads the sink's own clock is taken back to it: an owner dates on the late side (`leases.holder`), and no
later grant may come to stand before an accepted record.

The store must test this in the same statement that stores the record. Then, whatever the broker, the network or a
thawed process does, accepted records of two owners never share a moment, and nothing is lost that an owner made under
its lease.

Not guaranteed: the order of a record against a grant that commits in the same instant, if a sink tests and stores in
two steps; anything about records whose `made_at` their maker invented; the fence holds against accidents.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from streamward.leases.lease import Grant, Owner
from streamward.model.ids import CameraId, Generation


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


def dated(stamp: Stamp, *, now: datetime) -> datetime:
    """The moment under which a sink stores a record that it accepts at database time `now`."""
    return min(stamp.made_at, now)


def admit(stamp: Stamp, grants: Mapping[Generation, Grant], *, now: datetime) -> Verdict:
    """Judges a record by the grants of its camera, at database time `now`."""
    grant = grants.get(stamp.generation)
    if grant is None or grant.owner != stamp.owner:
        return Verdict.REFUSED  # never granted, or granted to somebody else
    successor = grants.get(Generation(stamp.generation + 1))
    if successor is None:
        return Verdict.LIVE
    # Grants' instants strictly rise with the generation, so the next one alone decides.
    return Verdict.LATE if dated(stamp, now=now) < successor.granted_at else Verdict.REFUSED
