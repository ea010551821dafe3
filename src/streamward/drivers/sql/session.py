"""How the lease port asks a database: statements in, rows out, whose columns are attributes.

On PostgreSQL this goes past SQLAlchemy, straight to the driver: for one lease at a time SQLAlchemy took more of a core
than everything else that the control plane does for it. The pool and the statements are the same.

Not guaranteed: SQLAlchemy's conversions of values. PostgreSQL's driver needs none for the types of `statement`.
"""

import asyncio
from collections import namedtuple
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.util.concurrency import greenlet_spawn

from streamward.drivers.sql.engine import CALL_TIMEOUT, POOL_SIZE, Tally
from streamward.drivers.sql.statement import Statement

Params = Mapping[str, Any]
_NONE: Params = {}


class Session(Protocol):
    """A connection for the time of one call."""

    async def rows(self, asked: Statement, params: Params = _NONE) -> Sequence[Any]:
        """What the statement returns, if it returns anything."""
        ...


class EngineSession:
    """Through SQLAlchemy."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def rows(self, asked: Statement, params: Params = _NONE) -> Sequence[Any]:
        found = await self._connection.execute(asked, params)
        return found.all() if found.returns_rows else ()


class _Compiled:
    """A statement as the driver takes it."""

    def __init__(self, asked: Statement, engine: AsyncEngine) -> None:
        compiled = asked.compile(dialect=engine.dialect)
        self._sql = str(compiled)
        self._order = tuple(compiled.positiontup or ())
        self._row: Callable[[Any], Any] | None = None

    async def rows(self, driver: Any, params: Params) -> list[Any]:
        found = await driver.fetch(self._sql, *(params[name] for name in self._order))
        if found and self._row is None:
            self._row = namedtuple("Row", found[0].keys())._make  # type: ignore[attr-defined]
        return [self._row(each) for each in found] if self._row else []


class DriverSession:
    """Straight to asyncpg."""

    def __init__(self, driver: Any, find: Callable[[Statement], _Compiled], tally: Tally) -> None:
        self._driver = driver
        self._find = find
        self._tally = tally

    async def rows(self, asked: Statement, params: Params = _NONE) -> Sequence[Any]:
        self._tally.add()
        return await self._find(asked).rows(self._driver, params)


class DriverSessions:
    """Sessions on the connections of an engine's pool."""

    def __init__(self, engine: AsyncEngine, tally: Tally) -> None:
        self._engine = engine
        self._tally = tally
        self._compiled: dict[Statement, _Compiled] = {}
        self._turns = asyncio.Semaphore(POOL_SIZE)  # to wait in the pool's own queue costs a task for each call

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Session]:
        """Several statements, all or nothing; one that was left half done ends with its connection."""
        async with self._pooled() as pooled:
            driver: Any = pooled.driver_connection
            is_done = False
            try:
                await driver.execute("BEGIN")
                yield DriverSession(driver, self._find, self._tally)
                await driver.execute("COMMIT")
                is_done = True
            finally:
                if not is_done:
                    await greenlet_spawn(pooled.invalidate)

    @asynccontextmanager
    async def single(self) -> AsyncIterator[Session]:
        """Statements that commit by themselves."""
        async with self._pooled() as pooled:
            yield DriverSession(pooled.driver_connection, self._find, self._tally)

    @asynccontextmanager
    async def _pooled(self) -> AsyncIterator[PoolProxiedConnection]:
        async with asyncio.timeout(CALL_TIMEOUT):
            await self._turns.acquire()
        try:
            pooled = await self._engine.raw_connection()
            try:
                yield pooled
            finally:
                await greenlet_spawn(pooled.close)
        finally:
            self._turns.release()

    def _find(self, asked: Statement) -> _Compiled:
        if asked not in self._compiled:
            self._compiled[asked] = _Compiled(asked, self._engine)
        return self._compiled[asked]
