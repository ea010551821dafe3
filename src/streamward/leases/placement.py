"""Which free cameras a runner gets when it asks for some.

Deterministic: the longest free first, so that nobody starves; among equals the sites that the runner already serves,
then by id. A runner takes its fair share first: cameras go to who has fewest of them, as water finds its level, so that
those who start together, and those who outlive another, share what there is. What nobody takes goes to whoever asks on.

Not guaranteed: an even spread for ever; cameras do not move merely to balance.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from streamward.model.ids import CameraId, SiteId
from streamward.model.runner import Runner


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeCamera:
    """A camera that the asking runner could acquire."""

    camera_id: CameraId
    site_id: SiteId
    free_since: datetime


ASKS_WITHIN = 3.0  # seconds since its last heartbeat in which a runner is thought to ask for its share


@dataclass(frozen=True, slots=True)
class Slots:
    """How many cameras a runner has, and how many it may have."""

    held: int
    capacity: int


def is_rival(other: Runner, runner: Runner, *, lapsed: int, now: datetime) -> bool:
    """Whether another runner asks for some of the cameras that this one asks for; not if leases of its own lapsed."""
    is_asking = other.incarnation is not None and other.takes_leases and not lapsed
    is_heard = (now - other.last_seen_at).total_seconds() <= ASKS_WITHIN
    return (
        other.runner_id != runner.runner_id
        and is_asking
        and is_heard
        and (None in (other.tenant_id, runner.tenant_id) or other.tenant_id == runner.tenant_id)
        and (None in (other.site_id, runner.site_id) or other.site_id == runner.site_id)
    )


def share(mine: Slots, others: Iterable[Slots], *, free: int) -> int:
    """How many of the free cameras a runner may take, so that it has no more than the others could."""
    asking = [mine, *others]
    levels = range(max(each.capacity for each in asking) + 1)
    level = bisect_left(levels, free, key=lambda level: sum(_up_to(level, each) for each in asking))
    return _up_to(level, mine)


def _up_to(level: int, slots: Slots) -> int:
    return max(0, min(level, slots.capacity) - slots.held)


def choose(free: Iterable[FreeCamera], *, served: Collection[SiteId], limit: int) -> list[FreeCamera]:
    """The cameras to acquire, best first."""
    ranked = sorted(
        free,
        key=lambda camera: (camera.free_since, camera.site_id not in served, camera.site_id, camera.camera_id),
    )
    return ranked[: max(limit, 0)]


def is_under_pressure(*, unowned: int, free_slots: int) -> bool:
    """Whether a site needs more than its healthy runners can give: then the soft window is cut short (S4-30)."""
    return unowned > free_slots
