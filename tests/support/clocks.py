"""The clock that tests move by hand."""

from datetime import UTC, datetime, timedelta

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


class ManualClock:
    """Stands still until it is told to go on."""

    def __init__(self, start: datetime = START) -> None:
        self._start = start
        self._elapsed = 0.0

    def wall(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed)

    def boot(self) -> float:
        return self._elapsed

    def advance(self, seconds: float) -> None:
        """Lets time pass."""
        self._elapsed += seconds
