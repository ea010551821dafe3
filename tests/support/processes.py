"""Roles of Streamward as real processes: started by the real command line on free ports, and always ended."""

import contextlib
import os
import re
import select
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

COMMAND = [sys.executable, "-m", "streamward"]
READY_WITHIN = 60.0  # seconds: a busy machine is no failure
STOP_WITHIN = 60.0
RUN_WITHIN = 600.0


class NeverReady(Exception):
    """A process ended, or said nothing, before it served."""


def environment(data: Path, **settings: object) -> dict[str, str]:
    """This machine's environment with these settings of ours and no others; nobody is signed in."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("STREAMWARD_")}
    ours = {"DATA": data, "PORT": 0, **settings}
    return kept | {"HOME": str(data)} | {f"STREAMWARD_{name}": str(value) for name, value in ours.items()}


def said_when_served(process: "subprocess.Popen[bytes]") -> str:
    """All that a role says at its start, up to how it is ended."""
    said = ""
    assert process.stdout is not None
    while "Ctrl-C" not in said:
        if not select.select([process.stdout], [], [], READY_WITHIN)[0]:
            raise NeverReady("it said nothing")
        piece = os.read(process.stdout.fileno(), 65_536)
        if not piece:
            raise NeverReady(f"it ended with {process.wait()}")
        said += piece.decode()
    return said


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

    def __init__(self, process: subprocess.Popen[bytes], *, data: Path, trust: ssl.SSLContext | None = None) -> None:
        self.process = process
        self.data = data
        self.said = ""
        self.url = self._read_address()
        self._trust: ssl.SSLContext | bool = trust or True
        httpx.get(f"{self.url}/ready", timeout=READY_WITHIN, verify=self._trust).raise_for_status()

    @property
    def code(self) -> str | None:
        """The one-time code that it printed when it started; it had to before it could be ready."""
        assert self.process.stdout is not None
        while select.select([self.process.stdout], [], [], 0)[0] and (
            piece := os.read(self.process.stdout.fileno(), 65_536)
        ):
            self.said += piece.decode()
        found = re.search(r"--code (\S+)", self.said)
        return None if found is None else found[1]

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

    def _read_address(self) -> str:
        """The address that it prints once it listens."""
        assert self.process.stdout is not None
        while select.select([self.process.stdout], [], [], READY_WITHIN)[0]:
            piece = os.read(self.process.stdout.fileno(), 65_536)
            if not piece:
                raise NeverReady(f"it ended with {self.process.wait()}")
            self.said += piece.decode()
            if found := re.search(r"listens on +(\S+)\n", self.said):
                return found[1]
        raise NeverReady("it said nothing")


@contextlib.contextmanager
def control(
    data: Path, *args: str, trust: ssl.SSLContext | None = None, **settings: object
) -> Iterator[ControlProcess]:
    """A control plane that serves, over TLS with what a client trusts; its log is shown if the test fails."""
    log = data.parent / f"{data.name}.{time.monotonic_ns()}.log"
    with log.open("w") as err:
        process = subprocess.Popen(
            [*COMMAND, "control", *args],
            env=environment(data, **settings),
            cwd=data.parent,
            stdout=subprocess.PIPE,
            stderr=err,
        )
    try:
        yield ControlProcess(process, data=data, trust=trust)
    except BaseException as err:
        err.add_note(f"log of streamward control ({log.name}):\n{log.read_text()[-20_000:]}")
        raise
    finally:
        end(process)


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
