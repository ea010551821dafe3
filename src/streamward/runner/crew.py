"""A Manager's Workers: who sits where, what each was told, and what they say.

A seat is a Worker's process and its channel. It has a shard from its Begin on; before that it is the spare. What runs
in it is known by what it was told and by what it said since: a camera leaves a seat when the Worker says that it has
stopped, or is dead.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from streamward.leases import supervision
from streamward.leases.held import Held
from streamward.leases.reconcile import Running, Voice
from streamward.leases.staff import Seated
from streamward.model.ids import CameraId, ShardId
from streamward.protocol import codec, worker_link
from streamward.protocol.shards import ShardConfig, Source
from streamward.protocol.spawning import Exited
from streamward.protocol.worker_link import (
    Add,
    Began,
    Begin,
    DialEnded,
    Drain,
    Drop,
    Expect,
    Feed,
    Mute,
    Order,
    Ping,
    Pong,
    Showing,
    Stopped,
    Terminate,
    Unmute,
    Warm,
    Warmed,
    Word,
    fed,
)
from streamward.runner.spawner import Spawnling
from streamward.runtime.blame import Board
from streamward.runtime.channel import Channel
from streamward.runtime.clock import Clock

SILENT_FOR = 10.0  # seconds without a word after which a Worker counts as stuck, and is killed
PING_EVERY = 2.0  # seconds between two pings of the spare, which has nothing to say by itself
ANSWERED_WITHIN = 3.0  # seconds from a ping after which the spare gets no shard
BEGUN_WITHIN = 60.0  # seconds from Begin to its first word: detector and spools come from a cold disk
LOADED_WITHIN = 120.0  # seconds from Warm to Warmed: a model may be large
TERMINATED_WITHIN = 1.0  # seconds from Terminate until it is killed
STOOD_STILL = 5.0  # seconds between two looks after which it was the Manager that heard nobody


class Spawning(Protocol):
    """What starts processes."""

    @property
    def is_ready(self) -> bool: ...
    async def spawn(self, log: int) -> Spawnling: ...
    def stop(self, number: int, *, grace: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Warmth:
    """What a spare was told to load, and how far it is."""

    make: int
    is_over: bool = False
    problem: str | None = None  # why it cannot be had


@dataclass(slots=True, eq=False)
class Seat:
    """One Worker."""

    number: int
    pid: int
    channel: Channel
    board: Board
    born_at: float  # boot-time; of one that was the spare, when it took its shard
    heard_at: float
    listening: "asyncio.Task[None] | None" = None
    shard_id: ShardId | None = None
    port: int | None = None  # of its HTTP; None: it has not begun
    is_ending: bool = False
    terminated_at: float | None = None  # boot-time at which it was told to end at once
    is_stuck: bool = False  # it said nothing for too long, and is killed
    pinged_at: float | None = None  # boot-time of a ping that is not answered yet
    warmth: Warmth | None = None
    warmed: "asyncio.Future[str | None] | None" = None  # why its first detector cannot be had
    cameras: dict[CameraId, Running] = field(default_factory=dict)
    expected: frozenset[CameraId] | None = None  # the shard's cameras, as the Worker knows them

    def warm(self, make: int, config: ShardConfig, *, now: float) -> None:
        """The spare loads a make's detector, unless it still loads another or was told to before."""
        if self.warmth is None or (self.warmth.is_over and self.warmth.make != make):
            self.warmth = Warmth(make)
            self.heard_at, self.pinged_at = now, None
            self.tell(Warm(detector=config.detector, models=config.models))

    def ping(self, now: float) -> None:
        """Asks the spare whether it still answers, unless it has just spoken, still loads, or was asked before."""
        has_loaded = self.shard_id is None and self.warmth is not None and self.warmth.is_over
        if has_loaded and not self.is_ending and self.pinged_at is None and now - self.heard_at >= PING_EVERY:
            self.pinged_at = now
            self.tell(Ping())

    def begin(self, shard_id: ShardId, config: ShardConfig, *, now: float) -> None:
        """The spare, or one that was just born, takes a shard; how long it waited for that says nothing about it."""
        self.shard_id = shard_id
        self.born_at = self.heard_at = now
        self.tell(Begin(config=config))

    def add(self, source: Source, running: Running) -> None:
        """A camera begins."""
        has_own_detector = source.detector is not None
        self.cameras[CameraId(source.camera_uuid)] = replace(running, has_own_detector=has_own_detector)
        self.tell(Add(source=source, is_muted=running.voice is Voice.SILENT))

    def mute(self, camera_id: CameraId, *, is_final: bool = False) -> None:
        """A camera falls silent; it is when the Worker says so. With `is_final` another runner gets it."""
        if self._set(camera_id, voice=Voice.FALLS_SILENT):
            self.tell(Mute(camera_uuid=camera_id, is_final=is_final))

    def expect(self, cameras: Iterable[CameraId]) -> None:
        """Names the shard's cameras, if they are others than before."""
        expected = frozenset(cameras)
        if expected != self.expected and not self.is_ending:
            self.expected = expected
            self.tell(Expect(cameras=sorted(expected)))

    def unmute(self, camera_id: CameraId, *, after: float) -> None:
        """A camera speaks, of what arrived after that boot-time."""
        if self._set(camera_id, voice=Voice.SPEAKS):
            self.tell(Unmute(camera_uuid=camera_id, after=after))

    def drop(self, camera_id: CameraId) -> None:
        """A camera ends; it has when the Worker says so."""
        running = self.cameras.get(camera_id)
        if running is not None and not running.is_stopping:
            self.cameras[camera_id] = replace(running, is_stopping=True)
            self.tell(Drop(camera_uuid=camera_id, epoch=running.epoch))

    def heard(self, word: Word, now: float) -> None:
        """It says something: that it has begun, or how far a camera has come."""
        self.heard_at, self.pinged_at = now, None
        match word:
            case Began(port=port):
                self.port = port
            case Warmed(problem=problem):
                self._warmed(problem)
            case Showing(camera_uuid=camera_uuid):
                self._set(CameraId(camera_uuid), is_shown=True)
            case DialEnded(camera_uuid=camera_uuid):
                self._set(CameraId(camera_uuid), dialed_at=now)

    def _warmed(self, problem: str | None) -> None:
        if self.warmth is not None:
            self.warmth = Warmth(self.warmth.make, is_over=True, problem=problem)
        _settle(self, problem)

    def stopped(self, word: Stopped) -> None:
        """A camera leaves, unless it was begun again since that was said, or has only fallen silent."""
        camera_id = CameraId(word.camera_uuid)
        running = self.cameras.get(camera_id)
        if running is not None and word.epoch >= running.epoch:
            del self.cameras[camera_id]
        elif running is not None and running.voice is Voice.FALLS_SILENT and not word.epoch:
            self._set(camera_id, voice=Voice.SILENT)

    def feed(self, held: Mapping[CameraId, Held]) -> None:
        """Tells it until when it may run what it has; of what it was told to end it has forgotten the lease."""
        going_on = [camera_id for camera_id, running in self.cameras.items() if not running.is_stopping]
        leases = [fed(camera_id, held[camera_id]) for camera_id in going_on if camera_id in held]
        if leases and not self.is_ending:
            self.tell(Feed(leases=leases))

    def _set(self, camera_id: CameraId, **changes: Any) -> bool:
        running = self.cameras.get(camera_id)
        if running is not None:
            self.cameras[camera_id] = replace(running, **changes)
        return running is not None

    def tell(self, order: Order) -> None:
        """Sends an order; nobody waits for it."""
        self.channel.send(codec.encode(order))


def speaks(seat: Seat, camera_uuid: str) -> bool:
    """Whether it is the one that tells of a camera; what it gathered before it fell silent comes late."""
    running = seat.cameras.get(CameraId(camera_uuid))
    return running is not None and running.voice is Voice.SPEAKS


def seated(seat: Seat, now: float) -> Seated:
    """A Worker as the plan of processes sees it; a spare that does not answer is not ready."""
    answers = seat.pinged_at is None or now - seat.pinged_at <= ANSWERED_WITHIN
    worker = supervision.Worker(number=seat.number, shard_id=seat.shard_id, is_ready=answers, is_ending=seat.is_ending)
    warmth = seat.warmth
    return Seated(
        worker=worker,
        born_at=seat.born_at,
        has_begun=seat.port is not None,
        loading=None if warmth is None or warmth.is_over else warmth.make,
        loaded=None if warmth is None or not warmth.is_over or warmth.problem else warmth.make,
        cameras=frozenset(seat.cameras),
    )


class Crew:
    """All Workers of one Manager; `on_word` and `on_gone` are called in the event loop and must not wait."""

    def __init__(
        self,
        spawner: Spawning,
        *,
        log: int,
        grace: float,
        clock: Clock,
        on_word: Callable[[Seat, Word], None],
        on_gone: Callable[[Seat, Exited], None],
    ) -> None:
        self._spawner = spawner
        self._log = log
        self._grace = grace
        self._clock = clock
        self._on_word = on_word
        self._on_gone = on_gone
        self._seats: dict[int, Seat] = {}
        self._dead: dict[int, Exited] = {}  # whose birth is still to be told
        self._starting: set[ShardId | None] = set()
        self._looked_at = clock.boot()

    @property
    def seats(self) -> Mapping[int, Seat]:
        """Every Worker that lives, by its number."""
        return self._seats

    def seated(self) -> list[Seated]:
        """As the plan of processes sees them; those that are just being born count as there."""
        now = self._clock.boot()
        unborn = (supervision.Worker(number=1 << 60, shard_id=each) for each in self._starting)
        born = [seated(seat, now) for seat in self._seats.values()]
        return [*born, *(Seated(worker=each, born_at=now) for each in unborn)]

    def by_shard(self) -> dict[ShardId, int]:
        """Which Worker takes orders for a shard."""
        return {
            each.shard_id: each.number
            for each in self._seats.values()
            if each.shard_id is not None and each.port is not None and not each.is_ending
        }

    def running(self) -> dict[CameraId, list[Running]]:
        """Where each camera runs; while it moves, that is in two places."""
        found: dict[CameraId, list[Running]] = {}
        for seat in self._seats.values():
            for camera_id, each in seat.cameras.items():
                found.setdefault(camera_id, []).append(each)
        return found

    async def start(self, shard_id: ShardId | None, config: ShardConfig, *, make: int = 0) -> Seat:
        """One more process, for a shard or as the spare of a make; raises SpawnRefused and ForkServerGone."""
        self._starting.add(shard_id)
        try:
            born = await self._spawner.spawn(self._log)
            channel = await Channel.over(born.channel)
        finally:
            self._starting.discard(shard_id)
        now = self._clock.boot()
        seat = Seat(born.number, born.pid, channel, born.board, now, now)
        if (dead := self._dead.pop(born.number, None)) is not None:
            seat.shard_id = shard_id
            self._bury(seat, dead)
            return seat
        self._seats[born.number] = seat
        seat.listening = asyncio.get_running_loop().create_task(self._listen(seat), name=f"worker {born.number}")
        if shard_id is None:
            seat.warmed = asyncio.get_running_loop().create_future()
            seat.warm(make, config, now=now)
        else:
            seat.begin(shard_id, config, now=now)
        return seat

    def end(self, number: int) -> None:
        """A Worker drains, and is ended by force when its grace is over."""
        seat = self._seats.get(number)
        if seat is not None and not seat.is_ending:
            seat.is_ending = True
            seat.tell(Drain())
            self._spawner.stop(number, grace=self._grace)

    def terminate(self) -> list[Seat]:
        """Every Worker that has a shard ends now (S0-023), by force if it has not within a second.

        To be called until none is left; returns those that were told now. They get no signal before that second is
        over: it would have them end in good order, and announce their streams beside the Manager.
        """
        now, told = self._clock.boot(), []
        for seat in self._seats.values():
            if seat.shard_id is None:
                continue
            if seat.terminated_at is None:
                seat.is_ending, seat.terminated_at = True, now
                seat.tell(Terminate())
                told.append(seat)
            elif now - seat.terminated_at > TERMINATED_WITHIN:
                self._spawner.stop(seat.number, grace=0.0)
        return told

    def kill_stuck(self) -> list[int]:
        """Ends Workers that have said nothing for too long.

        After a suspended host, or a Manager that stood still, their words are still to be read: their time begins anew.
        """
        now = self._clock.boot()
        before, self._looked_at = self._looked_at, now
        if now - before > STOOD_STILL:
            for seat in self._seats.values():
                seat.heard_at, seat.pinged_at = now, None
        for seat in self._seats.values():
            seat.ping(now)
        stuck = [each for each in self._seats.values() if _is_stuck(each, now)]
        for seat in stuck:
            seat.heard_at, seat.pinged_at, seat.is_stuck = now, None, True
            self._spawner.stop(seat.number, grace=0.0)
        return [seat.number for seat in stuck]

    def exited(self, news: Exited) -> None:
        """A Worker is dead."""
        seat = self._seats.pop(news.worker, None)
        if seat is None:
            self._dead[news.worker] = news  # it died before its birth was told
            return
        if seat.listening is not None:
            seat.listening.cancel()
        self._bury(seat, news)

    async def close(self) -> None:
        """Lets go of all channels."""
        seats, self._seats = list(self._seats.values()), {}
        for seat in seats:
            if seat.listening is not None:
                seat.listening.cancel()
        await asyncio.gather(*(seat.channel.close() for seat in seats))  # one that is frozen takes its second

    def _bury(self, seat: Seat, news: Exited) -> None:
        _settle(seat, "the process that loaded it died")
        self._on_gone(seat, news)
        seat.channel.cut()
        with contextlib.suppress(BufferError):
            seat.board.close()

    async def _listen(self, seat: Seat) -> None:
        while (content := await seat.channel.receive()) is not None:
            word = worker_link.read_word(content)
            seat.heard(word, self._clock.boot())
            if isinstance(word, Pong):
                continue
            self._on_word(seat, word)
            if isinstance(word, Stopped):
                seat.stopped(word)


def _settle(seat: Seat, problem: str | None) -> None:
    if seat.warmed is not None and not seat.warmed.done():
        seat.warmed.set_result(problem)


def _is_stuck(seat: Seat, now: float) -> bool:
    """Whether it has said nothing for too long; a spare that has loaded all only answers."""
    if seat.shard_id is None and seat.pinged_at is not None:
        return now - seat.pinged_at > SILENT_FOR
    if seat.shard_id is None:
        return seat.warmth is not None and not seat.warmth.is_over and now - seat.heard_at > LOADED_WITHIN
    return now - seat.heard_at > (BEGUN_WITHIN if seat.port is None else SILENT_FOR)
