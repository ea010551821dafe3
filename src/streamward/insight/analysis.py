"""What is said of a closed batch: who was there, for how long, and how much somebody should worry.

    case (a batch, and what was seen in it) ─Analyst→ analysis

An analyst is anybody's: the built-in one counts, another asks a language model. Whatever it says, each batch is said
something of once, and what can be counted is counted here and not left to it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Protocol

from streamward.insight.batch import BatchId, Sealed
from streamward.model.detection import Detection
from streamward.model.errors import StreamwardError

STAYS = timedelta(seconds=5)  # of a thing that is seen again within so long it is thought that it stayed
LONGEST_SUMMARY = 2000  # characters
LONGEST_REASON = 300
MOST_REASONS = 20
HIGHEST_RISK = 100


class AnalystUnusable(StreamwardError):
    """A name that stands for no analyst that could be had here."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(name, why)
        self.name = name
        self.why = why

    def __str__(self) -> str:
        return f"the analyst {self.name} cannot be used: {self.why}"


class AnalystFailed(StreamwardError):
    """No analysis came of it, this time."""

    def __init__(self, name: str, why: str, *, retry_in: float = 0.0) -> None:
        super().__init__(name, why)
        self.name = name
        self.why = why
        self.retry_in = retry_in  # seconds for which the analyst asked not to be asked again

    def __str__(self) -> str:
        return f"the analyst {self.name} failed: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A stored detection, with what was seen."""

    detection_id: int
    camera_id: str
    made_at: datetime
    detection: Detection
    is_late: bool = False
    batch_id: BatchId | None = None  # the closed batch that has it
    track: str | None = None  # the same for one thing as long as it was followed; None: nobody did

    @property
    def zones(self) -> tuple[str, ...]:
        """Where it stood."""
        return self.detection.zones


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What an analyst is shown."""

    batch: Sealed
    seen: tuple[Recorded, ...]  # at least one


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """All things of one kind in a batch."""

    label: str
    count: int  # detections
    most_at_once: int  # in one frame
    first_seen: datetime
    last_seen: datetime
    dwell: float  # seconds in which at least one was there, as far as it was looked at
    confidence: float  # of the surest
    zones: tuple[str, ...] = ()  # in which one stood
    tracks: int | None = (
        None  # how many things they are, if each was followed; one that was lost and found counts twice
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What is said of one batch."""

    batch_id: BatchId
    tenant_id: str
    camera_id: str
    analyst: str
    summary: str
    risk: int  # 0 to 100
    reasons: tuple[str, ...]  # for the risk
    presences: tuple[Presence, ...]  # most often seen first
    first_seen: datetime
    last_seen: datetime


class Analyst(Protocol):
    """Says something of batches."""

    async def analyse(self, case: Case) -> Analysis:
        """Raises AnalystFailed; the same case may be shown again."""
        ...


def analysis(case: Case, *, analyst: str, summary: str, risk: int, reasons: Sequence[str]) -> Analysis:
    """What an analyst said, within bounds, beside what was counted."""
    moments = [each.made_at for each in case.seen]
    return Analysis(
        batch_id=case.batch.batch_id,
        tenant_id=case.batch.tenant_id,
        camera_id=case.batch.camera_id,
        analyst=analyst,
        summary=summary[:LONGEST_SUMMARY],
        risk=max(0, min(HIGHEST_RISK, risk)),
        reasons=tuple(each[:LONGEST_REASON] for each in reasons[:MOST_REASONS]),
        presences=presences(case.seen),
        first_seen=min(moments),
        last_seen=max(moments),
    )


def presences(seen: Iterable[Recorded]) -> tuple[Presence, ...]:
    """What was seen, by its kind."""
    by_label: dict[str, list[Recorded]] = {}
    for each in seen:
        by_label.setdefault(each.detection.label, []).append(each)
    found = [_presence(label, each) for label, each in by_label.items()]
    return tuple(sorted(found, key=lambda each: (-each.count, each.label)))


def dwell(moments: Iterable[datetime]) -> float:
    """How long something was there that was seen at these moments; a longer absence does not count."""
    ordered = sorted(moments)
    steps = (later - earlier for earlier, later in pairwise(ordered))
    return sum((step for step in steps if step <= STAYS), timedelta()).total_seconds()


def _presence(label: str, seen: Sequence[Recorded]) -> Presence:
    moments = [each.made_at for each in seen]
    return Presence(
        label=label,
        count=len(seen),
        most_at_once=max(Counter(moments).values()),
        first_seen=min(moments),
        last_seen=max(moments),
        dwell=dwell(moments),
        confidence=max(each.detection.confidence for each in seen),
        zones=tuple(sorted({zone for each in seen for zone in each.zones})),
        tracks=_tracks(seen),
    )


def _tracks(seen: Iterable[Recorded]) -> int | None:
    found = {each.track for each in seen}
    return None if None in found else len(found)
