"""How fast each Worker may dial a site again: the site's own pace, shared out by cameras.

A recorder that reboots is dialed again by Workers of several runners, none of which knows of the others. Each has of
the site's rate and burst what it has of the site's cameras, so that all of them together stay inside. A Worker that
begins is told so before it is told of a camera, and counts as having all of its shard: what it takes over silently it
dials as others dial again.

Not guaranteed: while cameras move, shares are those of a few seconds ago.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from streamward.leases.redialing import Pace
from streamward.leases.sharding import Shard
from streamward.model.ids import CameraId, SiteId
from streamward.protocol.sites import SiteBudget
from streamward.protocol.worker_link import SetPace
from streamward.runner.crew import Seat
from streamward.runner.known import Asking, KnownCameras
from streamward.runtime.clock import Clock
from streamward.runtime.hedging import WITHIN, hedged

LOOK_EVERY = 1.0  # seconds
READ_EVERY = 10.0  # seconds between two looks at a site's budget


class Seats(Protocol):
    """A Manager's Workers, as far as they are counted."""

    @property
    def seats(self) -> Mapping[int, Seat]: ...


@dataclass(frozen=True, slots=True)
class SitePace:
    """How fast a site may be dialed by all, and how many cameras share that."""

    whole: Pace
    cameras: int
    read_at: float  # boot-time

    def share(self, cameras: int) -> Pace:
        """What so many of them have; a site that has fewer than that has not been read since they came."""
        return self.whole.shared(cameras / max(cameras, self.cameras, 1))


@dataclass(slots=True)
class Pacer:
    """A service runs its ticks."""

    crew: Seats
    planned: Callable[[], Iterable[Shard]]
    known: KnownCameras
    control: Asking
    clock: Clock
    _sites: dict[SiteId, SitePace] = field(default_factory=dict)
    _told: dict[tuple[int, SiteId], Pace] = field(default_factory=dict)

    async def tick(self) -> float:
        """Reads budgets that were not read lately, and tells what follows from them."""
        for site_id in sorted(self.known.sites()):
            await self._read(site_id)
        self.tell()
        return LOOK_EVERY

    def tell(self) -> None:
        """Tells each Worker its share if that has changed."""
        seats, planned = self.crew.seats, {shard.shard_id: shard.cameras for shard in self.planned()}
        self._told = {key: pace for key, pace in self._told.items() if key[0] in seats}
        for seat in seats.values():
            if seat.shard_id is not None and not seat.is_ending:
                cameras = {*seat.cameras, *planned.get(seat.shard_id, ())}
                for site_id, count in self._counted(cameras).items():
                    self._tell(seat, site_id, count)

    async def _read(self, site_id: SiteId) -> None:
        now, read = self.clock.boot(), self._sites.get(site_id)
        if read is not None and now - read.read_at < READ_EVERY:
            return
        told = await hedged(partial(self.control.get, f"/v1/sites/{site_id}/budget", SiteBudget, within=WITHIN))
        if isinstance(told, SiteBudget):
            whole = Pace(per_minute=told.refill_rate, burst=told.capacity)
            self._sites[site_id] = SitePace(whole, told.reserve_size, now)

    def _counted(self, cameras: Iterable[CameraId]) -> Counter[SiteId]:
        owned = filter(None, map(self.known.owned, cameras))
        return Counter(each.site_id for each in owned)

    def _tell(self, seat: Seat, site_id: SiteId, cameras: int) -> None:
        site = self._sites.get(site_id)
        if site is None:
            return
        pace = site.share(cameras)
        if self._told.get((seat.number, site_id)) != pace:
            self._told[seat.number, site_id] = pace
            seat.tell(SetPace(site_id=site_id, per_minute=pace.per_minute, burst=pace.burst))
