"""A world for each driver: a database whose clock the test sets, and control planes on it."""

import asyncio
import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import asyncpg
import pytest

from streamward.drivers.memory import MemoryDatabase, MemoryInsight, MemoryStore
from streamward.drivers.sql import Database, SqlInsight, SqlStore, migrate
from streamward.insight.database import Insight
from streamward.insight.rules import Rules
from streamward.leases.clock_guard import LONGEST_GAP
from streamward.leases.lease import SessionState
from streamward.leases.store import Store
from streamward.model.ids import CameraId
from streamward.runtime.bell import Bell
from streamward.runtime.clock import SystemClock
from tests.support.builders import START
from tests.support.clocks import ManualClock
from tests.support.postgres import PostgresServer

_SHARED_MEMORY = Path("/dev/shm")  # a disk's fsync would be most of the time of these tests
_FOLDER = _SHARED_MEMORY if _SHARED_MEMORY.is_dir() else None
_TELL_TIME_BY_TABLE = """
    CREATE TABLE test_clock AS SELECT now();
    CREATE OR REPLACE FUNCTION lease_now() RETURNS timestamptz LANGUAGE sql AS 'SELECT now FROM test_clock'
"""
_LOOK_EVERY = LONGEST_GAP - 0.5
_WATCHED_FOR = 100.0  # seconds: longer than any ttl in these tests, so that time before them need not be watched
_PAUSE = "UPDATE stream_leases SET state = 'PAUSED' WHERE state = 'ACTIVE' AND camera_uuid = "


class SteppedClock(ManualClock):
    """A clock that can also be set, as people and time services do."""

    def __init__(self) -> None:
        super().__init__(START)

    def step(self, seconds: float) -> None:
        """Sets the wall clock; boot-time goes on as before."""
        self._start += timedelta(seconds=seconds)

    def ago(self, seconds: float) -> datetime:
        """So long before now."""
        return self.wall() - timedelta(seconds=seconds)


class Rows(Protocol):
    """What survives every control plane: the database itself."""

    async def set_clock(self, clock: SteppedClock) -> None: ...
    async def pause(self, camera_id: CameraId) -> None: ...
    def store(self, clock: SteppedClock, bell: Bell) -> Store: ...
    def insight(self, store: Store) -> Insight: ...


MakeRows = Callable[[SteppedClock], AbstractAsyncContextManager[Rows]]


class MemoryRows:
    """Reads the test's clock itself."""

    def __init__(self, clock: SteppedClock) -> None:
        self._database = MemoryDatabase(clock)

    async def set_clock(self, clock: SteppedClock) -> None:
        pass

    async def pause(self, camera_id: CameraId) -> None:
        lease = self._database.leases[camera_id]
        if lease.state is SessionState.ACTIVE:
            self._database.leases[camera_id] = replace(lease, state=SessionState.PAUSED)

    def store(self, clock: SteppedClock, bell: Bell) -> Store:
        return MemoryStore(self._database, clock=clock, bell=bell)

    def insight(self, store: Store) -> Insight:
        return MemoryInsight(self._database, rules=Rules())


class SqliteRows:
    """The store brings the test's time along with each statement."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection

    async def set_clock(self, clock: SteppedClock) -> None:
        pass

    async def pause(self, camera_id: CameraId) -> None:
        self._connection.execute(_PAUSE + "?", (camera_id,))

    def store(self, clock: SteppedClock, bell: Bell) -> Store:
        return SqlStore(f"sqlite:///{self._path}", clock=clock, bell=bell)

    def insight(self, store: Store) -> Insight:
        return sql_insight(store)


class PostgresRows:
    """`lease_now()` tells what a table says, so that time is the test's to the microsecond."""

    def __init__(self, url: str, connection: Any) -> None:
        self._url = url
        self._connection = connection

    async def set_clock(self, clock: SteppedClock) -> None:
        await self._connection.execute("UPDATE test_clock SET now = $1", clock.wall())

    async def pause(self, camera_id: CameraId) -> None:
        await self._connection.execute(_PAUSE + "$1", camera_id)

    def store(self, clock: SteppedClock, bell: Bell) -> Store:
        return SqlStore(self._url, clock=clock, bell=bell)

    def insight(self, store: Store) -> Insight:
        return sql_insight(store)


def sql_insight(store: Store) -> Insight:
    """Detections and batches on a control plane's own database."""
    assert isinstance(store, SqlStore)
    return SqlInsight(store.database, rules=Rules())


class World:
    """One database, its clock, and the control plane under test."""

    def __init__(self, rows: Rows, clock: SteppedClock) -> None:
        self._rows = rows
        self.clock = clock
        self.bell = Bell()
        self.store = rows.store(clock, self.bell)
        self._others: list[Store] = []

    @property
    def insight(self) -> Insight:
        """What the database knows of detections and batches."""
        return self._rows.insight(self.store)

    async def open(self) -> None:
        await self._rows.set_clock(self.clock)
        await self.store.open()

    async def close(self) -> None:
        await self.store.close()

    async def restart(self) -> None:
        """The control plane starts anew: it knows nothing of the clock."""
        await self.store.close()
        self.store = self._rows.store(self.clock, self.bell)
        await self.store.open()

    @asynccontextmanager
    async def another(self, bell: Bell | None = None) -> AsyncIterator[Store]:
        """One more control plane on the same database, just started."""
        store = self._rows.store(self.clock, bell or Bell())
        await store.open()
        self._others.append(store)
        try:
            yield store
        finally:
            self._others.remove(store)
            await store.close()

    async def advance(self, seconds: float) -> None:
        """Time passes while every control plane keeps an eye on the database's clock, as their keepers do."""
        await self.sleep(max(0.0, seconds - _WATCHED_FOR))
        left = min(seconds, _WATCHED_FOR)
        while left > 0:
            await self.sleep(min(left, _LOOK_EVERY))
            left = round(left - _LOOK_EVERY, 6)
            for store in (self.store, *self._others):
                await store.ping()

    async def sleep(self, seconds: float) -> None:
        """Time passes, and nobody looks."""
        self.clock.advance(seconds)
        await self._rows.set_clock(self.clock)

    async def step_database_clock(self, seconds: float) -> None:
        """Somebody sets the database's clock."""
        self.clock.step(seconds)
        await self._rows.set_clock(self.clock)

    async def pause(self, camera_id: CameraId) -> None:
        """Somebody marks a granted lease as not working (S4-08)."""
        await self._rows.pause(camera_id)


@asynccontextmanager
async def memory_rows(clock: SteppedClock) -> AsyncIterator[Rows]:
    yield MemoryRows(clock)


@asynccontextmanager
async def sqlite_rows(migrated: Path, _clock: SteppedClock) -> AsyncIterator[Rows]:
    with tempfile.TemporaryDirectory(dir=_FOLDER) as folder:
        path = Path(shutil.copy(migrated, folder))
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            yield SqliteRows(path, connection)


@asynccontextmanager
async def postgres_rows(server: PostgresServer, _clock: SteppedClock) -> AsyncIterator[Rows]:
    url = server.url(await server.emptied("test_controlled", _TELL_TIME_BY_TABLE))
    connection = await asyncpg.connect(url)
    try:
        yield PostgresRows(url, connection)
    finally:
        await connection.close()


@asynccontextmanager
async def a_world(make_rows: MakeRows, clock: SteppedClock | None = None) -> AsyncIterator[World]:
    """A fresh database and a control plane on it."""
    clock = clock or SteppedClock()
    async with make_rows(clock) as rows:
        world = World(rows, clock)
        try:
            await world.open()
            yield world
        finally:
            await world.close()


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite database to copy."""
    path = tmp_path_factory.mktemp("sqlite") / "migrated.db"
    asyncio.run(migrate(f"sqlite:///{path}"))
    return path


@pytest.fixture(scope="session", params=("memory", "sqlite", "postgres"))
def make_rows(request: pytest.FixtureRequest) -> MakeRows:
    """The driver under test; its server, if it has one, runs before the test begins."""
    if request.param == "postgres":
        return partial(postgres_rows, request.getfixturevalue("postgres"))
    if request.param == "sqlite":
        return partial(sqlite_rows, request.getfixturevalue("migrated_file"))
    return memory_rows


@pytest.fixture
async def world(make_rows: MakeRows) -> AsyncIterator[World]:
    """A fresh world of the driver under test."""
    async with a_world(make_rows) as world:
        yield world


@asynccontextmanager
async def control_planes(url: str, count: int = 1) -> AsyncIterator[list[SqlStore]]:
    """So many control planes on one database, on real time."""
    stores = [SqlStore(url, clock=SystemClock(), bell=Bell()) for _ in range(count)]
    try:
        for store in stores:
            await store.open()
        yield stores
    finally:
        for store in stores:
            await store.close()


@asynccontextmanager
async def batchers(url: str, count: int = 1) -> AsyncIterator[list[SqlInsight]]:
    """So many ways into the detections of one database, on real time."""
    insights = [SqlInsight(Database(url, clock=SystemClock(), bell=Bell()), rules=Rules()) for _ in range(count)]
    try:
        for insight in insights:
            await insight.open()
        yield insights
    finally:
        for insight in insights:
            await insight.close()
