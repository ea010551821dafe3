"""How long a site's budget takes for so many first dials: what to expect before cameras are added.

A dial needs a token and one of as many places as the capacity; it has its place for as long as it takes. So the last
one goes when its token is there, or as many rounds of places after an earlier one as there are between them. Both grow
evenly, and one of the two ends is the latest of all.

Off by no more than one dial's time if dials are under way at first, for a full budget gains nothing meanwhile.
Not foreseen: dials that fail or take longer, takeovers in between (they have a reserve, but the same places), and the
moment that a runner needs to ask again.
"""

from streamward.leases.dialing import Bucket

DIAL_TAKES = 1.0  # seconds from a dial to its report, as recorders go


def dialed_in(bucket: Bucket, *, dials: int, in_flight: int = 0, takes: float = DIAL_TAKES) -> float | None:
    """Seconds from `bucket.updated_at` until the last of so many dials has ended; None: never, at no rate."""
    if dials <= 0:
        return 0.0
    rounds = (dials - 1 + in_flight) // bucket.capacity
    last, early = _token_in(bucket, dials), _token_in(bucket, dials - rounds * bucket.capacity)
    if last is None or early is None:
        return None
    return max(last, early + rounds * takes) + takes


def _token_in(bucket: Bucket, number: int) -> float | None:
    """Seconds until so many tokens have been there."""
    missing = number - bucket.tokens
    if missing <= 0:
        return 0.0
    return missing * 60.0 / bucket.per_minute if bucket.per_minute > 0 else None
