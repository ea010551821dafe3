"""What changed hands between two looks at who has which camera.

A gap is the time between the last report of the old owner that the camera streams and the first such of the new one
that we came to see. Reports come each second or so: the true gap is at most that long.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from streamward.protocol.lease_listing import LeaseRow, StreamSeen, streams


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A camera streams at another owner, or under another generation of the same."""

    camera: str
    before: str
    after: str
    generation: int
    at: datetime
    gap: float  # seconds at most


class Ownership:
    """Remembers who showed which camera last."""

    def __init__(self) -> None:
        self._last: dict[str, StreamSeen] = {}

    def observe(self, rows: Sequence[LeaseRow]) -> Iterator[Change]:
        """What has changed hands since the last look."""
        for row in rows:
            now, last = row.stream, self._last.get(row.camera_uuid)
            if now is None or not streams(row):
                continue
            self._last[row.camera_uuid] = now
            if last is not None and last.version != now.version:
                yield Change(
                    camera=row.camera_uuid,
                    before=last.runner_id,
                    after=now.runner_id,
                    generation=row.version,
                    at=now.ts,
                    gap=max(0.0, (now.ts - last.ts).total_seconds()),
                )
