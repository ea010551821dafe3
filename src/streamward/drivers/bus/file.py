"""The bus's file: how it is made and opened."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from streamward.drivers.bus.owners import Owners
from streamward.model.errors import StreamwardError

VERSION = 1
MOST_BYTES = 2**30  # beyond it publishers are told that the bus is full, and their spools take over
PAGE = 4096

_LONGEST_WAL = 16 * 2**20  # bytes that it keeps after a burst
_SETUP_WITHIN = 5.0  # seconds for another process that is just closing the file
_TABLES = """
    CREATE TABLE counters (topology INTEGER NOT NULL, owners INTEGER NOT NULL) STRICT;
    INSERT INTO counters VALUES (0, 0);
    CREATE TABLE queues (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        ttl_ms INTEGER,
        most INTEGER,
        overflow TEXT NOT NULL,
        ready INTEGER NOT NULL DEFAULT 0  -- entries without an owner
    ) STRICT;
    CREATE TABLE bindings (
        queue INTEGER NOT NULL REFERENCES queues (id),
        exchange TEXT NOT NULL,
        pattern TEXT NOT NULL,
        PRIMARY KEY (queue, exchange, pattern)
    ) STRICT, WITHOUT ROWID;
    -- Ids are never used twice: an acknowledgement that comes late must not hit another message.
    CREATE TABLE entries (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        queue INTEGER NOT NULL REFERENCES queues (id),
        owner INTEGER,
        deliveries INTEGER NOT NULL DEFAULT 0,
        expires_at INTEGER,  -- milliseconds since 1970
        message BLOB NOT NULL
    ) STRICT;
    CREATE INDEX entries_ready ON entries (queue, id) WHERE owner IS NULL;
    CREATE INDEX entries_owned ON entries (owner) WHERE owner IS NOT NULL;
    CREATE INDEX entries_mortal ON entries (expires_at) WHERE expires_at IS NOT NULL;
    CREATE TRIGGER entered AFTER INSERT ON entries
        BEGIN UPDATE queues SET ready = ready + 1 WHERE id = NEW.queue; END;
    CREATE TRIGGER left AFTER DELETE ON entries WHEN OLD.owner IS NULL
        BEGIN UPDATE queues SET ready = ready - 1 WHERE id = OLD.queue; END;
    CREATE TRIGGER changed_hands AFTER UPDATE OF owner ON entries
        BEGIN UPDATE queues SET ready = ready + (NEW.owner IS NULL) - (OLD.owner IS NULL) WHERE id = NEW.queue; END;
"""


class FileUnusable(StreamwardError):
    """A file that is no bus of ours, or that others could read."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return self.why


def touch(path: Path) -> None:
    """Sees to a file that only we can read; SQLite gives its companions the same mode."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Never opened once it is in use: closing any descriptor of it would end the locks that SQLite has on it.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    if path.stat().st_mode & 0o077:
        raise FileUnusable("its file can be read by others: make it 0600")


def connect(path: Path, owners: Owners, *, most_bytes: int = MOST_BYTES) -> sqlite3.Connection:
    """The file, made if it is not there; for the thread that calls, and in no transaction."""
    connection = sqlite3.connect(path, timeout=_SETUP_WITHIN, isolation_level=None, cached_statements=64)
    try:
        with owners.setting_up():
            _make(connection)
        connection.execute(f"PRAGMA max_page_count = {most_bytes // PAGE}")
        connection.execute(f"PRAGMA journal_size_limit = {_LONGEST_WAL}")
        connection.execute("PRAGMA busy_timeout = 0")  # the writer waits in its own way, which is quicker
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def held(path: Path, *, within: float = 60.0) -> Iterator[None]:
    """Nobody else writes meanwhile, nor is in the middle of it."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=within)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        yield
        holder.execute("ROLLBACK")


def _make(connection: sqlite3.Connection) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in {0, VERSION}:
        raise FileUnusable(f"its file is of version {version}, and ours is {VERSION}")
    if version == 0:
        connection.execute(f"PRAGMA page_size = {PAGE}")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # before the first table
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
