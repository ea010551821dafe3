"""Notices that the database's clock jumped, so that nobody is declared dead by a time correction.

A control plane compares the database's time with what its own boot-time clock lets it expect. After a jump, after its
own start, and after a time in which it did not look (it was frozen, or the database was away), it judges no lease
expired for one ttl of that lease: every live owner renews within that time.

Guaranteed: no jump of more than `TOLERANCE` expires anything by itself, for every control plane that looks at least
once between two jumps; each looks every second.
Not guaranteed: jumps below `TOLERANCE`; the trust of owners after two opposite jumps inside one second, when a second
control plane saw neither. Generations and the fence hold then too.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

TOLERANCE = 1.0  # seconds between expected and seen database time that count as the same
LONGEST_GAP = 3.0  # seconds between two looks after which it counts as just started


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockView:
    """What a statement needs in order to judge expiry: goes with it, is tested against the time it runs at."""

    expected_at: datetime | None  # None: this control plane has not seen the database's time yet
    steady_for: float  # seconds without a jump

    def may_judge(self, *, now: datetime, ttl: float) -> bool:
        """Whether a lease of that ttl may be called expired at database time `now`."""
        if self.expected_at is None or self.steady_for < ttl:
            return False
        return abs((now - self.expected_at).total_seconds()) <= TOLERANCE


BLIND = ClockView(expected_at=None, steady_for=0.0)


class ClockGuard:
    """The database's clock as one control plane has seen it."""

    def __init__(self) -> None:
        self._seen_at: datetime | None = None
        self._asked = 0.0  # between these two boot-times
        self._answered = 0.0
        self._steady_since = 0.0

    def view(self, boot: float) -> ClockView:
        """What to expect of the database's clock at this boot-time."""
        if self._seen_at is None:
            return BLIND
        elapsed = boot - (self._asked + self._answered) / 2
        return ClockView(
            expected_at=self._seen_at + timedelta(seconds=elapsed),
            steady_for=0.0 if self._was_away(boot) else boot - self._steady_since,
        )

    def observe(self, database_time: datetime, *, asked: float, answered: float) -> bool:
        """Takes in a time that the database told between two boot-times; returns whether its clock jumped."""
        jumped = self._has_jumped(database_time, asked, answered)
        if jumped or self._seen_at is None or self._was_away(asked):
            self._steady_since = answered
        self._seen_at = database_time
        self._asked, self._answered = asked, answered
        return jumped

    def _was_away(self, boot: float) -> bool:
        return boot - self._answered > LONGEST_GAP

    def _has_jumped(self, database_time: datetime, asked: float, answered: float) -> bool:
        """Whether no moment inside both calls explains the two times: a slow answer is no jump."""
        if self._seen_at is None:
            return False
        elapsed = (database_time - self._seen_at).total_seconds()
        return not asked - self._answered - TOLERANCE <= elapsed <= answered - self._asked + TOLERANCE
