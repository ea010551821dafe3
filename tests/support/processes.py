"""Roles of Streamward as real processes: started by the real command line on free ports, and always ended."""

import contextlib
import os
import select
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Generic

import httpx

from streamward.protocol.readiness import ControlReady
from streamward.up.ready_pipe import EndedBeforeReady, R, ReadyPipe

COMMAND = [sys.executable, "-m", "streamward"]
OPEN = "0.0.0.0/0,::/0,127.0.0.0/8"
READY_WITHIN = 300.0  # seconds: a busy machine is no failure, and a process that ends is noticed at once
STOP_WITHIN = 60.0
RUN_WITHIN = 600.0


class NeverReady(Exception):
    """A process ended, or took too long, before it served."""


def environment(data: Path, **settings: object) -> dict[str, str]:
    """This machine's environment with these settings of ours and no others; None: not set. Nobody is signed in.

    Simulated cameras are on loopback, which is closed by default.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("STREAMWARD_")}
    ours = {"DATA": data, "PORT": 0, "SOURCES_ALLOW": OPEN, "RUNNER_SOURCE_ALLOW": OPEN, **settings}
    given = {f"STREAMWARD_{name}": str(value) for name, value in ours.items() if value is not None}
    return kept | {"HOME": str(data)} | given


class RoleProcess(Generic[R]):
    """A role of `streamward` as a process in the folder `within`; its log is shown if the test fails."""

    def __init__(self, *command: str, ready: type[R], log: Path, env: Mapping[str, str], within: Path) -> None:
        self._log = log
        self._pipe = ReadyPipe(ready)
        with log.open("w") as err:
            self.process = subprocess.Popen(
                [*COMMAND, *command, *self._pipe.option],
                env=env,
                cwd=within,
                stdout=subprocess.PIPE,
                stderr=err,
                pass_fds=[self._pipe.writer],
            )
        self._pipe.close_writer()

    @property
    def log(self) -> str:
        """Its standard error so far."""
        return self._log.read_text()

    def wait_ready(self) -> R:
        """Its readiness message."""
        try:
            ready = self._pipe.receive(within=READY_WITHIN)
        except EndedBeforeReady:
            raise NeverReady(f"it ended with {self.process.wait(STOP_WITHIN)}") from None
        if ready is None:
            raise NeverReady("it sent no readiness message")
        return ready

    def printed(self) -> str:
        """Its standard output from the last call to now."""
        assert self.process.stdout is not None
        text = b""
        while select.select([self.process.stdout], [], [], 0)[0] and (
            piece := os.read(self.process.stdout.fileno(), 65_536)
        ):
            text += piece
        return text.decode()

    @contextlib.contextmanager
    def ending(self) -> Iterator[None]:
        """Ends it afterwards; an error gets the end of its log as a note."""
        try:
            yield
        except BaseException as err:
            err.add_note(f"{self._log.name}:\n{self.log[-20_000:]}")
            raise
        finally:
            end(self.process)
            self._pipe.close()


def run(*args: str, data: Path, typed: str = "", **settings: object) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end; `typed` is its standard input."""
    return subprocess.run(
        [*COMMAND, *args],
        env=environment(data, **settings),
        cwd=data.parent if data.parent.is_dir() else None,
        input=typed,
        capture_output=True,
        text=True,
        timeout=RUN_WITHIN,
        check=False,
    )


class ControlProcess:
    """`streamward control`, serving."""

    def __init__(self, role: RoleProcess[ControlReady], *, data: Path, trust: ssl.SSLContext | None = None) -> None:
        self.process = role.process
        self.data = data
        ready = role.wait_ready()
        self.url = ready.url
        self.code = None if ready.code is None else ready.code.secret.reveal()  # for the first admin
        self.said = role.printed()
        self._trust: ssl.SSLContext | bool = trust or True
        httpx.get(f"{self.url}/ready", timeout=READY_WITHIN, verify=self._trust).raise_for_status()

    def token(self, *args: str) -> str:
        """A token, minted by the command line."""
        minted = run("token", *args, data=self.data)
        assert minted.returncode == 0, minted.stderr
        return minted.stdout.strip()

    def command(self, *args: str, typed: str = "", **settings: object) -> subprocess.CompletedProcess[str]:
        """Runs an operator's command beside it, on its host."""
        return run(*args, data=self.data, typed=typed, **{"CONTROL_URL": self.url, **settings})

    def client(self, *args: str) -> httpx.Client:
        """A client with a token of its own: `client("--runner", "r1")`."""
        headers = {"Authorization": f"Bearer {self.token(*args)}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, verify=self._trust)

    def stop(self, by: signal.Signals = signal.SIGTERM) -> tuple[int, float]:
        """Asks it to end; returns its exit code and how many seconds it took."""
        asked = time.monotonic()
        self.process.send_signal(by)
        return self.process.wait(STOP_WITHIN), time.monotonic() - asked


@contextlib.contextmanager
def control(
    data: Path, *args: str, trust: ssl.SSLContext | None = None, **settings: object
) -> Iterator[ControlProcess]:
    """A control plane that serves, over TLS with what a client trusts; its log is shown if the test fails."""
    log = data.parent / f"{data.name}.{time.monotonic_ns()}.log"
    env = environment(data, **settings)
    role = RoleProcess("control", *args, ready=ControlReady, log=log, env=env, within=data.parent)
    with role.ending():
        yield ControlProcess(role, data=data, trust=trust)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process, by force if it takes too long."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout is not None:
        process.stdout.close()
