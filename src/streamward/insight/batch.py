"""The batch: the detections of one camera that belong together, by the time at which they were made.

    nothing ──first──→ open ──joins──→ open ──full, or due by window or idle──→ sealed ──→ closed, told once
                                          └─ too late for it: it is sealed, and the next one opens
                                          └─ too early for it: goes aside

Window and idle are judged by `made_at`, the camera's own time, and not by arrival: a spool that is drained an hour
later becomes the batches that it would have been. A timer sees the camera's time as its own less what the newest
detection lagged behind when it came; without a lag these are the same.

Each camera has two lanes. In the first the present is gathered. Aside go what the fence calls late, and what comes long
after its batch was sealed: an old spool beside a stream that runs. Nothing there waits for order.

Both limits count from their exact moment (≥), and the window is tested before the idle time.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NewType, Self

BatchId = NewType("BatchId", str)  # `batch-` and 32 hex digits; never used twice

_SHORT = len("batch-") + 8


class CloseReason(StrEnum):
    """Why a batch was sealed (S2-41)."""

    WINDOW = "window_timeout"
    IDLE = "idle_timeout"
    SIZE = "max_size"
    FAST_PATH = "fast_path"  # a batch of one that could not wait
    OUT_OF_ORDER = "out_of_order"  # what came next aside is older, and fits nowhere near


class Lane(StrEnum):
    """Which of a camera's two open batches."""

    PRESENT = "current"
    ASIDE = "aside"


class Fit(StrEnum):
    """How a detection stands to an open batch."""

    JOINS = "joins"
    AFTER = "after"  # the batch is over: this one opens the next
    BEFORE = "before"  # long before all that is in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a batch is over (S2-29)."""

    window: float = 90.0  # seconds from its first detection
    idle: float = 30.0  # seconds from its last one
    most: int = 500  # detections


@dataclass(frozen=True, slots=True)
class Sighting:
    """One stored detection, as a batch sees it."""

    detection_id: int
    made_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBatch:
    """What a batch is while it can still grow."""

    batch_id: BatchId
    started_at: datetime  # the earliest of its detections
    last_activity: datetime  # the latest
    lag: timedelta  # how far the latest lay behind the clock when the last one came
    detection_ids: tuple[int, ...]  # in the order of arrival

    @classmethod
    def opened(cls, batch_id: BatchId, first: Sighting, *, now: datetime) -> Self:
        """A batch of one."""
        return cls(
            batch_id=batch_id,
            started_at=first.made_at,
            last_activity=first.made_at,
            lag=_lag(first.made_at, now),
            detection_ids=(first.detection_id,),
        )

    def joined(self, sighting: Sighting, *, now: datetime) -> Self:
        """With one detection more."""
        last = max(self.last_activity, sighting.made_at)
        return replace(
            self,
            started_at=min(self.started_at, sighting.made_at),
            last_activity=last,
            lag=_lag(last, now),
            detection_ids=(*self.detection_ids, sighting.detection_id),
        )

    def fit(self, sighting: Sighting, limits: Limits) -> Fit:
        """Whether a detection belongs into it, by when it was made."""
        if self.over(sighting.made_at, limits) is not None:
            return Fit.AFTER
        window, idle = timedelta(seconds=limits.window), timedelta(seconds=limits.idle)
        is_near = self.started_at - sighting.made_at < idle and self.last_activity - sighting.made_at < window
        return Fit.JOINS if is_near else Fit.BEFORE

    def over(self, camera_time: datetime, limits: Limits) -> CloseReason | None:
        """Why it is over at that moment of the camera's time; None: it is not."""
        if camera_time >= self.started_at + timedelta(seconds=limits.window):
            return CloseReason.WINDOW
        if camera_time >= self.last_activity + timedelta(seconds=limits.idle):
            return CloseReason.IDLE
        return None

    def due_at(self, limits: Limits) -> datetime:
        """When a timer closes it, if nothing more comes."""
        window, idle = timedelta(seconds=limits.window), timedelta(seconds=limits.idle)
        return min(self.started_at + window, self.last_activity + idle) + self.lag

    def due(self, limits: Limits, *, now: datetime) -> CloseReason | None:
        """Why a timer closes it now; None: it does not."""
        return self.over(now - self.lag, limits)

    def is_full(self, limits: Limits) -> bool:
        return len(self.detection_ids) >= limits.most


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A batch that grows no more and waits to be written down."""

    batch_id: BatchId
    tenant_id: str
    camera_id: str
    detection_ids: tuple[int, ...]
    started_at: datetime
    closed_at: datetime
    reason: CloseReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathering:
    """A camera's two open batches."""

    present: OpenBatch | None = None
    aside: OpenBatch | None = None

    def on(self, lane: Lane) -> OpenBatch | None:
        return self.present if lane is Lane.PRESENT else self.aside

    def having(self, lane: Lane, batch: OpenBatch | None) -> "Gathering":
        """With another batch on that lane, or none."""
        return replace(self, present=batch) if lane is Lane.PRESENT else replace(self, aside=batch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What adding one detection did."""

    gathering: Gathering
    batch_id: BatchId  # where it went
    sealed: tuple[tuple[OpenBatch, CloseReason], ...] = ()  # what was over by that, oldest first


def add(gathering: Gathering, sighting: Sighting, *, lane: Lane, limits: Limits, now: datetime, fresh: BatchId) -> Step:
    """Puts one detection where it belongs; `fresh` names a batch that opens for it."""
    held = gathering.on(lane)
    fit = None if held is None else held.fit(sighting, limits)
    if lane is Lane.PRESENT and fit is Fit.BEFORE:
        return add(gathering, sighting, lane=Lane.ASIDE, limits=limits, now=now, fresh=fresh)
    sealed: tuple[tuple[OpenBatch, CloseReason], ...] = ()
    if held is None or fit is not Fit.JOINS:
        batch = OpenBatch.opened(fresh, sighting, now=now)
        if held is not None:
            sealed = ((held, held.over(sighting.made_at, limits) or CloseReason.OUT_OF_ORDER),)
    else:
        batch = held.joined(sighting, now=now)
    if batch.is_full(limits):
        sealed = (*sealed, (batch, CloseReason.SIZE))
        return Step(gathering=gathering.having(lane, None), batch_id=batch.batch_id, sealed=sealed)
    return Step(gathering=gathering.having(lane, batch), batch_id=batch.batch_id, sealed=sealed)


def short(batch_id: BatchId) -> str:
    """What people and S2's messages call it; two batches in four billion share one."""
    return batch_id[:_SHORT]


def _lag(made_at: datetime, now: datetime) -> timedelta:
    return max(timedelta(0), now - made_at)
