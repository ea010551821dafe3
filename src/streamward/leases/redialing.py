"""How fast one Worker dials the cameras of a site again: its share of the site's rate, and no more at once than that.

A recorder that reboots is dialed by all its cameras at once, without asking the control plane, for none of these dials
is a first one. The rule is the same bucket as the control plane's, here on boot-time and without a reserve. A Worker is
told its share of the site's cameras: a share of the burst may be less than one dial, and then even the first one waits,
so that any number of Workers together have the burst and the rate of one site.

Guaranteed: dials to one site for which no token was taken never exceed burst + rate·t over any time t, and those of
them that are under way never exceed the burst, or one. All shares of a site together keep the former too; of the latter
only as far as no share is below one dial.
Not guaranteed: order among those who wait; whoever asks first after a token came gets it.
"""

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from streamward.leases.dialing import Bucket, DialGranted, consume
from streamward.model.camera import DEFAULT_DIALS, DEFAULT_DIALS_PER_MINUTE
from streamward.model.ids import SiteId

AGAIN_IN = 1.0  # seconds until it is worth asking again, if too many are under way
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # boot-time is counted from anywhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast a site may be dialed."""

    per_minute: float = DEFAULT_DIALS_PER_MINUTE
    burst: float = DEFAULT_DIALS

    def shared(self, share: float) -> "Pace":
        """What of it is for somebody who has this share of the site's cameras."""
        return Pace(per_minute=self.per_minute * share, burst=self.burst * share)

    @property
    def at_once(self) -> int:
        """How many may be under way."""
        return max(1, int(self.burst))


@dataclass(slots=True)
class Redials:
    """The dials of one Worker by site; instants are boot-time."""

    usual: Pace = Pace()  # of sites about which nothing was told
    _paces: dict[SiteId, Pace] = field(default_factory=dict)
    _buckets: dict[SiteId, Bucket] = field(default_factory=dict)
    _under_way: Counter[SiteId] = field(default_factory=Counter)

    def set(self, site_id: SiteId, pace: Pace, now: float) -> None:
        """From now on a site has this pace; what it has saved up counts on."""
        if site_id in self._buckets:
            self._buckets[site_id] = replace(
                self._buckets[site_id].refilled(_instant(now)), capacity=_most(pace), per_minute=pace.per_minute
            )
        self._paces[site_id] = pace

    def ask(self, site_id: SiteId, now: float, *, again: bool = False) -> float:
        """Takes a dial; returns 0, or how many seconds until it may be asked for `again`."""
        pace, at = self._paces.get(site_id, self.usual), _instant(now)
        if self._under_way[site_id] >= pace.at_once:
            return AGAIN_IN
        bucket = (self._buckets.get(site_id) or _full(pace, at)).refilled(at)
        if not again:  # what is more than a burst was saved up by somebody who waited
            bucket = replace(bucket, tokens=min(bucket.tokens, pace.burst))
        answer = consume(bucket, in_flight=0, takeover=False, now=at)
        self._buckets[site_id] = answer.bucket
        if isinstance(answer, DialGranted):
            self._under_way[site_id] += 1
            return 0.0
        return answer.retry_in

    def done(self, site_id: SiteId) -> None:
        """A dial that was taken has ended: the camera plays, or does not."""
        self._under_way[site_id] -= 1


def _instant(boot: float) -> datetime:
    return _EPOCH + timedelta(seconds=boot)


def _most(pace: Pace) -> int:
    """Tokens that are saved up while somebody waits: a whole one, and what comes while it is late to look."""
    return math.ceil(pace.burst) + 1


def _full(pace: Pace, at: datetime) -> Bucket:
    return Bucket(
        capacity=_most(pace),
        per_minute=pace.per_minute,
        tokens=pace.burst,
        reserve=0.0,
        reserve_size=0,
        updated_at=at,
    )
