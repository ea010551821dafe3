"""What processes of this host use: share of a processor, and memory."""

import os
from collections.abc import Iterable
from pathlib import Path

from streamward.runtime.clock import Clock

_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Usage:
    """Of a changing set of processes; what a process used before it was first looked at does not count."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._before: dict[int, float] = {}
        self._looked_at = clock.boot()

    def look(self, pids: Iterable[int]) -> tuple[float, float]:
        """Percent of one processor since the last look, and megabytes that are in memory now."""
        now = self._clock.boot()
        seen = {pid: used for pid in pids if (used := _used(pid)) is not None}
        spent = sum(seconds - self._before.get(pid, seconds) for pid, (seconds, _) in seen.items())
        elapsed = max(now - self._looked_at, 1e-3)
        self._before = {pid: seconds for pid, (seconds, _) in seen.items()}
        self._looked_at = now
        return round(100 * spent / elapsed, 1), round(sum(memory for _, memory in seen.values()) / 2**20, 1)


def _used(pid: int) -> tuple[float, int] | None:
    """Seconds of processor time, and bytes; None: it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return (int(fields[11]) + int(fields[12])) / _TICK, resident * _PAGE
