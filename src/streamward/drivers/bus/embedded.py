"""The port on the file: one process's bus, and its consumers."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from streamward.drivers.bus import jobs
from streamward.drivers.bus.file import MOST_BYTES
from streamward.drivers.bus.writer import Job, Writer
from streamward.model.bus import BusAway, Delivery, Published, Queue, Refused
from streamward.model.message import Message, unfit
from streamward.runtime.clock import Clock

ANSWER_WITHIN = 10.0  # seconds

T = TypeVar("T")


class EmbeddedBus:
    """One process's way to the file; opens it when there is something to do."""

    def __init__(self, path: Path, *, clock: Clock, most_bytes: int = MOST_BYTES) -> None:
        self._writer = Writer(path, clock, most_bytes=most_bytes)

    async def publish(self, message: Message) -> Published | Refused:
        """Confirms when the commit is on disk; raises BusAway."""
        if (reason := unfit(message)) is not None:
            return Refused(reason)
        encoded = jobs.encode(replace(message, is_mandatory=False))
        job = partial(jobs.publish, message=message, encoded=encoded)
        return await _answer(self._writer, self._writer.ask(job, is_synced=True))

    async def declare(self, queue: Queue) -> None:
        """Makes the queue if it is not there, and adds its bindings; raises QueueRefused, BusAway."""

        def job(session: jobs.Session) -> None:
            session.topology.declare(session.connection, queue)

        await _answer(self._writer, self._writer.ask(job, is_synced=True))

    async def waiting(self, queue: str) -> int:
        """How many nobody has in hand; raises QueueRefused, BusAway."""
        return await _answer(self._writer, self._writer.ask(partial(jobs.waiting, queue=queue)))

    def consume(self, queue: str, *, prefetch: int) -> "EmbeddedConsumer":
        """A reader of a queue, with at most so many messages in hand."""
        return EmbeddedConsumer(self._writer, queue, prefetch=prefetch)

    async def close(self) -> None:
        """Ends the thread; consumers are closed before."""
        await self._writer.close()


class EmbeddedConsumer:
    """Claims ahead, up to `prefetch`, as a broker would push."""

    def __init__(self, writer: Writer, queue: str, *, prefetch: int) -> None:
        self._writer = writer
        self._queue = queue
        self._prefetch = prefetch
        self._owner: int | None = None
        self._claiming: asyncio.Future[list[Delivery]] | None = None
        self._claimed: deque[Delivery] = deque()
        self._in_hand: set[int] = set()  # claimed, taken or not
        self._is_more = False  # the last claim took all that there was room for
        self._owed: set[int] = set()  # said to be done with, but the file could not be written: they come again
        self._bell = asyncio.Event()

    async def take(self, *, at_most: int, within: float, gather: float = 0.0) -> list[Delivery]:
        """What waits, oldest first; raises BusAway, QueueRefused."""
        loop = asyncio.get_running_loop()
        if gather > 0 and len(self._claimed) < at_most:
            if not self._is_more:
                await asyncio.sleep(gather)
            self._bell.clear()
            await self._claim()
        give_up_at = loop.time() + within
        while not self._claimed:
            self._bell.clear()  # before the claim: what comes after it rings
            await self._claim()
            if not self._claimed and not await _rings(self._bell, give_up_at - loop.time()):
                return []
        return [self._claimed.popleft() for _ in range(min(at_most, len(self._claimed)))]

    async def ack(self, deliveries: Sequence[Delivery]) -> None:
        """They never come again; raises BusAway."""
        places = self._hand_over(deliveries)
        if places and self._owner is not None:
            await self._say(partial(jobs.acknowledge, owner=self._owner, places=places), places)

    async def give_back(self, deliveries: Sequence[Delivery], *, requeue: bool) -> None:
        """They come again, or are thrown away; raises BusAway."""
        if not requeue:
            return await self.ack(deliveries)
        places = self._hand_over(deliveries)
        if places and self._owner is not None:
            await self._say(partial(jobs.give_back, queue=self._queue, owner=self._owner, places=places), places)
        return None

    async def close(self) -> None:
        """Gives back what was not acknowledged; if the file cannot be written, others will find that we are gone."""
        self._writer.unwatch(self._queue, self._bell)
        owner, self._owner = self._owner, None
        if owner is None:
            return

        def job(session: jobs.Session) -> None:
            jobs.release(session, owner)
            session.owners.let_go(owner)

        self._writer.owned.discard(owner)
        await asyncio.wait([self._writer.ask(job)], timeout=ANSWER_WITHIN)

    async def _claim(self) -> None:
        """Fills up to `prefetch`; a claim outlives whoever gave up waiting for it."""
        if self._owner is None:
            self._owner = await self._ask(jobs.new_owner)
            self._writer.owned.add(self._owner)
            self._writer.watch(self._queue, self._bell)
        if self._owed:
            await self._ask(partial(jobs.give_back, queue=self._queue, owner=self._owner, places=[*self._owed]))
            self._owed.clear()
        room = self._prefetch - len(self._in_hand)
        if self._claiming is None and room > 0:
            job = partial(jobs.claim, queue=self._queue, owner=self._owner, at_most=room)
            self._claiming = self._writer.ask(job)
            self._claiming.add_done_callback(partial(self._note, room))
        if self._claiming is not None:
            await _answer(self._writer, self._claiming)

    def _note(self, room: int, claiming: "asyncio.Future[list[Delivery]]") -> None:
        self._claiming = None
        if not claiming.cancelled() and claiming.exception() is None:
            self._is_more = len(claiming.result()) == room
            self._claimed.extend(claiming.result())
            self._in_hand.update(each.tag for each in claiming.result())

    def _hand_over(self, deliveries: Sequence[Delivery]) -> list[int]:
        """Which of these are ours; there is room again."""
        places = [each.tag for each in deliveries if each.tag in self._in_hand]
        self._in_hand.difference_update(places)
        self._bell.set()
        return places

    async def _say(self, job: Job[None], places: Sequence[int]) -> None:
        try:
            await self._ask(job)
        except BusAway:
            self._owed.update(places)
            raise

    async def _ask(self, job: Job[T]) -> T:
        return await _answer(self._writer, self._writer.ask(job))


async def _rings(bell: asyncio.Event, within: float) -> bool:
    try:
        async with asyncio.timeout(within):
            await bell.wait()
    except TimeoutError:
        return False
    return True


async def _answer(writer: Writer, asked: "asyncio.Future[T]") -> T:
    """The answer, in time; giving up leaves the job alone."""
    done, _ = await asyncio.wait([asked], timeout=ANSWER_WITHIN)
    if not done:
        raise writer.away("no answer in time")
    return asked.result()
