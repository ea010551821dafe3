"""A private RabbitMQ from Debian's package: its own folder, ports, user and epmd, ended and removed with the session.

It listens on loopback only, plain and with TLS, and never meets the machine's own node. Node and epmd die with this
process whatever happens. Stopped or killed and started again it has what it had.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from streamward.drills.takeover.runner import stop
from tests.support.certificates import Authority
from tests.support.ports import free_port

_SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
USER, PASSWORD = "streamward", "p@ss:w/rd?"
_CONFIGURATION = """
listeners.tcp.1 = 127.0.0.1:{port}
listeners.ssl.1 = 127.0.0.1:{tls_port}
ssl_options.certfile = {folder}/node.pem
ssl_options.keyfile = {folder}/node.key
default_user = {user}
default_pass = {password}
log.console = false
log.file.level = warning
"""


class RabbitServer:
    """One node, running or not."""

    def __init__(self) -> None:
        self.port, self.tls_port = free_port(), free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="swmq-", dir="/tmp"))
        self._epmd_port, self._own_port = free_port(), free_port()
        self._epmd: subprocess.Popen[bytes] | None = None
        self._node: subprocess.Popen[bytes] | None = None
        authority = Authority(self._folder)
        authority.issue("node")
        self.authority = authority.file
        values = {"port": self.port, "tls_port": self.tls_port, "user": USER, "password": PASSWORD}
        (self._folder / "rabbitmq.conf").write_text(_CONFIGURATION.format(folder=self._folder, **values))
        (self._folder / "plugins").write_text("[].\n")

    def start(self) -> None:
        """Runs it until it takes connections."""
        if self._epmd is None:
            self._epmd = self._run("epmd", "-port", str(self._epmd_port), "-address", "127.0.0.1")
        self._node = self._run(str(_SERVER))
        self._wait_until_ready()

    def stop(self) -> None:
        """Ends it in order: clients are told."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it at once, as a power cut does."""
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """It stands still, with its connections open."""
        assert self._node is not None
        stop([self._node.pid])

    def thaw(self) -> None:
        assert self._node is not None
        self._node.send_signal(signal.SIGCONT)

    def remove(self) -> None:
        """Ends everything of it."""
        self.kill()
        if self._epmd is not None:
            self._epmd.kill()
            self._epmd.wait()
        shutil.rmtree(self._folder)

    def url(self, *, password: str = PASSWORD) -> str:
        return f"amqp://{USER}:{quote(password, safe='')}@127.0.0.1:{self.port}/"

    def tls_url(self, *, authority: Path | None = None) -> str:
        trusted = f"?cafile={authority}" if authority else ""
        return f"amqps://{USER}:{quote(PASSWORD, safe='')}@127.0.0.1:{self.tls_port}/{trusted}"

    def _run(self, *command: str) -> subprocess.Popen[bytes]:
        """Ended by the kernel should this process die; one process, for RABBITMQ_ALLOW_INPUT leaves out its shell."""
        with (self._folder / "output").open("ab") as output:
            return subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command],
                env=self._environment(),
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self._folder),  # the cookie lies there
            "LANG": "C.UTF-8",
            "ERL_EPMD_PORT": str(self._epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"sw{self.port}@localhost",
            "RABBITMQ_DIST_PORT": str(self._own_port),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_CONFIG_FILE": str(self._folder / "rabbitmq"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self._folder / "plugins"),
            "RABBITMQ_MNESIA_BASE": str(self._folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self._folder / "log"),
            "RABBITMQ_PID_FILE": str(self._folder / "pid"),
            "RABBITMQ_ALLOW_INPUT": "1",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-noinput -kernel inet_dist_use_interface {127,0,0,1}",
        }

    def _end(self, by: signal.Signals) -> None:
        if self._node is not None:
            self._node.send_signal(by)
            self._node.wait(timeout=60)
            self._node = None

    def _wait_until_ready(self) -> None:
        assert self._node is not None
        while not (_answers(self.port) and _answers(self.tls_port)):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._node.wait(timeout=0.05)
                raise RuntimeError((self._folder / "output").read_text())


def is_installed() -> bool:
    return _SERVER.exists() and all(map(shutil.which, ("epmd", "setpriv")))


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[RabbitServer]:
    """The session's node, for tests that let it live; started by the first that wants it."""
    with running() as server:
        yield server


@pytest.fixture
def mortal_rabbitmq() -> Iterator[RabbitServer]:
    """A node of the test's own, to be killed."""
    with running() as server:
        yield server


@contextlib.contextmanager
def running() -> Iterator[RabbitServer]:
    """A node while this lasts; without the package the test is skipped."""
    if not is_installed():
        pytest.skip(f"RabbitMQ is not installed: no {_SERVER}, no epmd, or no setpriv")
    server = RabbitServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
