"""How fast one Worker dials the cameras of a site: its share of the site's rate, and no more at once than that allows.

A recorder that reboots is dialed by all its cameras at once, without asking the control plane, for none of these dials
is a first one. The rule is the same bucket as the control plane's, here on boot-time and without a reserve.

Guaranteed: dials to one site for which no token was taken never exceed burst + rate·t over any time t, and those of
them that are under way never exceed the burst.
Not guaranteed: order among those who wait; whoever asks first after a token came gets it.
"""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from streamward.leases.dialing import Bucket, DialGranted, consume
from streamward.model.camera import DEFAULT_DIALS, DEFAULT_DIALS_PER_MINUTE
from streamward.model.ids import SiteId

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # boot-time is counted from anywhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast a site may be dialed."""

    per_minute: float = DEFAULT_DIALS_PER_MINUTE
    burst: int = DEFAULT_DIALS

    def shared(self, share: float) -> "Pace":
        """What is left of it for a runner that has this share of the site's cameras."""
        return Pace(per_minute=self.per_minute * share, burst=max(1, int(self.burst * share)))


@dataclass(slots=True)
class Redials:
    """The dials of one Worker by site; instants are boot-time."""

    pace: Pace = Pace()
    _buckets: dict[SiteId, Bucket] = field(default_factory=dict)
    _under_way: Counter[SiteId] = field(default_factory=Counter)

    def ask(self, site_id: SiteId, now: float) -> float:
        """Takes a dial; returns 0, or how many seconds until it may be asked for again."""
        at = _EPOCH + timedelta(seconds=now)
        bucket = self._buckets.get(site_id) or self._full(at)
        answer = consume(bucket, in_flight=self._under_way[site_id], takeover=False, now=at)
        self._buckets[site_id] = answer.bucket
        if isinstance(answer, DialGranted):
            self._under_way[site_id] += 1
            return 0.0
        return answer.retry_in

    def done(self, site_id: SiteId) -> None:
        """A dial that was taken has ended: the camera plays, or does not."""
        self._under_way[site_id] -= 1

    def _full(self, at: datetime) -> Bucket:
        burst = self.pace.burst
        return Bucket(
            capacity=burst,
            per_minute=self.pace.per_minute,
            tokens=float(burst),
            reserve=0.0,
            reserve_size=0,
            updated_at=at,
        )
