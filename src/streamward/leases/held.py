"""One lease as its owner knows it: until when it may be used, and how what is made under it is dated.

Trust is counted on the boot-time clock from *before* the ask that earned it, less a margin (`leases.policy`). Dates are
database time on the late side: counted from before the ask too, not from the answer. A frame from before the grant was
heard of may be another owner's moment, and gets no date.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from streamward.leases.fence import Stamp
from streamward.leases.lease import Owner
from streamward.leases.policy import trusted_for
from streamward.leases.store import Kept
from streamward.model.ids import CameraId, Generation


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What the newest answer said of a lease."""

    generation: Generation
    deadline: float  # boot-time until which it may be used
    told_at: datetime  # the database's time in the answer that set the deadline
    asked: float  # boot-time before that answer's ask
    since: float  # boot-time of the answer that first told of this generation

    def is_trusted(self, now: float) -> bool:
        """Whether it may be used."""
        return now < self.deadline

    def database_time(self, boot: float) -> datetime:
        """Database time at a boot-time, on the late side."""
        return self.told_at + timedelta(seconds=boot - self.asked)

    def stamp(self, camera_id: CameraId, owner: Owner, *, arrived: float, now: float) -> Stamp | None:
        """What a frame that arrived then carries if it is emitted now; None: it must not be."""
        if not self.is_trusted(now) or arrived < self.since:
            return None
        return Stamp(camera_id=camera_id, generation=self.generation, owner=owner, made_at=self.database_time(arrived))


def heard(kept: Kept, *, at: datetime, asked: float, now: float, known: Held | None) -> Held:
    """A lease after an answer that gave or kept it; `known` is what was known of the camera's lease before."""
    is_same = known is not None and known.generation == kept.generation
    return Held(
        generation=kept.generation,
        deadline=asked + trusted_for(kept.ttl),
        told_at=at,
        asked=asked,
        since=known.since if known is not None and is_same else now,
    )
