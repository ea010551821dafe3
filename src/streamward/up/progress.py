"""Tells when the first camera of a fleet streams and when all do, since our process began."""

import http.client
import os
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from streamward.model.errors import StreamwardError
from streamward.protocol.fields import LARGEST_PAGE
from streamward.protocol.lease_listing import LeasePage, LeaseRow, streams
from streamward.runtime.clock import SystemClock
from streamward.up.api import Api
from streamward.up.furnish import SITE


class Progress:
    """Asked again and again until there is no more to tell."""

    def __init__(self, api: Api, *, cameras: int) -> None:
        self._api = api
        self._cameras = cameras
        self._told = 0  # cameras that streamed when news were told last
        self._clock = SystemClock()

    def news(self) -> Iterator[str]:
        """What there is to tell now."""
        if self._told == self._cameras:
            return
        streaming = [row for row in self._rows() if row.stream is not None and streams(row)]
        began = [then for row in streaming if row.stream and self._since(then := row.stream.ts) > 0]  # not of before
        if began and not self._told:
            self._told = 1
            yield f"the first camera streams, {self._since(min(began)):.1f} s after the start"
        if len(began) == self._cameras:
            self._told = self._cameras
            held = Counter(str(row.owner_id) for row in streaming)
            by = ", ".join(f"{count} at {runner}" for runner, count in sorted(held.items()))
            yield f"all {self._cameras} cameras stream, {self._since(max(began)):.1f} s after the start: {by}"

    def _rows(self) -> list[LeaseRow]:
        try:
            return self._api.get(f"/v1/leases?site_id={SITE}&limit={LARGEST_PAGE}", LeasePage).items
        except (OSError, http.client.HTTPException, StreamwardError):
            return []  # a control plane that died is told of by who watches it

    def _since(self, then: datetime) -> float:
        """From the start of our process to that moment."""
        return _age() - (self._clock.wall() - then).total_seconds()


def _age() -> float:
    """Seconds since this process was started, with the time that the interpreter took."""
    fields = Path("/proc/self/stat").read_text().rpartition(") ")[2].split()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
