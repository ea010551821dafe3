"""What was heard of the cameras around a blackout; dates are the database's, everything else is boot-time.

Detections are dated when their frame arrived, so it does not matter how long the bus took. Each Worker numbers its
own: a number that is missing is a detection that was lost, two names under one number are one that was doubled.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from streamward.model.status import StreamState
from streamward.protocol.events import DetectionEvent
from streamward.protocol.streams import StreamReport

WorkerKey = tuple[str, str, str]  # runner, its start, shard


@dataclass(slots=True)
class Witness:
    """All of them."""

    doubled: int = 0
    streaming: dict[str, float] = field(default_factory=dict)  # boot-time of the last word, if that is STREAMING
    _dates: defaultdict[str, list[datetime]] = field(default_factory=lambda: defaultdict(list))
    _ids: set[str] = field(default_factory=set)
    _numbers: defaultdict[WorkerKey, set[int]] = field(default_factory=lambda: defaultdict(set))

    def heard_detection(self, event: DetectionEvent) -> None:
        """A picture was looked at; one that the bus brings again is the same."""
        if event.event_id in self._ids:
            return
        self._ids.add(event.event_id)
        numbers = self._numbers[event.runner_id, event.incarnation, event.shard_id]
        self.doubled += event.seq in numbers
        numbers.add(event.seq)
        self._dates[event.camera_uuid].append(event.ts)

    def heard_status(self, report: StreamReport, now: float) -> None:
        """How a stream is."""
        if report.state is StreamState.STREAMING:
            self.streaming[report.camera_uuid] = now
        else:
            self.streaming.pop(report.camera_uuid, None)

    @property
    def cameras(self) -> set[str]:
        """All of which a picture was looked at."""
        return set(self._dates)

    def made(self, camera: str, *, since: datetime, until: datetime | None = None) -> list[datetime]:
        """The dates of a camera's detections after one moment and up to another, in order."""
        return sorted(each for each in self._dates[camera] if since < each and (until is None or each <= until))

    def gap(self, camera: str, *, since: datetime, until: datetime) -> float:
        """The longest that a camera had no detection between two moments, or around them; in seconds."""
        dates = sorted(self._dates[camera])
        before = [each for each in dates if each <= since][-1:] or [since]
        after = [each for each in dates if each > until][:1] or [until]
        whole = [*before, *self.made(camera, since=since, until=until), *after]
        return max((later - earlier).total_seconds() for earlier, later in pairwise(whole))

    def newest(self) -> dict[WorkerKey, int]:
        """How far each Worker has counted."""
        return {key: max(numbers) for key, numbers in self._numbers.items()}

    def missing(self, until: Mapping[WorkerKey, int]) -> int:
        """Detections that were numbered up to there and never came."""
        return sum(last - len(self._numbers[key].intersection(range(1, last + 1))) for key, last in until.items())
