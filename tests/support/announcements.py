"""Announcements, and the outbox that they wait in, in memory."""

import asyncio
import json
from collections.abc import Sequence

from streamward.model.announcement import EXCHANGE, Announcement
from tests.support.clocks import START


def an_announcement(position: int, *, camera: str = "cam-1", verb: str = "updated") -> Announcement:
    return Announcement(
        position=position,
        event_id=f"event-{position}",
        exchange=EXCHANGE,
        routing_key=f"camera.{verb}.t-01.site-a.{camera}",
        body=json.dumps({"type": f"camera.{verb}", "camera_uuid": camera}),
        at=START,
    )


class MemoryOutbox:
    """What waits, in order."""

    def __init__(self, waiting: Sequence[Announcement] = ()) -> None:
        self.waiting = list(waiting)
        self._changed = asyncio.Event()

    async def only(self, *positions: int) -> None:
        """Waits until nothing else waits."""
        while [each.position for each in self.waiting] != [*positions]:
            await self._changed.wait()
            self._changed.clear()

    async def pending(self, *, limit: int) -> list[Announcement]:
        return self.waiting[:limit]

    async def published(self, positions: Sequence[int]) -> None:
        self.waiting = [each for each in self.waiting if each.position not in positions]
        self._changed.set()
