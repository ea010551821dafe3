"""One control plane's way into a database: transactions, database time, and one error for whatever goes wrong."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import asyncpg
from sqlalchemy.dialects.postgresql.asyncpg import AsyncAdapt_asyncpg_dbapi
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from streamward.drivers.sql.dialect import PostgresDialect, SqlDialect, SqliteDialect
from streamward.drivers.sql.engine import Tally, postgres_engine, sqlite_engine
from streamward.drivers.sql.session import DriverSessions, EngineSession, Session
from streamward.drivers.sql.statement import statement
from streamward.leases.clock_guard import TOLERANCE, ClockGuard, ClockView
from streamward.leases.policy import BY_NAME, Policies
from streamward.leases.store import StoreUnavailable
from streamward.runtime.bell import Bell
from streamward.runtime.clock import Clock

_FAILURES = (
    SQLAlchemyError,
    AsyncAdapt_asyncpg_dbapi.Error,  # what SQLAlchemy's pool meets when it connects
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a connection that was ended between two statements
    OSError,
    TimeoutError,
)


class Database:
    """What the parts of a store share."""

    def __init__(self, url: str, *, clock: Clock, bell: Bell, policies: Policies = BY_NAME) -> None:
        self.url = url
        self.clock = clock
        self.policies = policies
        self.is_postgres = not url.startswith("sqlite:")
        self.dialect: SqlDialect = PostgresDialect() if self.is_postgres else SqliteDialect()
        self.engine: AsyncEngine = postgres_engine(url) if self.is_postgres else sqlite_engine(url, clock.wall)
        self._single = self.engine.execution_options(isolation_level="AUTOCOMMIT") if self.is_postgres else None
        self.tally = Tally(self.engine)
        self._straight = DriverSessions(self.engine, self.tally) if self.is_postgres else None
        self._bell = bell
        self.watch = Watch(clock)
        self._now = statement(self.dialect.now, returns="now")

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """Several statements, all or nothing."""
        with unavailable_on_failure():
            async with self.engine.begin() as connection:
                yield connection

    @asynccontextmanager
    async def single(self) -> AsyncIterator[AsyncConnection]:
        """One statement, which commits by itself: on PostgreSQL that saves two round trips."""
        if self._single is None:
            async with self.transaction() as connection:
                yield connection
            return
        with unavailable_on_failure():
            async with self._single.connect() as connection:
                yield connection

    @asynccontextmanager
    async def session(self, *, is_single: bool = False) -> AsyncIterator[Session]:
        """A transaction, or a single statement, for the calls that every lease makes."""
        if self._straight is None:
            async with self.transaction() as connection:
                yield EngineSession(connection)
            return
        with unavailable_on_failure():
            async with self._straight.single() if is_single else self._straight.transaction() as session:
                yield session

    def moment(self) -> dict[str, datetime]:
        """What a statement must bring along to know the time: on PostgreSQL nothing."""
        return {} if self.is_postgres else {"now": self.clock.wall()}

    async def now(self, session: Session) -> datetime:
        """The database's time."""
        [row] = await session.rows(self._now, self.moment())
        found: datetime = row.now
        return found

    def ring(self) -> None:
        """Wakes who waits for what was just committed; on PostgreSQL triggers notify every control plane."""
        if not self.is_postgres:
            self._bell.ring()


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the database's clock: when it was asked, and what was expected."""

    asked: float
    view: ClockView

    @property
    def terms(self) -> dict[str, Any]:
        """The view as parameters of a statement that judges expiry."""
        expected, tolerance = self.view.expected_at, timedelta(seconds=TOLERANCE)
        return {
            "earliest": None if expected is None else expected - tolerance,
            "latest": None if expected is None else expected + tolerance,
            "steady_for": self.view.steady_for,
            "floor": self.view.floor,
        }


class Watch:
    """This control plane's eye on the database's clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._guard = ClockGuard()

    def look(self) -> Look:
        """To be taken right before a statement that tells the time."""
        asked = self._clock.boot()
        return Look(asked, self._guard.view(asked))

    def saw(self, look: Look, at: datetime) -> bool:
        """To be told right after it; returns whether the database's clock jumped."""
        return self._guard.observe(at, asked=look.asked, answered=self._clock.boot())


@contextmanager
def unavailable_on_failure() -> Iterator[None]:
    """Whatever a database or the way to it does wrong is one fact to the caller: nothing is known, ask again."""
    try:
        yield
    except _FAILURES as failure:
        raise StoreUnavailable(type(failure).__name__) from failure
