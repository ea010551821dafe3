"""The clock port: wall time for people, boot-time for deadlines.

Boot-time (`CLOCK_BOOTTIME`) never steps and goes on while a host is suspended; `time.monotonic()` stands still then,
and a lease counted on it would be trusted after a night of sleep.
"""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where time comes from."""

    def wall(self) -> datetime: ...
    def boot(self) -> float: ...


class SystemClock:
    """The machine's own."""

    def wall(self) -> datetime:
        return datetime.now(UTC)

    def boot(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)
