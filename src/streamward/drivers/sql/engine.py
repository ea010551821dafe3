"""How the two databases are reached.

PostgreSQL: a small pool, and limits so that no call hangs: one statement may take a second, a transaction that its
control plane forgot two. A connection that died while it lay idle is replaced before use, so a killed backend costs at
most the call that it was serving.

SQLite: one connection; every transaction takes the write lock when it begins. `synchronous=FULL`: a grant that a power
cut takes back could be given again in the same generation. `secure_delete=ON`: what was overwritten is not left in the
file. The file is made 0600, and SQLite gives its `-wal` and `-shm` the mode of the file.
"""

import contextlib
import os
import stat
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import asyncpg
from sqlalchemy import event
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from streamward.drivers.sql.instant import microseconds
from streamward.runtime.clock import SystemClock

POOL_SIZE = 4  # 16 raised the slowest percent of answers two to four times
CONNECT_TIMEOUT = 2.0
CALL_TIMEOUT = 2.0  # seconds; beyond the server's own limit, for a server that no longer answers
_SERVER_LIMITS = {
    "application_name": "streamward",
    "statement_timeout": "1000",  # milliseconds
    "idle_in_transaction_session_timeout": "2000",
}
_FILE_SETTINGS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "busy_timeout = 1000",
    "foreign_keys = ON",
    "secure_delete = ON",
)
# Bytes in use of a SQLite file; free pages are not counted, since what is stored next goes there.
FILE_SIZE = (
    "SELECT (c.page_count - f.freelist_count) * s.page_size AS size"
    " FROM pragma_page_count AS c, pragma_freelist_count AS f, pragma_page_size AS s"
)


class Tally:
    """Counts the statements that an engine sends, without begins and commits; who goes past it counts its own."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.count = 0
        event.listen(engine.sync_engine, "after_cursor_execute", self._sent)

    def add(self) -> None:
        """One more."""
        self.count += 1

    def _sent(self, _connection: Any, _cursor: Any, sql: str, *_: Any) -> None:
        if not sql.startswith("BEGIN"):
            self.add()


async def connect_postgres(url: str) -> Any:
    """One connection with the limits of a control plane."""
    return await asyncpg.connect(
        url, timeout=CONNECT_TIMEOUT, command_timeout=CALL_TIMEOUT, server_settings=_SERVER_LIMITS
    )


def postgres_engine(url: str) -> AsyncEngine:
    engine = create_async_engine(
        "postgresql+asyncpg://",
        async_creator=lambda: connect_postgres(url),
        pool_size=POOL_SIZE,
        max_overflow=0,
        pool_timeout=CALL_TIMEOUT,
    )
    event.listen(engine.sync_engine, "checkout", _refuse_dead)
    return engine


_SYSTEM = SystemClock()


def sqlite_engine(url: str, wall: Callable[[], datetime] = _SYSTEM.wall) -> AsyncEngine:
    """Each connection has the function `lease_now()`, which triggers call."""
    engine = create_async_engine(
        url.replace("sqlite://", "sqlite+aiosqlite://", 1), pool_size=1, max_overflow=0, pool_timeout=CALL_TIMEOUT
    )
    event.listen(engine.sync_engine, "do_connect", _make_private)
    event.listen(engine.sync_engine, "connect", _set_up_file)

    def add_clock(connection: Any, _record: Any) -> None:
        connection.create_function("lease_now", 0, lambda: microseconds(wall()))

    event.listen(engine.sync_engine, "connect", add_clock)
    event.listen(engine.sync_engine, "begin", _begin_writing)
    return engine


def migration_engine(url: str) -> AsyncEngine:
    """For changes of the schema, which may take their time."""
    if url.startswith("sqlite:"):
        return sqlite_engine(url)
    return create_async_engine(
        "postgresql+asyncpg://",
        async_creator=lambda: asyncpg.connect(url, timeout=CONNECT_TIMEOUT),
        poolclass=NullPool,
    )


def _refuse_dead(connection: Any, _record: Any, _proxy: Any) -> None:
    if connection.driver_connection.is_closed():
        raise DisconnectionError  # makes the pool connect anew


def _make_private(_dialect: Any, _record: Any, arguments: Any, _options: Any) -> None:
    """Creates the file with mode 0600 before SQLite does, and revokes the access of others to an existing one.

    Group permissions are the operator's. An existing file is not opened: closing a descriptor of it would release the
    POSIX locks that other connections of this process have on it.
    """
    path: str = arguments[0]
    with contextlib.suppress(OSError):  # SQLite reports it
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    for each in (Path(path), Path(f"{path}-wal"), Path(f"{path}-shm")):
        with contextlib.suppress(OSError):  # it does not exist, or is another user's
            if (mode := stat.S_IMODE(each.stat().st_mode)) & 0o007:
                each.chmod(mode & ~0o007)


def _set_up_file(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver must not begin transactions by itself
    cursor = connection.cursor()
    for setting in _FILE_SETTINGS:
        cursor.execute(f"PRAGMA {setting}")
    cursor.close()


def _begin_writing(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
