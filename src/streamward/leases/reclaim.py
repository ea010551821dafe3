"""When a camera is taken from an owner that may still come back (S4-28…31).

    expires ──── soft window: only under capacity pressure ────┬── hard: at once
            ORPHANED                                           └ expires + soft_for

Policies without a soft window need none of this: their expired leases are open to anyone, and until somebody takes one
its owner can still renew it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from streamward.leases.placement import is_under_pressure
from streamward.leases.store import Orphan, SiteLoad
from streamward.model.ids import CameraId, Generation, SiteId


@dataclass(frozen=True, slots=True, kw_only=True)
class Reclaim:
    """Free this exact grant."""

    camera_id: CameraId
    generation: Generation
    hard: bool


def plan(orphans: Sequence[Orphan], loads: Mapping[SiteId, SiteLoad]) -> list[Reclaim]:
    """The orphans to take now; safe to cut after any step, safe to run in every control plane at once."""
    decided = (_decide(orphan, loads[orphan.site_id]) for orphan in orphans)
    return [reclaim for reclaim in decided if reclaim is not None]


def _decide(orphan: Orphan, load: SiteLoad) -> Reclaim | None:
    hard = orphan.expires_at + timedelta(seconds=orphan.soft_for) <= load.at
    if not hard and not is_under_pressure(unowned=load.unowned, free_slots=load.free_slots):
        return None
    return Reclaim(camera_id=orphan.camera_id, generation=orphan.generation, hard=hard)
