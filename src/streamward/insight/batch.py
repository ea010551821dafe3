"""The batch: the detections of one camera that belong together, by the time at which they were made.

    nothing ──first──→ open ──joins──→ open ──full, or due by window or idle──→ sealed ──→ closed, told once
                                          └─ too late for it: it is sealed, and the next one opens
                                          └─ too early for it: goes aside

Window and idle are judged by `made_at`, the camera's own time, and not by arrival: a spool that is drained an hour
later is split where its detections have gaps. A timer sees the camera's time as its own less what the newest
detection lagged behind when it came; without a lag these are the same.

Each camera has two lanes. In the first the present is gathered. Aside go what the fence calls late, and what comes long
after its batch was sealed: an old spool beside a stream that runs. Nothing there waits for order.

The window is over at its exact moment (≥ 90 s) and is tested before the idle time. The idle time is over strictly after
it (> 30 s), and only a periodic check judges it: a detection that arrives before the check keeps the batch open, as in
S2's timeline (T+15, check at T+45, T+50). A detection that was made more than idle time and check period after the last
one opens the next batch, because a check must have been in between; that is how a drained spool is split.
"""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NewType, Self

BatchId = NewType("BatchId", str)  # `batch-` and 32 hex digits; never used twice

_PREFIX = re.compile(r"batch-[0-9a-f]{4,32}")
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
    check_every: float = 5.0  # seconds between two checks of the idle time (S2-10)

    @property
    def reach(self) -> timedelta:
        """The longest pause between two detections of one batch: a check may come that much after the idle time."""
        return timedelta(seconds=self.idle) + timedelta(seconds=self.check_every)


@dataclass(frozen=True, slots=True)
class Sighting:
    """One stored detection, as a batch sees it."""

    detection_id: int
    made_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBatch:
    """What a batch is while it can still grow."""

    batch_id: BatchId
    started_at: datetime  # when it was opened, by the batcher's clock
    first_made_at: datetime  # the earliest frame of its detections
    last_activity: datetime  # the latest
    lag: timedelta  # how far the latest lay behind the clock when the last one came
    detection_ids: tuple[int, ...]  # in the order of arrival

    @classmethod
    def opened(cls, batch_id: BatchId, first: Sighting, *, now: datetime) -> Self:
        """A batch of one."""
        return cls(
            batch_id=batch_id,
            started_at=now,
            first_made_at=first.made_at,
            last_activity=first.made_at,
            lag=_lag(first.made_at, now),
            detection_ids=(first.detection_id,),
        )

    def joined(self, sighting: Sighting, *, now: datetime) -> Self:
        """With one detection more."""
        last = max(self.last_activity, sighting.made_at)
        return replace(
            self,
            first_made_at=min(self.first_made_at, sighting.made_at),
            last_activity=last,
            lag=_lag(last, now),
            detection_ids=(*self.detection_ids, sighting.detection_id),
        )

    def fit(self, sighting: Sighting, limits: Limits) -> Fit:
        """Whether a detection belongs into it, by when it was made."""
        if self.ended_before(sighting, limits) is not None:
            return Fit.AFTER
        window = timedelta(seconds=limits.window)
        is_near = (
            self.first_made_at - sighting.made_at <= limits.reach and self.last_activity - sighting.made_at < window
        )
        return Fit.JOINS if is_near else Fit.BEFORE

    def ended_before(self, sighting: Sighting, limits: Limits) -> CloseReason | None:
        """Why it must have been over when a detection was made; None: it may have been open."""
        if sighting.made_at >= self.first_made_at + timedelta(seconds=limits.window):
            return CloseReason.WINDOW
        if sighting.made_at > self.last_activity + limits.reach:
            return CloseReason.IDLE
        return None

    def window_ends_at(self, limits: Limits) -> datetime:
        """From when on a timer closes it."""
        return self.first_made_at + timedelta(seconds=limits.window) + self.lag

    def idle_after(self, limits: Limits) -> datetime:
        """Strictly after which a check closes it, if nothing more comes."""
        return self.last_activity + timedelta(seconds=limits.idle) + self.lag

    def is_full(self, limits: Limits) -> bool:
        return len(self.detection_ids) >= limits.most


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A batch that grows no more and waits to be written down."""

    batch_id: BatchId
    tenant_id: str
    camera_id: str
    detection_ids: tuple[int, ...]
    started_at: datetime  # when it was opened
    pipeline_start_time: datetime | None  # its earliest frame; None: closed by a release that did not store it
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
            sealed = ((held, held.ended_before(sighting, limits) or CloseReason.OUT_OF_ORDER),)
    else:
        batch = held.joined(sighting, now=now)
    if batch.is_full(limits):
        sealed = (*sealed, (batch, CloseReason.SIZE))
        return Step(gathering=gathering.having(lane, None), batch_id=batch.batch_id, sealed=sealed)
    return Step(gathering=gathering.having(lane, batch), batch_id=batch.batch_id, sealed=sealed)


def short(batch_id: BatchId) -> str:
    """What people and S2's messages call it; two batches in four billion share one."""
    return batch_id[:_SHORT]


def is_prefix(text: str) -> bool:
    """Whether an id may begin so, and with enough of it to tell batches apart: a short id, or some of it."""
    return _PREFIX.fullmatch(text) is not None


def _lag(made_at: datetime, now: datetime) -> timedelta:
    return max(timedelta(0), now - made_at)
