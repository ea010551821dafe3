"""What a camera's passing from one Worker to another cost, told by the pictures that each of them looked at.

The recorder paints into each picture its place in the loop. Each start of a camera has an epoch of its own within the
generation of its lease, so what was looked at before and after is known however the events came: between the last
picture of the one and the first of the other lie so many, and a picture that both looked at is doubled.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise

from streamward.drills.soak import marked
from streamward.protocol.events import DetectionEvent
from streamward.protocol.streams import StreamReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """One camera from one Worker to the next."""

    camera: str
    pictures: int  # from the last that the old one looked at to the first of the new one; negative: they overlap
    doubled: int  # that both looked at


@dataclass(slots=True)
class Handovers:
    """What was heard of all cameras."""

    loop: int  # pictures of a loop
    unread: int = 0  # events that do not tell their picture
    _places: defaultdict[str, defaultdict[tuple[int, int], dict[int, int]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(dict))
    )  # by camera, generation and epoch, and the Worker's count

    def heard_detection(self, event: DetectionEvent) -> None:
        """A picture was looked at."""
        mark = next((found for each in event.detections if (found := marked.read(each.label))), None)
        if mark is None or mark.loop_frame < 0:
            self.unread += 1
            return
        self._places[event.camera_uuid][event.generation, event.epoch][event.frame_id] = mark.loop_frame

    def heard_status(self, _report: StreamReport, _now: float) -> None:
        """It tells no picture."""

    @property
    def cameras(self) -> set[str]:
        """All that were heard of."""
        return set(self._places)

    def take(self) -> list[Handover]:
        """What there was since this was last asked; only the newest epoch of each camera is remembered."""
        found = []
        for camera, by_epoch in self._places.items():
            epochs = sorted(by_epoch)
            found += [self._between(camera, by_epoch[old], by_epoch[new]) for old, new in pairwise(epochs)]
            for old in epochs[:-1]:
                del by_epoch[old]
        return found

    def _between(self, camera: str, old: dict[int, int], new: dict[int, int]) -> Handover:
        """As far as it is less than half a loop either way."""
        last, first = old[max(old)], new[min(new)]
        ahead = (first - last) % self.loop
        pictures = ahead if ahead <= self.loop // 2 else ahead - self.loop
        recent = {place for frame, place in old.items() if max(old) - frame < self.loop // 2}
        beginning = {place for frame, place in new.items() if frame - min(new) < self.loop // 2}
        doubled = len(recent & beginning) if pictures <= 0 else 0
        return Handover(camera=camera, pictures=pictures, doubled=doubled)
