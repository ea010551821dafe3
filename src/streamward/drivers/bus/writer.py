"""The one thread of a process that touches the bus's file.

    asked ─┬→ gather ─→ BEGIN IMMEDIATE · every job · COMMIT ─→ answers, and bells of the queues that were filled
    asked ─┘                     ↑ nothing asked: look whether another process filled a queue that is waited for

What is asked while a commit is under way gathers for the next one, so one sync to disk serves all of them. The event
loop is never blocked, and is told of a whole transaction by one call.

A transaction that fails is undone and each of its jobs tried alone, so that a full file stops publishers and not those
who would empty it.
"""

import asyncio
import contextlib
import queue
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from streamward.drivers.bus import file, jobs
from streamward.drivers.bus.jobs import Session
from streamward.drivers.bus.owners import Owners
from streamward.model.bus import BusAway
from streamward.model.errors import StreamwardError
from streamward.runtime import failpoints
from streamward.runtime.clock import Clock

LOOK_EVERY = 0.01  # seconds between two looks for what other processes published
MOST_TOGETHER = 500  # jobs in one transaction
LOCK_WITHIN = 5.0  # seconds for other processes to end their transactions
REAP_EVERY = 0.5  # seconds between two looks for consumers that died
TIDY_EVERY = 5.0
RETRY_IN = 1.0

COMMITTING = failpoints.declare("bus.before-commit")
COMMITTED = failpoints.declare("bus.after-commit")

T = TypeVar("T")
Job = Callable[[Session], T]
Outcome = tuple["_Asked", Any, BaseException | None]


@dataclass(frozen=True, slots=True)
class _Asked:
    job: Job[Any]
    answer: "asyncio.Future[Any] | None" = None  # None: nobody asked
    is_synced: bool = False  # its commit must be on disk

    def settle(self, result: object, error: BaseException | None) -> None:
        """Answers, unless whoever asked is gone."""
        if self.answer is None or self.answer.done():
            return
        if error is not None:
            self.answer.set_exception(error)
        else:
            self.answer.set_result(result)


class Writer:
    """Runs jobs on one file; its thread lives from the first of them to `close`."""

    def __init__(self, path: Path, clock: Clock, *, most_bytes: int = file.MOST_BYTES) -> None:
        self.path = path
        self.owned: set[int] = set()  # the owners of this process
        self._clock = clock
        self._most_bytes = most_bytes
        self._asked: queue.SimpleQueue[_Asked | None] = queue.SimpleQueue()
        self._bells: dict[str, list[asyncio.Event]] = {}  # by queue; replaced, never changed, for the thread reads it
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ended: asyncio.Future[None] | None = None
        self._owners: Owners | None = None  # outlives a file that is opened anew: with it our consumers would die
        self._session: Session | None = None
        self._seen = -1  # SQLite's count of other connections' commits
        self._reap_at = self._tidy_at = 0.0

    def ask(self, job: Job[T], *, is_synced: bool = False) -> "asyncio.Future[T]":
        """The answer to come; giving up on it does not undo the job. It may hold BusAway."""
        if self._thread is None or not self._thread.is_alive():
            self._start()
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(_noticed)
        self._asked.put(_Asked(job, answer, is_synced))
        return answer

    def watch(self, name: str, bell: asyncio.Event) -> None:
        """From now on sets the bell when something may wait in that queue."""
        self._bells = self._bells | {name: [*self._bells.get(name, []), bell]}

    def unwatch(self, name: str, bell: asyncio.Event) -> None:
        """The bell is not wanted any more."""
        left = [each for each in self._bells.get(name, []) if each is not bell]
        self._bells = {key: bells for key, bells in self._bells.items() if key != name} | ({name: left} if left else {})

    async def close(self) -> None:
        """Does what was asked, then ends the thread."""
        thread, ended = self._thread, self._ended
        if thread is None or ended is None:
            return
        self._asked.put(None)
        await asyncio.wait([ended], timeout=2 * LOCK_WITHIN)
        if ended.done():
            thread.join()
        self._thread = None

    def away(self, why: str) -> BusAway:
        """What is said of a file that cannot be used."""
        return BusAway(str(self.path), why, retry_in=RETRY_IN)

    def _start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name=f"bus {self.path.name}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        assert self._loop is not None
        assert self._ended is not None
        try:
            while (batch := self._gather()) is not None:
                if batch:
                    self._tell(self._serve(batch))
                self._look()
        finally:
            self._let_go()
            if self._owners is not None:
                self._owners.close()
                self._owners = None
            with contextlib.suppress(RuntimeError):  # the loop has ended already
                self._loop.call_soon_threadsafe(self._ended.set_result, None)

    def _gather(self) -> list[_Asked] | None:
        """What is asked by now, or nothing after a while if somebody waits for other processes; None: the end."""
        batch: list[_Asked] = []
        with contextlib.suppress(queue.Empty):
            asked = self._asked.get(timeout=LOOK_EVERY if self._bells or not self._tidy_at else TIDY_EVERY)
            while asked is not None:
                batch.append(asked)
                if len(batch) == MOST_TOGETHER:
                    return batch
                asked = self._asked.get_nowait()
            if not batch:
                return None
            self._asked.put(None)  # the end comes after this batch
        return batch

    def _serve(self, batch: Sequence[_Asked]) -> list[Outcome]:
        try:
            return self._transact(batch)
        except (sqlite3.Error, OSError, StreamwardError) as err:
            if len(batch) > 1 and self._session is not None:
                return [outcome for asked in batch for outcome in self._serve([asked])]
            return [(asked, None, self.away(_why(err))) for asked in batch]

    def _transact(self, batch: Sequence[_Asked]) -> list[Outcome]:
        session = self._opened()
        is_synced = any(asked.is_synced for asked in batch)
        try:
            # A claim or an acknowledgement that a power cut undoes is only a repeat: no sync for those alone.
            session.connection.execute(f"PRAGMA synchronous = {'FULL' if is_synced else 'NORMAL'}")
            self._begin(session.connection)
            session.topology.refresh(session.connection)
            outcomes = [_do(asked, session) for asked in batch]
            failpoints.reach(COMMITTING)
            session.connection.execute("COMMIT")
            failpoints.reach(COMMITTED)
        except BaseException as err:
            session.filled.clear()
            self._undo(session, err)
            raise
        return outcomes

    def _begin(self, connection: sqlite3.Connection) -> None:
        """Waits for other processes by short naps: SQLite's own soon become long, and the last comer starves."""
        give_up_at = time.monotonic() + LOCK_WITHIN
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as err:
                if not _is_busy(err) or time.monotonic() >= give_up_at:
                    raise
                time.sleep(random.uniform(0.0002, 0.002))  # noqa: S311 - a nap, not a secret
            else:
                return

    def _undo(self, session: Session, err: BaseException) -> None:
        """Rolls back; what is worse than a busy or full file is opened anew."""
        with contextlib.suppress(sqlite3.Error):
            if session.connection.in_transaction:
                session.connection.execute("ROLLBACK")
            if isinstance(err, sqlite3.OperationalError) and (_is_busy(err) or _is_full(err)):
                session.topology.refresh(session.connection)
                return
        self._let_go()

    def _look(self) -> None:
        """Rings for what other processes did, frees what dead consumers had, and keeps the file small."""
        if self._session is None:
            return
        now = time.monotonic()
        try:
            if self._bells:
                self._tell([], rung=self._filled_by_others(self._session))
            if self._bells and now >= self._reap_at:
                self._reap_at = now + REAP_EVERY
                self._reap(self._session)
            if now >= self._tidy_at:
                self._tidy_at = now + TIDY_EVERY
                self._tidy(self._session)
        except (sqlite3.Error, OSError) as err:
            self._undo(self._session, err)

    def _filled_by_others(self, session: Session) -> set[str]:
        (seen,) = session.connection.execute("PRAGMA data_version").fetchone()
        if seen == self._seen:
            return set()
        filled = {name for name in self._bells if jobs.has_ready(session, name)}
        self._seen = seen
        return filled

    def _reap(self, session: Session) -> None:
        for owner in jobs.dead_owners(session, but=self.owned):
            self._aside(partial(jobs.release, owner=owner))

    def _tidy(self, session: Session) -> None:
        if jobs.is_untidy(session):
            self._aside(jobs.expire)
            jobs.give_pages_back(session)
            self._tidy_at = 0.0  # until it is tidy

    def _aside(self, job: Job[None]) -> None:
        """A job that nobody asked for."""
        self._tell(self._serve([_Asked(job)]))

    def _opened(self) -> Session:
        if self._session is None:
            file.touch(self.path)
            self._owners = self._owners or Owners(self.path.with_name(f"{self.path.name}.lock"))
            connection = file.connect(self.path, self._owners, most_bytes=self._most_bytes)
            self._session = Session(connection=connection, owners=self._owners, clock=self._clock)
        return self._session

    def _let_go(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            with contextlib.suppress(sqlite3.Error):
                session.connection.close()

    def _tell(self, outcomes: list[Outcome], *, rung: set[str] | None = None) -> None:
        """Answers and rings in the loop; a loop that has ended needs neither."""
        filled = set(rung or ())
        if self._session is not None:
            filled |= self._session.filled
            self._session.filled.clear()
        bells = [bell for name in filled for bell in self._bells.get(name, [])]
        if outcomes or bells:
            assert self._loop is not None
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(_settle, outcomes, bells)


def _do(asked: _Asked, session: Session) -> Outcome:
    """A job that says no has written nothing."""
    try:
        return asked, asked.job(session), None
    except StreamwardError as err:
        return asked, None, err


def _settle(outcomes: list[Outcome], bells: list[asyncio.Event]) -> None:
    for asked, result, error in outcomes:
        asked.settle(result, error)
    for bell in bells:
        bell.set()


def _noticed(answer: "asyncio.Future[Any]") -> None:
    """Whoever asked may have given up: an error that nobody reads is no error."""
    if not answer.cancelled():
        answer.exception()


def _is_busy(err: sqlite3.OperationalError) -> bool:
    return err.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def _is_full(err: sqlite3.OperationalError) -> bool:
    return err.sqlite_errorcode & 0xFF == sqlite3.SQLITE_FULL


def _why(err: Exception) -> str:
    match err:
        case sqlite3.OperationalError() if _is_full(err):
            return "it is full, or its disk is"
        case sqlite3.OperationalError() if _is_busy(err):
            return "another process holds it"
        case OSError(strerror=str(reason)):
            return reason.lower()
        case _:
            return str(err)
