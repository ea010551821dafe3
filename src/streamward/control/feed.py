"""The feed: what is broadcast, read once for all who listen at this control plane.

    database ─one poll each quarter second, while somebody listens→ the newest few thousand ─→ each listener's own place
        └────────── what a listener is behind with is read for it alone, at its own pace ──────────┘

A listener is a position and a filter, and no queue. One that is slow delays nobody, costs no memory, and is told what
it missed if that is forgotten before it comes to it. What is committed is in order (`insight.broadcasts`), so a
position says all.
"""

import asyncio
import bisect
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime

from streamward.insight.broadcasts import Broadcast, Broadcasts
from streamward.model.errors import StreamwardError
from streamward.model.ids import TenantId
from streamward.protocol.listening import EventsMissed, camera_of
from streamward.runtime.journal import Journal
from streamward.runtime.service import Service

POLL_EVERY = 0.25  # seconds
PAGE = 500  # broadcasts read at once
REMEMBERED = 5000  # broadcasts in memory
MOST_LISTENERS = 100  # of one tenant, and as many of the whole installation


class TooManyListen(StreamwardError):
    """A tenant has as many listeners here as it may have."""

    def __str__(self) -> str:
        return f"{MOST_LISTENERS} listen already: end one of them, or use another control plane"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interest:
    """What somebody wants to hear."""

    scope: TenantId | None  # the caller's tenant; None hears all
    camera_id: str | None = None
    kind: str | None = None
    after: datetime | None = None  # what is older is of a deleted tenant that had this name

    def wants(self, told: Broadcast) -> bool:
        return (
            self.scope in (None, told.tenant_id)
            and self.kind in (None, told.kind)
            and (self.after is None or told.at > self.after)
            and (self.camera_id is None or camera_of(told) == self.camera_id)
        )


class Feed:
    """What was told lately."""

    def __init__(self, broadcasts: Broadcasts, *, journal: Journal) -> None:
        self.broadcasts = broadcasts
        self.changed = asyncio.Event()  # set, and replaced, with every change
        self._journal = journal
        self._listeners: Counter[TenantId | None] = Counter()
        self._service: Service | None = None
        self._recent: list[Broadcast] = []
        self._since: int | None = None  # all that was told after this number is in `_recent`; None: nothing is known
        self._head = 0

    @property
    def head(self) -> int:
        """The newest number that is known here."""
        return self._head

    def take_seat(self, scope: TenantId | None) -> None:
        """For one listener, who sits down at once; raises TooManyListen."""
        if self._listeners[scope] >= MOST_LISTENERS:
            raise TooManyListen
        self._listeners[scope] += 1

    @contextlib.asynccontextmanager
    async def seated(self, scope: TenantId | None) -> AsyncIterator[None]:
        """Within somebody listens who took a seat; the poll goes on as long as anybody does."""
        try:
            yield
        finally:
            self._listeners[scope] -= 1
            if not +self._listeners:
                await self._rest()

    def poll(self) -> None:
        """Somebody waits for what is new."""
        if self._service is None:
            self._service = Service("feed", self, journal=self._journal)
            self._service.start()

    def covers(self, position: int) -> bool:
        """Whether all that was told after a position is in memory."""
        return self._since is not None and self._since <= position <= self._head

    def after(self, position: int) -> list[Broadcast]:
        """What was told after a position that is covered, up to a page."""
        first = bisect.bisect_right(self._recent, position, key=lambda each: each.seq)
        return self._recent[first : first + PAGE]

    async def tick(self) -> float:
        """Reads what is new; raises StoreUnavailable."""
        if self._since is None:
            self._since = self._head = await self.broadcasts.newest()
            self._ring()
        found = await self.broadcasts.after(self._head, scope=None, limit=PAGE)
        if found:
            self._recent += found
            self._head = found[-1].seq
            self._forget()
            self._ring()
        return 0.0 if len(found) == PAGE else POLL_EVERY

    async def _rest(self) -> None:
        """Nobody is there."""
        service, self._service = self._service, None
        self._recent, self._since = [], None
        if service is not None:
            await service.stop()

    def _forget(self) -> None:
        if len(self._recent) > REMEMBERED:
            gone = len(self._recent) - REMEMBERED
            self._since = self._recent[gone - 1].seq
            del self._recent[:gone]

    def _ring(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class Listener:
    """Somebody who listens, and how far they have heard."""

    def __init__(self, feed: Feed, interest: Interest, *, position: int) -> None:
        self._feed = feed
        self._interest = interest
        self._position = position

    @property
    def position(self) -> int:
        """The number up to which it has heard all that it wants."""
        return self._position

    async def next(self, *, within: float) -> list[Broadcast] | EventsMissed:
        """What was told after all that it has heard, as soon as there is any; nothing if the time is over.

        Raises StoreUnavailable.
        """
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + within
        self._feed.poll()
        while True:
            changed, at = self._feed.changed, self._position  # before it reads: no change after this is slept through
            heard = await self._read()
            left = ends_at - loop.time()
            if heard or left <= 0:
                return heard
            if self._position == at:
                await _rung(changed, within=left)

    async def _read(self) -> list[Broadcast] | EventsMissed:
        if not self._feed.covers(self._position):
            return await self._caught_up()
        found = self._feed.after(self._position)
        if found:
            self._position = found[-1].seq
        return [each for each in found if self._interest.wants(each)]

    async def _caught_up(self) -> list[Broadcast] | EventsMissed:
        """The next page from the database; whatever was committed before it was asked is in it, or before it."""
        if (missed := await self._missed()) is not None:
            return missed
        head = self._feed.head
        found = await self._feed.broadcasts.after(self._position, scope=self._interest.scope, limit=PAGE)
        last = found[-1].seq if found else self._position
        self._position = last if len(found) == PAGE else max(last, head)
        return [each for each in found if self._interest.wants(each)]

    async def _missed(self) -> EventsMissed | None:
        """What lies between the position and what is kept, if anything does; from then on it is behind that."""
        at, oldest, newest = self._position, await self._feed.broadcasts.oldest(), await self._feed.broadcasts.newest()
        if 0 < at < oldest - 1:  # after 0 is after nothing: from the first that is kept
            self._position = oldest - 1
        elif 0 < newest < at:  # a number of another database, or of one that was set back
            self._position = newest
        else:
            return None
        return EventsMissed(after=at, next=self._position + 1)


async def _rung(changed: asyncio.Event, *, within: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within):
            await changed.wait()
