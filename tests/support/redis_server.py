"""A private Redis from Debian's package: its own folder, ports and password, ended and removed with the session.

It listens on loopback only, plain and with TLS, and dies with this process whatever happens. Unless a test wants it
otherwise it keeps nothing on disk.
"""

import contextlib
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from redis.asyncio import Redis

from streamward.drills.takeover.runner import stop
from streamward.drivers.redis import Patience, RedisServer
from streamward.model.secret import Secret
from tests.support.certificates import Authority
from tests.support.ports import lasting_port

PASSWORD = "r-c@nary:se/cret?"
KEPT_NOWHERE = {"appendonly": "no"}
_PROGRAM = "redis-server"
_READY = "Ready to accept connections"
_PATIENCE = Patience(connect=60.0, answer=60.0)
_READ = {
    "string": ("GET",),
    "list": ("LRANGE", "0", "-1"),
    "hash": ("HGETALL",),
    "zset": ("ZRANGE", "0", "-1", "WITHSCORES"),
}


class EndedEarly(Exception):
    """It did not come up."""


class PrivateRedis:
    """One server, running or not; stopped or killed and started again it has what it kept."""

    def __init__(self, options: Mapping[str, str] = KEPT_NOWHERE) -> None:
        self.port, self.tls_port = lasting_port(), lasting_port()
        self.folder = Path(tempfile.mkdtemp(prefix="swrd-", dir="/tmp"))
        self._process: subprocess.Popen[bytes] | None = None
        authority = Authority(self.folder)
        authority.issue("node")
        self.authority = authority.file
        fixed = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "tls-port": str(self.tls_port),
            "tls-cert-file": "node.pem",
            "tls-key-file": "node.key",
            "tls-ca-cert-file": "ca.pem",
            "tls-auth-clients": "no",
            "dir": str(self.folder),
            "requirepass": f'"{PASSWORD}"',
            "save": '""',
        }
        told = {**fixed, **options}
        (self.folder / "redis.conf").write_text("".join(f"{name} {value}\n" for name, value in told.items()))

    def start(self) -> None:
        """Runs it until it takes connections; raises EndedEarly."""
        with (self.folder / "output").open("wb") as output:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", _PROGRAM, "redis.conf"],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        while _READY not in (told := (self.folder / "output").read_text()):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=0.02)
                raise EndedEarly(told)

    def kill(self) -> None:
        """Ends it at once."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(timeout=60)
            self._process = None

    def freeze(self) -> None:
        """It stands still, with its connections open."""
        assert self._process is not None
        stop([self._process.pid])

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self.folder)

    def url(self, *, port: int | None = None, password: str = PASSWORD) -> str:
        return f"redis://:{quote(password, safe='')}@127.0.0.1:{port or self.port}/"

    def tls_url(self, *, authority: Path | None = None) -> str:
        trusted = f"?cafile={authority}" if authority else ""
        return f"rediss://:{quote(PASSWORD, safe='')}@127.0.0.1:{self.tls_port}/{trusted}"

    def at(self, *, port: int | None = None) -> RedisServer:
        """As a batcher is told of it."""
        return RedisServer(url=Secret(self.url(port=port)), patience=_PATIENCE)

    @contextlib.asynccontextmanager
    async def client(self) -> AsyncIterator[Redis]:
        """Somebody who looks at what is in it."""
        async with Redis(host="127.0.0.1", port=self.port, password=PASSWORD, decode_responses=True) as redis:
            yield redis


async def contents(client: Redis, start: str = "") -> dict[str, object]:
    """Every key that begins so, and what is in it."""
    keys = sorted([key async for key in client.scan_iter(f"{start}*", count=10_000)])
    kinds = await asked(client, *(("TYPE", key) for key in keys))
    reads = [_READ[kind] for kind in kinds]
    values = await asked(client, *((read[0], key, *read[1:]) for read, key in zip(reads, keys, strict=True)))
    return dict(zip(keys, values, strict=True))


async def asked(client: Redis, *commands: tuple[str | int, ...]) -> list[Any]:
    """The answers to these commands."""
    async with client.pipeline(transaction=False) as pipeline:
        for command in commands:
            pipeline.execute_command(*command)
        return list(await pipeline.execute())


def is_installed() -> bool:
    return all(map(shutil.which, (_PROGRAM, "setpriv")))


@pytest.fixture(scope="session")
def redis_server() -> Iterator[PrivateRedis]:
    """The session's server, for tests that let it live; started by the first that wants it."""
    with running() as server:
        yield server


@pytest.fixture
def mortal_redis() -> Iterator[PrivateRedis]:
    """A server of the test's own, to be killed."""
    with running() as server:
        yield server


@contextlib.contextmanager
def running(options: Mapping[str, str] = KEPT_NOWHERE) -> Iterator[PrivateRedis]:
    """A server while this lasts; without the package the test is skipped."""
    if not is_installed():
        pytest.skip(f"Redis is not installed: no {_PROGRAM}, or no setpriv")
    server = _started(options)
    try:
        yield server
    finally:
        server.remove()


def _started(options: Mapping[str, str]) -> PrivateRedis:
    """A server; another one if somebody took one of its ports."""
    for _ in range(4):
        server = PrivateRedis(options)
        try:
            server.start()
        except EndedEarly:
            server.remove()
        else:
            return server
    raise AssertionError("no Redis stays up")
