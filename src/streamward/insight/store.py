"""What batching asks of the database, which is the truth, and of the index of open batches, which may forget.

    deliver ─→ admit (fence, once) ─→ add to the index ─→ acknowledge
                                          │ full or due
                                        seal ─→ close: batch, its detections, outbox, one transaction ─→ forget
    sweep: stored and in no batch ────────↑                                      │
                                                                               relay ─→ analysis queue

Guaranteed by the database: each accepted detection is stored once and is in at most one batch; a batch has exactly the
detections that it claimed, and is in the outbox if it has any. By the sweep: each is in one in the end.
Not guaranteed by the index: anything. It may lose its last second or everything, and may bring back what was forgotten;
batches then open anew from what is stored, and a batch that is closed already claims nothing more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from streamward.insight.batch import BatchId, Lane, Limits, Sealed, Sighting
from streamward.insight.rules import Rules, Wishes
from streamward.model.detection import Detection
from streamward.model.errors import StreamwardError
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId, SiteId, TenantId
from streamward.model.register import Note

CLOSING_FOR = timedelta(seconds=300)  # S2-19: who sealed a batch and has not written it down by then will not
ALERTED_FOR = timedelta(minutes=10)  # a tracked object that was not detected for so long is over (`vision.tracking`)


class IndexAway(StreamwardError):
    """The index of open batches does not answer; what was asked of it may or may not have happened."""

    def __init__(self, index: str, why: str) -> None:
        super().__init__(index, why)
        self.index = index  # host and port; never a password
        self.why = why

    def __str__(self) -> str:
        return f"the index of open batches {self.index} does not answer: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Whatever is told of one frame, and who says so: all that the fence asks."""

    event_id: str
    index: int  # its place in the event
    tenant_id: TenantId
    site_id: SiteId
    camera_id: CameraId
    runner_id: RunnerId
    incarnation: Incarnation
    generation: Generation
    made_at: datetime  # the frame's


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen(Made):
    """One thing that was seen."""

    detection: Detection

    @property
    def track(self) -> str | None:
        """The tracked object: an event is called `<camera>.<generation>.<epoch>.<frame>`, and tracks are an epoch's."""
        number = self.detection.track_id
        return None if number is None else f"{self.event_id.rpartition('.')[0]}.{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A detection that the database has."""

    detection_id: int
    made_at: datetime  # never ahead of the database's clock
    is_late: bool
    is_new: bool  # it was not there before
    batch_id: BatchId | None  # the closed batch that has it

    @property
    def lane(self) -> Lane:
        return Lane.ASIDE if self.is_late else Lane.PRESENT

    @property
    def sighting(self) -> Sighting:
        return Sighting(self.detection_id, self.made_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """What became of each, in the order in which they were offered; None: the fence refused it."""

    stored: tuple[Stored | None, ...]
    at: datetime  # the database's time


@dataclass(frozen=True, slots=True, kw_only=True)
class Loose:
    """A stored detection that is in no closed batch."""

    tenant_id: TenantId
    camera_id: CameraId
    stored: Stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """What a batch claimed when it was written down."""

    batch: Sealed  # with exactly the detections that are its own
    is_new: bool  # by this call; otherwise it was closed before, and claimed nothing more
    left: tuple[Loose, ...] = ()  # named in it, in no batch, and not claimed: to be added again


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A closed batch that the analysis queue has not taken yet."""

    position: int
    batch: Sealed


class DetectionStore(Protocol):
    """Detections: each once, behind the fence."""

    async def admit(self, seen: Sequence[Seen]) -> Admitted:
        """Stores what the fence lets pass, each (event_id, index) once.

        Raises StoreUnavailable, and then all may be offered again.
        """
        ...

    async def loose(self, *, stored_before: datetime, after: int, limit: int) -> list[Loose]:
        """What is in no batch though it was stored before that moment, in the order of ids after `after`."""
        ...


class BatchStore(Protocol):
    """Closed batches and what waits to be told of them."""

    async def close_batch(self, batch: Sealed) -> Closed:
        """Writes it down, claims its detections and puts it into the outbox, all or nothing.

        A batch that claims nothing is not written. One that is there already claims nothing more.
        """
        ...

    async def reopen(self, batch_id: BatchId) -> tuple[Loose, ...]:
        """Gives the detections of a batch back, so that another claims them: nobody could analyse an urgent one."""
        ...

    async def untold(self, *, limit: int) -> list[Waiting]:
        """Batches that the analysis queue has not taken, oldest first."""
        ...

    async def told(self, positions: Sequence[int]) -> None: ...


class RuleBook(Protocol):
    """What tenants want of batching."""

    async def rules(self) -> dict[TenantId, Rules]:
        """Of every tenant that there is, the installation's rules with what it wishes."""
        ...

    async def tenant_keys(self) -> dict[TenantId, str]:
        """The internal id of every tenant that there is."""
        ...

    async def find_wishes(self, tenant_id: TenantId, *, scope: TenantId | None) -> Wishes | None:
        """What one tenant wants otherwise; None: there is no such tenant."""
        ...

    async def save_wishes(self, tenant_id: TenantId, wishes: Wishes, *, note: Note) -> bool:
        """Replaces them and writes down whose doing it is; returns whether there is such a tenant."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """Detections of one camera that come together."""

    tenant_id: TenantId
    camera_id: CameraId
    sightings: Sequence[Sighting]
    lane: Lane
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """What adding to the index did."""

    batch_ids: tuple[BatchId, ...]  # where each went, in the order in which they were offered
    sealed: tuple[Sealed, ...]  # what is over: to be closed by who added


class OpenBatches(Protocol):
    """The index of open batches. Every call is all or nothing, and may be repeated.

    Who adds what is here already is told again of all that is sealed of that camera and not forgotten: the answer to
    the first try may have been lost.
    """

    async def add(
        self,
        tenant_id: TenantId,
        camera_id: CameraId,
        sightings: Sequence[Sighting],
        *,
        lane: Lane,
        limits: Limits,
        now: datetime,
    ) -> Placed:
        """Puts detections of one camera where they belong; one that is in an open or sealed batch stays there.

        Raises IndexAway, and then nothing or all of it happened.
        """
        ...

    async def add_all(self, additions: Sequence[Addition], *, now: datetime) -> list[Placed]:
        """Adds for many cameras in one go, in this order; raises IndexAway, and then any of them may have happened."""
        ...

    async def add_urgent(
        self, tenant_id: TenantId, camera_id: CameraId, sighting: Sighting, *, now: datetime
    ) -> Placed:
        """A batch of one, sealed at once; one that is in an open batch already stays there, and nothing is sealed."""
        ...

    async def claim_alerts(
        self, tenant_id: TenantId, tracks: Sequence[tuple[str, int]], *, now: datetime
    ) -> frozenset[int]:
        """Which of these detections are to be alerted of: of each track the first that was offered, however often.

        Tracks come with their detections' ids. A track is forgotten `ALERTED_FOR` after it was offered last.
        Raises IndexAway.
        """
        ...

    async def seal_due(self, tenant_id: TenantId, *, now: datetime, limit: int, is_check: bool) -> list[Sealed]:
        """Adopts what was sealed `CLOSING_FOR` ago and never forgotten, then seals what is due, most overdue first.

        Due is a batch whose window has ended (at `now` or before) and, only in a check, one that is idle (strictly
        before `now`).
        """
        ...

    async def forget(self, tenant_id: TenantId, batches: Sequence[Sealed]) -> None:
        """They are written down. One that is not sealed here is left alone: it will be, and then claims nothing."""
        ...

    async def drop_tenant(self, tenant_id: TenantId) -> None:
        """Forgets every batch of a tenant, whatever its state; raises IndexAway."""
        ...

    async def next_window_end(self, tenant_id: TenantId) -> datetime | None:
        """When the next window ends; None: no batch is open."""
        ...

    async def began(self) -> str:
        """Another text whenever it may have lost everything since the last time; raises IndexAway."""
        ...

    async def close(self) -> None:
        """Ends its connections, and no batch."""
        ...


def in_turn(made: Sequence[Made]) -> list[int]:
    """The places of what is offered in the order in which it is stored: oldest first.

    The same for whoever offers the same, so that two stores at once never wait for each other.
    """
    return sorted(range(len(made)), key=lambda place: (made[place].made_at, made[place].event_id, made[place].index))
