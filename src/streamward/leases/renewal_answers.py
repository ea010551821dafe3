"""Which answers to renewals count, what the next renewal echoes, and whether answers arrive in time to keep a lease.

Several renewals are outstanding at a time, so that slow answers cost no lease:

    sent ── renew_every ── sent ── renew_every ── sent      at most four outstanding: a fifth closes the oldest
      └──── delay ────→ answer: trusted until its own sending + trusted_for(ttl)

There is no gap in an owner's trust up to a delay of min(trusted_for(ttl) - renew_every, 4 · renew_every). Beyond that a
lease would be owned, yet unused for part of the time, for as long as the delay lasts. Two rules end that:

- Each renewal echoes the database time of the newest answer that arrived. The store extends a lease only while that is
  at most one ttl old (`lease.echo_fits`). An owner that receives nothing extends nothing.
- Two answers in a row that are too late, the second one to a renewal that was sent after the first had arrived: the
  owner releases what it holds and claims nothing until answers arrive in time. One late answer may have been a pause.

The order of answers is that of their database times, except that the answer to a renewal sent after another answer had
arrived is newer than that one, whatever the database's clock shows: it may have been set back.
"""

import math
from dataclasses import dataclass
from datetime import datetime

from streamward.leases.policy import RENEW_TIMEOUT, SCHEDULING_PAUSE

MOST_OUTSTANDING = 4


@dataclass(slots=True)
class RenewalAnswers:
    """The answers that one owner received."""

    renew_every: float
    echo: datetime | None = None  # the database's time in the newest answer
    delay: float | None = None  # how late answers are, while they are too late to keep a lease; None: they are not
    _received_at: float = -math.inf  # boot-time at which the newest answer arrived
    _late_at: float | None = None  # boot-time at which the first of several late answers arrived

    def begin(self, now: float, *, granted_at: datetime | None = None) -> None:
        """Takes in a registration, or the database's time in a grant: it is echoed until the first renewal's answer."""
        if self.echo is None:
            self.echo = granted_at
            self._received_at = max(self._received_at, now)

    def receive(self, at: datetime, *, sent: float, now: float) -> bool:
        """Takes in an answer; returns whether it is the newest: of an older one only what was kept counts."""
        if self.echo is not None and at < self.echo and sent < self._received_at:
            return False
        self.echo = at
        self._received_at = now
        return True

    def judge(self, *, sent: float, now: float, trusted: float) -> bool:
        """Judges an answer's delay for a lease trusted so long; returns whether the owner must release now."""
        delay, limit = now - sent, trusted - self.renew_every
        if delay <= limit:
            self._late_at = None
            if delay <= limit - SCHEDULING_PAUSE:
                self.delay = None
            return False
        if self._late_at is None:
            self._late_at = now
        if self.delay is None and sent < self._late_at:
            return False
        self.delay = delay
        return True

    def may_claim(self, now: float) -> bool:
        """Whether answers arrive, and in time: a grant whose answer is not received is a camera that nobody watches."""
        return self.delay is None and now - self._received_at <= 2 * self.renew_every + RENEW_TIMEOUT
