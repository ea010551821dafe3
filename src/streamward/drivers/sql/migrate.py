"""Brings a database to the newest schema, or takes all of it away.

Several control planes may start at once: on PostgreSQL they take turns by an advisory lock, and those that come later
find nothing to do. A control plane whose role may not change the schema only looks.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

from streamward.drivers.sql.database import unavailable_on_failure
from streamward.drivers.sql.engine import FILE_SIZE, migration_engine
from streamward.leases.store import StoreUnavailable
from streamward.model.errors import StreamwardError

_NO_PRIVILEGE = "42501"  # the SQLSTATE
_TURN = 0x5357  # the advisory lock's number: "SW"


class SchemaUnknown(StreamwardError):
    """The database was brought to a schema that this program has never heard of: a newer one was here before."""

    def __init__(self, revision: str) -> None:
        super().__init__(revision)
        self.revision = revision

    def __str__(self) -> str:
        return f"the database has schema {self.revision}, which this version does not know: run the newer one"


class SchemaBehind(StoreUnavailable):
    """The database has an older schema, and this program's user may not change it."""

    def __init__(self, schema: str | None) -> None:
        super().__init__(schema)
        self.schema = schema

    def __str__(self) -> str:
        found = "no schema yet" if self.schema is None else f"schema {self.schema}"
        return (
            f"the database has {found}, this version needs {newest()}, and the user of STREAMWARD_DATABASE_URL may not "
            "change it: run `streamward migrate` as the owner of the tables, then roles.sql"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """How a database stands to this program."""

    schema: str | None  # None: there is none yet
    newest: str
    is_known: bool
    at: datetime | None  # its clock; None: it has none of its own
    size: int | None  # bytes in use of a SQLite file; None: it is a server's


async def inspect(url: str) -> Inspected:
    """Looks, and changes nothing."""
    async with _connected(url) as connection:
        schema = await _schema(connection)
        at: datetime | None = None
        size: int | None = None
        if connection.dialect.name == "postgresql":
            at = (await connection.execute(text("SELECT clock_timestamp()"))).scalar_one()
        else:
            size = (await connection.execute(text(FILE_SIZE))).scalar_one()
        return Inspected(
            schema=schema,
            newest=newest(),
            is_known=schema is None or schema in _revisions(),
            at=at,
            size=size,
        )


async def migrate(url: str) -> str | None:
    """Upgrades to the newest schema, and returns the one before; changes nothing if that is there already.

    Raises SchemaBehind if the user of the URL may not change it.
    """
    schema: str | None = None
    try:
        async with _connected(url) as connection:
            schema = await _schema(connection)
            if not await is_newest(connection):
                await _take_turn(connection)
                await connection.run_sync(lambda sync: command.upgrade(_config(sync), "head"))
    except StoreUnavailable as err:
        if getattr(getattr(err.__cause__, "orig", None), "sqlstate", None) == _NO_PRIVILEGE:
            raise SchemaBehind(schema) from err
        raise
    return schema


def newest() -> str:
    """The schema of this program."""
    return str(_scripts().get_current_head())


async def is_newest(connection: AsyncConnection) -> bool:
    """Whether there is nothing to upgrade."""
    current = await _schema(connection)
    if current is not None and current not in _revisions():
        raise SchemaUnknown(current)
    return current == newest()


async def downgrade(url: str, *, to: str = "base") -> None:
    """Goes back to an older schema; what it did not hold is lost."""
    async with _connected(url) as connection:
        await _take_turn(connection)
        await connection.run_sync(lambda sync: command.downgrade(_config(sync), to))


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[AsyncConnection]:
    engine = migration_engine(url)
    try:
        with unavailable_on_failure():
            async with engine.begin() as connection:
                yield connection
    finally:
        await engine.dispose()


async def _take_turn(connection: AsyncConnection) -> None:
    if connection.dialect.name == "postgresql":
        await connection.execute(text(f"SELECT pg_advisory_xact_lock({_TURN})"))


async def _schema(connection: AsyncConnection) -> str | None:
    return await connection.run_sync(lambda sync: MigrationContext.configure(sync).get_current_revision())


def _revisions() -> set[str]:
    return {script.revision for script in _scripts().walk_revisions()}


@cache
def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", "streamward.drivers.sql:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
