"""Tells when the first camera of a fleet streams and when all do, since our process began; then what changes hands."""

import http.client
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from streamward.model.errors import StreamwardError
from streamward.protocol.fields import LARGEST_PAGE
from streamward.protocol.lease_listing import LeasePage, LeaseRow, streams
from streamward.protocol.ownership import Change, Ownership
from streamward.runtime.clock import SystemClock
from streamward.up.api import Api
from streamward.up.furnish import SITE

_LEFT_OUT = 4  # asks out of five that look at nothing, once all cameras stream


class Progress:
    """Asked again and again."""

    def __init__(
        self, look: Callable[[], Sequence[LeaseRow]], *, cameras: int, since_start: Callable[[datetime], float]
    ) -> None:
        self._look = look
        self._cameras = cameras
        self._since = since_start
        self._told = 0  # cameras that streamed when news were told last
        self._leave_out = 0
        self._ownership = Ownership()

    def news(self) -> Iterator[str]:
        """What there is to tell now."""
        if self._leave_out:
            self._leave_out -= 1
            return
        streaming = [row for row in self._look() if streams(row) and self._age(row) > 0]  # not of before
        yield from _moves(list(self._ownership.observe(streaming)))
        if self._told < self._cameras:
            yield from self._beginnings(streaming)
        else:
            self._leave_out = _LEFT_OUT

    def _beginnings(self, streaming: Sequence[LeaseRow]) -> Iterator[str]:
        began = [self._age(row) for row in streaming]
        if began and not self._told and self._cameras > 1:
            self._told = 1
            yield f"the first camera streams, {min(began):.1f} s after the start"
        if len(began) == self._cameras:
            self._told = self._cameras
            held = Counter(str(row.owner_id) for row in streaming)
            by = ", ".join(f"{count} at {runner}" for runner, count in sorted(held.items()))
            who = "the camera streams" if self._cameras == 1 else f"all {self._cameras} cameras stream"
            yield f"{who}, {max(began):.1f} s after the start: {by}"

    def _age(self, row: LeaseRow) -> float:
        """From our start to when it was reported to stream."""
        return 0.0 if row.stream is None else self._since(row.stream.ts)


def looking(api: Api) -> Callable[[], Sequence[LeaseRow]]:
    """Reads who has which camera; nothing, while the control plane is away: who watches it tells that."""

    def look() -> Sequence[LeaseRow]:
        try:
            return api.get(f"/v1/leases?site_id={SITE}&limit={LARGEST_PAGE}", LeasePage).items
        except (OSError, http.client.HTTPException, StreamwardError):
            return []

    return look


def since_start(then: datetime) -> float:
    """Seconds from when this process was started, with the time that the interpreter took, to a moment."""
    fields = Path("/proc/self/stat").read_text().rpartition(") ")[2].split()
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return age - (SystemClock().wall() - then).total_seconds()


def _moves(changes: Sequence[Change]) -> Iterator[str]:
    """One line for all that went the same way."""
    ways: dict[tuple[str, str], list[Change]] = {}
    for change in changes:
        ways.setdefault((change.before, change.after), []).append(change)
    for (before, after), moved in ways.items():
        what = moved[0].camera if len(moved) == 1 else f"{len(moved)} cameras"
        how = "came back to" if before == after else f"moved from {before} to"
        yield f"{what} {how} {after}, away for {max(each.gap for each in moved):.1f} s at most"
