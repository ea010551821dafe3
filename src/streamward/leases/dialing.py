"""The dial budget of a site: a token bucket with a reserve for takeovers and a limit on dials in flight.

A first connection costs one token; tokens come back continuously, at the site's rate, up to its capacity. A camera that
was streaming under an earlier generation a moment ago is a *takeover* and spends the reserve instead, so that the
budget cannot break the takeover objective. Either way no more dials are in flight than the capacity, however slow the
recorder answers.

Guaranteed: within one site, concurrent first dials never exceed the capacity, and dials over any time t never exceed
capacity + rate·t + reserve·(1 + t / 60 s). Time is what the database's clock ran forwards; backwards refills nothing.
Not guaranteed: order among waiters; they come back with jitter. Nor the limit in flight across a step of the database's
clock, which can make dials that are under way look finished.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from streamward.model.camera import DEFAULT_DIALS, DEFAULT_DIALS_PER_MINUTE

RESERVE_REFILL = 60.0  # seconds in which an empty reserve is full again
IN_FLIGHT_FOR = 10.0  # seconds after which a dial that nobody reported done no longer counts
LONGEST_RETRY = 3600.0  # seconds: at a very small rate a token is for ever away, but rates are changed
TAKEOVER_WITHIN = 600.0  # seconds since a camera last streamed under an earlier generation


class DialRefusal(StrEnum):
    """Why a dial must wait."""

    EMPTY = "budget-empty"
    IN_FLIGHT = "too-many-in-flight"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A site's budget at `updated_at`."""

    capacity: int = DEFAULT_DIALS
    per_minute: float = DEFAULT_DIALS_PER_MINUTE
    tokens: float
    reserve: float
    reserve_size: int  # the site's enabled cameras
    updated_at: datetime

    def refilled(self, now: datetime) -> "Bucket":
        """The same budget at `now`."""
        elapsed = max(0.0, (now - self.updated_at).total_seconds())
        return replace(
            self,
            tokens=min(float(self.capacity), self.tokens + elapsed * self.per_minute / 60.0),
            reserve=min(float(self.reserve_size), self.reserve + elapsed * self.reserve_size / RESERVE_REFILL),
            updated_at=now,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DialGranted:
    """Go: the budget after it."""

    bucket: Bucket


@dataclass(frozen=True, slots=True, kw_only=True)
class DialRefused:
    """Wait: why, the budget as it is, and how many seconds until a token is there at the earliest."""

    reason: DialRefusal
    bucket: Bucket
    retry_in: float


def consume(bucket: Bucket, *, in_flight: int, takeover: bool, now: datetime) -> DialGranted | DialRefused:
    """Takes one token for one dial, or says why not."""
    full = bucket.refilled(now)
    if in_flight >= full.capacity:
        return DialRefused(reason=DialRefusal.IN_FLIGHT, bucket=full, retry_in=1.0)
    if takeover and full.reserve >= 1.0:
        return DialGranted(bucket=replace(full, reserve=full.reserve - 1.0))
    if full.tokens >= 1.0:
        return DialGranted(bucket=replace(full, tokens=full.tokens - 1.0))
    return DialRefused(reason=DialRefusal.EMPTY, bucket=full, retry_in=_until_token(full))


def _until_token(bucket: Bucket) -> float:
    if bucket.per_minute <= 0:
        return 60.0
    return min(LONGEST_RETRY, (1.0 - bucket.tokens) * 60.0 / bucket.per_minute)
