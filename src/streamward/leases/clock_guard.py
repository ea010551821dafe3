"""Notices that the database's clock jumped, so that nobody is declared dead by a time correction.

A control plane compares the database's time with what its own boot-time clock lets it expect. After a jump, after its
own start, and after a time in which it did not look (it was frozen, or the database was away), it judges no lease
expired for one ttl of that lease: every live owner renews within that time.

Guaranteed: no jump of more than `TOLERANCE` expires anything by itself, for every control plane that looks at least
once between two jumps; each looks every second.
The same readings give a floor for the dates of grants: what the database's clock would show had it not been set back in
the last `REMEMBERED_FOR` seconds. A step back too small to count as a jump would otherwise date a grant before a record
that was accepted just before the step.

Not guaranteed: jumps below `TOLERANCE`; the trust of owners after two opposite jumps inside one second, when a second
control plane saw neither. Generations and the fence hold then too.
"""

from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

TOLERANCE = 1.0  # seconds between expected and seen database time that count as the same
LONGEST_GAP = 3.0  # seconds between two looks after which it counts as just started
REMEMBERED_FOR = 20.0  # seconds for which a reading bounds the dates of grants
SLOWEST_RATE = 0.9  # of the database's clock against the boot-time clock: ±5 % drift of both

_EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockView:
    """What a statement needs in order to judge expiry: goes with it, is tested against the time it runs at."""

    expected_at: datetime | None  # None: this control plane has not seen the database's time yet
    steady_for: float  # seconds without a jump
    floor: datetime = _EPOCH  # what the database's clock shows at least, had it not been set back lately

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
        # (boot-time of the answer, database time less what the slowest clock would have added since boot-time 0);
        # only those are kept that a later reading does not exceed, so the first one is the furthest.
        self._furthest: deque[tuple[float, datetime]] = deque()

    def view(self, boot: float) -> ClockView:
        """What to expect of the database's clock at this boot-time."""
        if self._seen_at is None:
            return BLIND
        elapsed = boot - (self._asked + self._answered) / 2
        return ClockView(
            expected_at=self._seen_at + timedelta(seconds=elapsed),
            steady_for=0.0 if self._was_away(boot) else boot - self._steady_since,
            floor=self._floor(boot),
        )

    def observe(self, database_time: datetime, *, asked: float, answered: float) -> bool:
        """Takes in a time that the database told between two boot-times; returns whether its clock jumped."""
        jumped = self._has_jumped(database_time, asked, answered)
        if jumped or self._seen_at is None or self._was_away(asked):
            self._steady_since = answered
        self._seen_at = database_time
        self._asked, self._answered = asked, answered
        reading = database_time - timedelta(seconds=SLOWEST_RATE * answered)
        while self._furthest and self._furthest[-1][1] <= reading:
            self._furthest.pop()
        self._furthest.append((answered, reading))
        return jumped

    def _floor(self, boot: float) -> datetime:
        while self._furthest and boot - self._furthest[0][0] > REMEMBERED_FOR:
            self._furthest.popleft()
        return self._furthest[0][1] + timedelta(seconds=SLOWEST_RATE * boot) if self._furthest else _EPOCH

    def _was_away(self, boot: float) -> bool:
        return boot - self._answered > LONGEST_GAP

    def _has_jumped(self, database_time: datetime, asked: float, answered: float) -> bool:
        """Whether no moment inside both calls explains the two times: a slow answer is no jump."""
        if self._seen_at is None:
            return False
        elapsed = (database_time - self._seen_at).total_seconds()
        return not asked - self._answered - TOLERANCE <= elapsed <= answered - self._asked + TOLERANCE
