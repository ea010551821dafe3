"""Which pictures of a camera were lost, told by those that were looked at.

The recorder paints into each picture its place in the loop, and the Worker counts every picture that it decodes.
Between two pictures that were looked at both must have gone on by as many: what the count is behind by was never
decoded. A count that begins anew belongs to a camera that was taken up anew.
"""

from collections import Counter
from dataclasses import dataclass, field

from streamward.drills.soak import marked
from streamward.model.status import StreamState
from streamward.protocol.events import DetectionEvent
from streamward.protocol.streams import StreamReport


@dataclass(frozen=True, slots=True)
class Seen:
    """A picture that was looked at."""

    frame: int  # the Worker's count
    place: int  # in the recorder's loop


@dataclass(slots=True)
class Frames:
    """What was heard of all cameras."""

    loop: int  # pictures of a loop
    lost: Counter[str] = field(default_factory=Counter)  # pictures, by camera
    begun: Counter[str] = field(default_factory=Counter)  # counts that began, by camera
    unread: int = 0  # events that do not tell their picture
    streamed: dict[str, list[float]] = field(default_factory=dict)  # when a camera was told to stream
    _last: dict[str, Seen] = field(default_factory=dict)

    def heard_detection(self, event: DetectionEvent) -> None:
        """A picture was looked at."""
        mark = next((found for each in event.detections if (found := marked.read(each.label))), None)
        if mark is None or mark.loop_frame < 0:
            self.unread += 1
            return
        before = self._last.get(event.camera_uuid)
        seen = self._last[event.camera_uuid] = Seen(event.frame_id, mark.loop_frame)
        if before is None or seen.frame < before.frame:
            self.begun[event.camera_uuid] += 1
        else:
            self.lost[event.camera_uuid] += lost(before, seen, loop=self.loop)

    def heard_status(self, report: StreamReport, now: float) -> None:
        """How a stream is."""
        if report.state is StreamState.STREAMING:
            self.streamed.setdefault(report.camera_uuid, []).append(now)


def lost(before: Seen, seen: Seen, *, loop: int) -> int:
    """How many pictures between two were never decoded, as far as it is less than a loop."""
    return (seen.place - before.place - (seen.frame - before.frame)) % loop
