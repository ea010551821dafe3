"""The host's memory, as Linux tells it."""

from pathlib import Path

from streamward.insight.pressure import Pressure, judge

CRITICAL = 0.98  # used: below that Linux still has caches to give up


class HostMemory:
    """How much memory programs could still have."""

    def __init__(self, path: Path = Path("/proc/meminfo")) -> None:
        self._path = path

    async def level(self) -> Pressure:
        """Raises whatever a host without that file raises."""
        lines = (line.split() for line in self._path.read_text().splitlines())
        kilobytes = {words[0].rstrip(":"): int(words[1]) for words in lines if len(words) > 1}
        total = kilobytes["MemTotal"]
        return judge(total - kilobytes["MemAvailable"], total, critical=CRITICAL)
