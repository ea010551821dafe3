"""A private PostgreSQL from Debian's package: its own folder, its own port, ended and removed with the test session.

The server refuses to run as root, so it gets its own user and a short folder that this user may enter. It dies with
this process whatever happens. Each test gets a fresh copy of a migrated database.
"""

import asyncio
import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from streamward.drivers.sql.migrate import migrate
from tests.support.ports import free_port

_PACKAGED = Path("/usr/lib/postgresql")
_USER = "postgres"
_TEMPLATE = "template_migrated"
_EMPTY = "".join(
    f"DELETE FROM {table};"
    for table in (
        "stream_status",
        "cameras",
        "stream_leases",
        "runners",
        "incarnations",
        "sites",
        "created_once",
        "logins",
        "handovers",
        "tenants",
        "invitations",
        "identities",
        "outbox",
        "detections",
        "zone_events",
        "batches",
        "analyses",
        "broadcasts",
        "batching_rules",
        "tenant_deletions",
        "installation_keys",
        "batchers",
    )
)
_EMPTY += "SET session_replication_role = replica; DELETE FROM audit; DELETE FROM lease_grants;"  # past their guards


class PostgresServer:
    """One running server."""

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        self._names = itertools.count(1)
        self._made: set[str] = set()
        self._folder = Path(tempfile.mkdtemp(prefix="swpg-", dir="/tmp"))
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    def start(self) -> None:
        if os.geteuid() == 0:
            shutil.chown(self._folder, _USER, _USER)
        data = self._folder / "data"
        subprocess.run(
            self._command("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"),
            check=True,
            stdout=subprocess.DEVNULL,
        )
        self.resume()

    def resume(self) -> None:
        """Runs it on what it has."""
        options = {"listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": self._folder}
        settings = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command("postgres", "-D", self._folder / "data", *settings), stdout=log, stderr=subprocess.STDOUT
            )
        self._wait_until_ready()

    def crash(self) -> None:
        """Ends all its processes at once: it recovers when it is resumed."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(timeout=60)
            self._process = None

    def stop(self) -> None:
        """Ends it, and throws its data away."""
        self.crash()
        shutil.rmtree(self._folder)

    def url(self, database: str, *, user: str = "postgres") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    async def make_template(self) -> None:
        await self.run(f"CREATE DATABASE {_TEMPLATE}")
        await migrate(self.url(_TEMPLATE))

    async def create(self, name: str | None = None) -> str:
        """A fresh, migrated database."""
        name = name or f"test_{next(self._names)}"
        await self.run(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE}")
        return name

    async def emptied(self, name: str, script: str = "SELECT 1") -> str:
        """The migrated database of that name, prepared once, without rows: a new one takes longer than most tests."""
        if name not in self._made:
            self._made.add(await self.create(name))
            await self.run(script, database=name)
        await self.run(_EMPTY, database=name)
        return name

    async def drop(self, name: str) -> None:
        await self.run(f"DROP DATABASE {name} WITH (FORCE)")

    @contextlib.contextmanager
    def shut(self, name: str) -> Iterator[None]:
        """Nobody gets into that database, and who is in is thrown out."""
        thrown_out = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        asyncio.run(self.run(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false"))
        asyncio.run(self.run(thrown_out))
        try:
            yield
        finally:
            asyncio.run(self.run(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true"))

    async def run(self, sql: str, *, database: str = "postgres") -> None:
        """Runs statements as the superuser."""
        connection = await asyncpg.connect(self.url(database))
        try:
            await connection.execute(sql)
        finally:
            await connection.close()

    def _command(self, program: str, *words: object) -> list[str]:
        """As the server's own user, and ended by the kernel should this process die."""
        become = ["--reuid", _USER, "--regid", _USER, "--clear-groups"] if os.geteuid() == 0 else []
        return ["setpriv", "--pdeathsig", "INT", *become, str(self._binaries / program), *map(str, words)]

    def _wait_until_ready(self) -> None:
        assert self._process is not None
        ready = self._folder / "data" / "postmaster.pid"
        while not (ready.exists() and ready.read_text().rstrip().endswith("ready")):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=0.01)
                raise RuntimeError((self._folder / "log").read_text())


def installed() -> Path | None:
    """Where the newest PostgreSQL of this machine has its programs."""
    found = {float(path.parent.parent.name): path.parent for path in _PACKAGED.glob("[0-9]*/bin/postgres")}
    return found[max(found)] if found and shutil.which("setpriv") else None


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """The session's server; started by the first test that wants it."""
    with running() as server:
        yield server


@pytest.fixture
def mortal_postgres() -> Iterator[PostgresServer]:
    """A server of the test's own, to be killed."""
    with running() as server:
        yield server


@contextlib.contextmanager
def running() -> Iterator[PostgresServer]:
    """A server while this lasts; without the package the test is skipped."""
    binaries = installed()
    if binaries is None:
        pytest.skip(f"PostgreSQL is not installed: no {_PACKAGED}/*/bin/postgres, or no setpriv")
    server = PostgresServer(binaries)
    try:
        server.start()
        asyncio.run(server.make_template())
        yield server
    finally:
        server.stop()


@pytest.fixture
async def database(postgres: PostgresServer) -> AsyncIterator[str]:
    """A fresh, migrated database of the session's server, by name."""
    name = await postgres.create()
    yield name
    await postgres.drop(name)


@pytest.fixture
async def emptied(postgres: PostgresServer) -> str:
    """A migrated database without rows, by name; for tests that leave its schema alone."""
    return await postgres.emptied("test_emptied")
