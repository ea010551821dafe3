"""The relay: moves announcements from the outbox to the broker.

    outbox ─pending→ one lane per camera ─publish→ confirmed ─published→ off the outbox
                            └─ refused: its lane waits, and is tried again alone

Runs in every control plane. Guaranteed: what is announced is published at least once, and of one camera the first sight
of each announcement is in the order in which they were committed; consumers drop repeats by message id. A refused
announcement holds up its own camera only, as long as no more than `MOST_HELD` wait behind refusals.
Not guaranteed: once only, nor an order between cameras, nor what the outbox itself lets go of after its time.
"""

import asyncio
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from streamward.model.announcement import Announcement
from streamward.model.bus import BusAway, Publisher, Refused
from streamward.model.errors import StreamwardError
from streamward.model.topic import Topic
from streamward.runtime.backoff import Backoff, BackoffSpec
from streamward.runtime.clock import Clock
from streamward.runtime.journal import Journal
from streamward.runtime.service import Failures

IN_FLIGHT = 50  # messages without a confirm: more make each wait longer, and little more get through
LOOK_EVERY = 0.5  # seconds between two looks into an outbox that was empty
MOST_HELD = 2000  # announcements that may wait behind refusals without being in the way

_REFUSED = BackoffSpec(first=1.0, longest=60.0)


class Outbox(Protocol):
    """What is to be told to the outside, in the order in which it was committed."""

    async def pending(self, *, limit: int) -> list[Announcement]:
        """What was not published yet, oldest first."""
        ...

    async def published(self, positions: Sequence[int]) -> None:
        """Takes these off the list."""
        ...


class AnnouncementRefused(StreamwardError):
    """The broker did not take an announcement."""

    def __init__(self, announcement: Announcement, why: str) -> None:
        super().__init__(announcement.event_id, announcement.routing_key, why)
        self.announcement = announcement
        self.why = why

    def __str__(self) -> str:
        return f"the broker did not take {self.announcement.routing_key}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncementPublished:
    """The broker confirmed an announcement."""

    event_id: str
    routing_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncingFailed:
    """Announcements could not be published, so many times since this was last said; they wait in the outbox."""

    error: StreamwardError
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """A lane whose first announcement was refused."""

    backoff: Backoff
    until: float  # boot-time


Lane = list[Announcement]


class Relay:
    """Publishes what one database announces."""

    def __init__(self, outbox: Outbox, publisher: Publisher, *, journal: Journal, clock: Clock) -> None:
        self._outbox = outbox
        self._publisher = publisher
        self._journal = journal
        self._clock = clock
        self._held: dict[str, _Held] = {}
        self._behind = 0  # announcements that were seen in lanes that wait
        self._failures = Failures()

    async def tick(self) -> float:
        """Publishes what waits; returns in how many seconds to look again."""
        limit = IN_FLIGHT + min(self._behind, MOST_HELD)
        waiting = await self._outbox.pending(limit=limit)
        lanes = _lanes(waiting)
        self._held = {camera: held for camera, held in self._held.items() if camera in lanes}
        try:
            await self._publish([camera for camera in lanes if camera not in self._held][:IN_FLIGHT], lanes)
            for camera in self._due():
                await self._publish([camera], lanes)
        except BusAway as away:
            self._failures.count(away)
            return away.retry_in
        finally:
            self._behind = sum(len(lanes[camera]) for camera in self._held)
            self._tell()
        return 0.0 if len(waiting) == limit and limit > self._behind else LOOK_EVERY

    def _due(self) -> list[str]:
        now = self._clock.boot()
        return [camera for camera, held in self._held.items() if held.until <= now][:IN_FLIGHT]

    async def _publish(self, cameras: Iterable[str], lanes: dict[str, Lane]) -> None:
        """Publishes these lanes side by side, and takes off what was confirmed before it says what was not."""
        sent = await asyncio.gather(*(self._send(camera, lanes[camera]) for camera in cameras))
        confirmed = [position for each in sent for position in each.confirmed]
        if confirmed:
            await self._outbox.published(confirmed)
        for each in sent:
            if each.away is not None:
                raise each.away

    async def _send(self, camera: str, lane: Lane) -> "_Sent":
        """One lane in its order, up to the first that the broker does not confirm."""
        confirmed: list[int] = []
        for announcement in lane:
            try:
                answer = await self._publisher.publish(announcement.message)
            except BusAway as away:
                return _Sent(confirmed, away)
            if isinstance(answer, Refused):
                self._hold(camera, AnnouncementRefused(announcement, answer.why))
                return _Sent(confirmed)
            self._held.pop(camera, None)
            self._journal.record(
                AnnouncementPublished(event_id=announcement.event_id, routing_key=announcement.routing_key)
            )
            confirmed.append(announcement.position)
        return _Sent(confirmed)

    def _hold(self, camera: str, refused: AnnouncementRefused) -> None:
        self._failures.count(refused)
        held = self._held.get(camera)
        backoff = held.backoff if held else Backoff(_REFUSED, random.SystemRandom())
        self._held[camera] = _Held(backoff=backoff, until=self._clock.boot() + backoff.failed(after=0.0))

    def _tell(self) -> None:
        for error, times in self._failures.due(self._clock.boot()):
            assert isinstance(error, StreamwardError)
            self._journal.record(AnnouncingFailed(error=error, times=times))


@dataclass(frozen=True, slots=True)
class _Sent:
    """What became of a lane."""

    confirmed: list[int]
    away: BusAway | None = None


def _lanes(waiting: Iterable[Announcement]) -> dict[str, Lane]:
    """What must stay in order: everything of one camera."""
    lanes: dict[str, Lane] = {}
    for announcement in waiting:
        lanes.setdefault(Topic.read(announcement.routing_key).camera, []).append(announcement)
    return lanes
