"""What happened at zones: who entered, stayed and left, kept behind the same fence as what was seen.

A zone event belongs to the frame by which it was known, and is refused or late as a detection of that frame would be.
It is dated by itself: that somebody has left is known only a moment after he was last there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from streamward.insight.records import Recent
from streamward.insight.store import Made
from streamward.model.ids import CameraId, Generation, SiteId, TenantId
from streamward.model.zone import Crossing


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossed(Made):
    """One thing that happened at a zone."""

    happened_at: datetime
    kind: Crossing
    zone: str
    track_id: int
    label: str
    stayed: float  # seconds in the zone until then


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """A zone event that the database has."""

    zone_event_id: int
    made_at: datetime  # when it happened; never ahead of the database's clock
    is_late: bool
    is_new: bool  # it was not there before


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneEventRecord:
    """A zone event as it is kept."""

    zone_event_id: int
    event_id: str
    index: int
    tenant_id: TenantId
    site_id: SiteId
    camera_id: CameraId
    generation: Generation
    made_at: datetime  # when it happened, inside its grant's interval
    stamped_at: datetime  # its frame's, as its maker dated it
    stored_at: datetime
    is_late: bool
    kind: Crossing
    zone: str
    track_id: int  # of its camera, generation and epoch
    label: str
    stayed: float


class ZoneEvents(Protocol):
    """Zone events: each once, behind the fence."""

    async def admit(self, crossed: Sequence[Crossed]) -> tuple[Noted | None, ...]:
        """Stores what the fence lets pass, each (event_id, index) once; None: it was refused.

        Raises StoreUnavailable, and then all may be offered again.
        """
        ...

    async def page(self, wanted: Recent) -> list[ZoneEventRecord]:
        """By number, the newest first."""
        ...

    async def prune(self, kept: Mapping[TenantId, float], *, otherwise: float, limit: int) -> int:
        """Forgets what was stored more than so many seconds ago; `otherwise` is for tenants that are not named.

        At most `limit` go; returns how many did.
        """
        ...
