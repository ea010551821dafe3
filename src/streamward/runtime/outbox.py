"""The outbox: what a process tells the bus goes through its spool, and from there to the bus with confirms.

    append ─write→ spool ─live first→ publish ─confirmed→ trimmed
                     ↑                   └─ refused, or the bus is away: kept, and tried again

Guaranteed: `append` waits for no broker, whatever that does. What was appended is published until the bus confirms it,
by this process or by one that adopts its spool; what gave way in a full spool is told as a gap with its exact count.
While the bus is away nothing new is handed out, so all but the few under way can give way. After an outage what is made
now goes first, and what waited follows.
Not guaranteed: order, nor once only: consumers know repeats by `message_id`. A message that is refused is tried again
for ever, and `MOST_HELD` of them stop everything else: whoever publishes mandatory messages has declared their queue.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Self

import msgspec

from streamward.model.bus import BusAway, Publisher, Refused
from streamward.model.errors import StreamwardError
from streamward.model.message import MOST_BYTES, Message, unfit
from streamward.runtime import failpoints
from streamward.runtime.backoff import Backoff, BackoffSpec
from streamward.runtime.clock import Clock
from streamward.runtime.journal import Journal
from streamward.runtime.service import Failures, Service
from streamward.runtime.spool import Gap, Spool, Waiting

IN_FLIGHT = 50  # messages without a confirm: more make each wait longer, and little more get through
MOST_HELD = 200  # refused messages, beyond which nothing new is tried
MOST_BEHIND = 500  # live records that may queue up; then they are backlog, and newer ones go first
LOOK_EVERY = 1.0  # seconds between two looks into a spool that was empty, unless something is appended
GAVE_WAY_EVERY = 5.0  # seconds between two reports of records that gave way
EMPTY_EVERY = 0.05  # seconds between two looks at whether all is out

SENDING = failpoints.declare("outbox.before-publish")
FINISHED = failpoints.declare("outbox.after-adopted")

_REFUSED = BackoffSpec(first=0.5, longest=60.0)

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Message)

TellGap = Callable[[Spool, Gap], Message]


class MessageUnfit(StreamwardError):
    """A message that no bus takes, now or ever."""

    def __init__(self, message: Message, why: str) -> None:
        super().__init__(message.message_id, why)
        self.message = message
        self.why = why

    def __str__(self) -> str:
        return f"the message {self.message.message_id[:100]} cannot be published: {self.why}"


class MessageRefused(StreamwardError):
    """The bus did not take a message that it should take."""

    def __init__(self, routing_key: str, why: str) -> None:
        super().__init__(routing_key, why)
        self.routing_key = routing_key
        self.why = why

    def __str__(self) -> str:
        return f"the bus did not take {self.routing_key}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesPublished:
    """The bus confirmed so many messages."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsDropped:
    """So many records gave way: for counters, at once."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsGaveWay:
    """The spool was full, or its disk: so many records were dropped, and will be told as a gap."""

    is_warning: ClassVar[bool] = True

    count: int  # since this was last recorded
    detail: str  # which of the two


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishingFailed:
    """Messages could not be published, so many times since this was last said; they wait in the spool."""

    error: StreamwardError
    times: int


@dataclass(slots=True)
class _Letter:
    """Something from a spool that is on its way."""

    spool: Spool
    waiting: Waiting
    due_at: float = 0.0  # boot-time; not before
    backoff: Backoff = field(default_factory=lambda: Backoff(_REFUSED, random.SystemRandom()))


class SpoolRelay:
    """Moves what waits in spools to the bus."""

    def __init__(
        self,
        spool: Spool,
        publisher: Publisher,
        *,
        tell_gap: TellGap,
        journal: Journal,
        clock: Clock,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """Bodies may have as many bytes as the publisher finds a way for."""
        self._spool = spool
        self._adopted: list[Spool] = []
        self._publisher = publisher
        self._tell_gap = tell_gap
        self._journal = journal
        self._clock = clock
        self._most_bytes = most_bytes
        self._held: list[_Letter] = []  # handed out, and not confirmed yet
        self._is_away = False
        self._failures = Failures()
        self._gave_way = 0  # records, since that was last recorded
        self._gave_way_at = float("-inf")  # when that was, in boot-time
        self._why_full = ""

    @property
    def is_empty(self) -> bool:
        """Whether everything was confirmed."""
        return self._spool.is_empty and not self._adopted

    @property
    def size(self) -> int:
        """Bytes in its own spool."""
        return self._spool.size

    def append(self, message: Message) -> None:
        """Keeps a message until it is published; raises MessageUnfit."""
        if (reason := unfit(message, most_bytes=self._most_bytes)) is not None:
            raise MessageUnfit(message, reason)
        lost = self._spool.lost
        self._spool.append(_encoder.encode(message))
        if self._spool.lost > lost:
            self._journal.record(RecordsDropped(count=self._spool.lost - lost))
            self._gave_way += self._spool.lost - lost
            error = self._spool.disk_error
            self._why_full = "the spool has its limit of bytes" if error is None else f"its disk: {error.strerror}"
            self._tell_gave_way()

    def adopt(self, spool: Spool) -> None:
        """Publishes what a dead process left, after everything else."""
        self._adopted.append(spool)

    async def tick(self) -> float:
        """Publishes some of what waits; returns in how many seconds to look again."""
        self._finish()
        letters = self._next()
        if not letters:
            self._tell()
            return min([LOOK_EVERY, *(max(0.0, each.due_at - self._clock.boot()) for each in self._held)])
        self._held += letters
        answers = await asyncio.gather(*map(self._send, letters))
        away = [answer for answer in answers if isinstance(answer, BusAway)]
        confirmed = len(answers) - len(away) - sum(isinstance(answer, Refused) for answer in answers)
        if confirmed:
            self._journal.record(MessagesPublished(count=confirmed))
        self._note(away)
        self._finish()
        self._tell()
        return max(each.retry_in for each in away) if away else 0.0

    def close(self) -> None:
        """Lets go of all spools; what was not confirmed waits there."""
        for spool in (self._spool, *self._adopted):
            spool.close()

    def _next(self) -> list[_Letter]:
        """What to try now: live before held, held before backlog; while the bus is away, what it has to answer for."""
        now = self._clock.boot()
        due = [each for each in self._held if each.due_at <= now][:IN_FLIGHT]
        if (self._is_away and self._held) or len(self._held) >= MOST_HELD:
            self._held = [each for each in self._held if each not in due]
            return due
        if self._spool.unread_live > MOST_BEHIND:
            self._spool.roll()
        letters = [_Letter(self._spool, waiting) for waiting in self._spool.live(IN_FLIGHT)]
        due = due[: IN_FLIGHT - len(letters)]
        self._held = [each for each in self._held if each not in due]
        letters += due
        for spool in (self._spool, *self._adopted):
            room = IN_FLIGHT - len(letters)
            letters += [_Letter(spool, waiting) for waiting in (spool.backlog(room) if room else ())]
        return letters

    async def _send(self, letter: _Letter) -> object:
        """The bus's word about one letter; only what was confirmed is held no more."""
        message = self._message(letter)
        failpoints.reach(SENDING)
        try:
            answer = await self._publisher.publish(message)
        except BusAway as away:
            letter.due_at = self._clock.boot() + away.retry_in
            return away
        if isinstance(answer, Refused):
            self._failures.count(MessageRefused(message.routing_key, answer.why))
            letter.due_at = self._clock.boot() + letter.backoff.failed(after=0.0)
        else:
            letter.spool.confirm(letter.waiting)
            self._held.remove(letter)
        return answer

    def _message(self, letter: _Letter) -> Message:
        entry = letter.waiting.entry
        if isinstance(entry, Gap):
            return self._tell_gap(letter.spool, entry)
        return _decoder.decode(entry.payload)

    def _note(self, away: list[BusAway]) -> None:
        """After an outage what is made now goes before what waited."""
        if away:
            self._failures.count(away[0])
        elif self._is_away:
            self._spool.roll()
        self._is_away = bool(away)

    def _finish(self) -> None:
        """What a dead process left is done with."""
        for spool in [each for each in self._adopted if each.is_empty]:
            self._adopted.remove(spool)
            failpoints.reach(FINISHED)
            spool.close()

    def _tell_gave_way(self) -> None:
        now = self._clock.boot()
        if self._gave_way and now - self._gave_way_at >= GAVE_WAY_EVERY:
            self._journal.record(RecordsGaveWay(count=self._gave_way, detail=self._why_full))
            self._gave_way, self._gave_way_at = 0, now

    def _tell(self) -> None:
        self._tell_gave_way()
        for error, times in self._failures.due(self._clock.boot()):
            assert isinstance(error, StreamwardError)
            self._journal.record(PublishingFailed(error=error, times=times))


class Outbox:
    """A process's relay at work."""

    def __init__(self, relay: SpoolRelay, *, journal: Journal) -> None:
        self._relay = relay
        self._service = Service("outbox", relay, journal=journal)

    def append(self, message: Message) -> None:
        """Hands a message over; never waits for the bus. Raises MessageUnfit."""
        self._relay.append(message)
        self._service.poke()

    def adopt(self, spool: Spool) -> None:
        """Publishes what a dead process left, after everything else."""
        self._relay.adopt(spool)
        self._service.poke()

    @property
    def size(self) -> int:
        """Bytes that wait in this process's own spool."""
        return self._relay.size

    async def emptied(self) -> None:
        """Waits until everything was confirmed."""
        while not self._relay.is_empty:  # noqa: ASYNC110 - looked at only while a process ends
            await asyncio.sleep(EMPTY_EVERY)

    async def __aenter__(self) -> Self:
        self._service.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._service.stop()
        self._relay.close()
