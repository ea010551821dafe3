"""Which free cameras a runner gets when it asks for some.

Deterministic: the longest free first, so that nobody starves; among equals the sites that the runner already serves,
then by id. A runner takes at most its fair share at once, so that a dead runner's cameras spread over the living.

Not guaranteed: an even spread for ever; cameras do not move merely to balance.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from streamward.model.ids import CameraId, SiteId


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeCamera:
    """A camera that the asking runner could acquire."""

    camera_id: CameraId
    site_id: SiteId
    free_since: datetime


def share(*, free: int, runners: int) -> int:
    """How many of the free cameras one of so many asking runners may take at once."""
    return -(-free // max(runners, 1))


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
