"""What became of cameras, for those who poll (S0-024)."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from streamward.control.api.routing import Routes
from streamward.control.cursor import Cursors
from streamward.model.announcement import Announcement
from streamward.model.identity import Caller
from streamward.model.ids import TenantId
from streamward.model.register import TOLD_FOR, Outbox
from streamward.protocol.changes import CameraChanges, ChangesQuery, read_change
from streamward.protocol.problem import Problem
from streamward.runtime.bell import Bell

FORGOTTEN = Problem(
    title="Gone",
    status=410,
    detail="what changed since that cursor is not kept any more: ask without one, then list the cameras again",
    reason="changes-forgotten",
)
LOOK_EVERY = 0.2  # seconds: the bell rings for leases too, and each ring would be a query for each waiter
LOOK_AT_LEAST_EVERY = 2.0  # seconds: a ring of another control plane may be lost
_IN_FLIGHT = 60.0  # seconds: longer than any edit takes to be committed after it was dated


class ChangeStore(Outbox, Protocol):
    """The ports that tell changes."""

    async def ping(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a caller has read, and when nothing that follows was there yet."""

    position: int
    at: datetime

    def __str__(self) -> str:
        return f"{self.position} {self.at.timestamp():.6f}"

    @classmethod
    def read(cls, text: str) -> "Mark":
        """A mark from the text that it was."""
        position, seconds = text.split(" ")
        return cls(int(position), datetime.fromtimestamp(float(seconds), UTC))

    def is_kept(self, now: datetime) -> bool:
        """Whether everything that follows is there still."""
        return now - self.at < timedelta(seconds=TOLD_FOR - _IN_FLIGHT)


def add_changes(routes: Routes, store: ChangeStore, *, bell: Bell, cursors: Cursors) -> None:
    """Adds the route that tells changes."""
    told = {400: "The cursor is not one of this caller's", 410: "The cursor is too old: list the cameras again"}

    @routes.get("/v1/cameras/changes", refuses=told)
    async def list_changes(caller: Caller, query: ChangesQuery) -> CameraChanges | Problem:
        """Tells changes of cameras after a cursor, as soon as there are any, or none when the time is over."""
        filters = ["changes", caller.tenant_id]
        now = await store.ping()
        if query.after is None:
            mark = Mark(await store.newest(), now)
        else:
            mark = Mark.read(cursors.open(query.after, filters=filters))
        if not mark.is_kept(now):
            return FORGOTTEN
        found, mark = await _wait(store, bell, mark, scope=caller.tenant_id, query=query)
        items = [read_change(each.body) for each in found]
        return CameraChanges(items=items, cursor=cursors.seal(str(mark), filters=filters))


async def _wait(
    store: ChangeStore, bell: Bell, mark: Mark, *, scope: TenantId | None, query: ChangesQuery
) -> tuple[list[Announcement], Mark]:
    """What was announced after a mark, once there is something, and the mark after it."""
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + query.timeout_s
    while True:
        seen = bell.cursor  # before the store is asked: a ring after this is not lost
        now = await store.ping()
        found = await store.announced(scope=scope, after=mark.position, limit=query.limit)
        if found:
            return found, Mark(found[-1].position, found[-1].at)
        mark = Mark(mark.position, now)
        left = ends_at - loop.time()
        if left <= 0 or bell.is_closed:
            return [], mark
        await asyncio.sleep(min(LOOK_EVERY, left))
        await bell.wait(seen, at_most=max(0.0, min(LOOK_AT_LEAST_EVERY, left - LOOK_EVERY)))
