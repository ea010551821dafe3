"""`streamward nvr` as a real process."""

import contextlib
import os
import re
import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from tests.support.processes import COMMAND, READY_WITHIN, NeverReady, end, environment

SMALL = ("--width", "320", "--height", "192", "--fps", "25", "--scenes", "2", "--port", "0", "--control-port", "0")


class NvrProcess:
    """A simulated recorder, serving."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.said = ""
        self._read_until_served()
        self.urls = re.findall(r"rtsps?://\S+", self.said)
        self.control = httpx.Client(base_url=re.findall(r"control API +(\S+)", self.said)[0], timeout=60)

    def set(self, camera: str | None = None, **fault: object) -> None:
        """Sets a fault: `set("cam-1", kind="frozen")`."""
        self.control.post("/faults", json={"fault": fault, "camera": camera}).raise_for_status()

    def clear(self) -> None:
        """Takes all faults away."""
        self.control.delete("/faults").raise_for_status()

    def _read_until_served(self) -> None:
        assert self.process.stdout is not None
        while "Ctrl-C" not in self.said:
            if not select.select([self.process.stdout], [], [], READY_WITHIN)[0]:
                raise NeverReady("it said nothing")
            piece = os.read(self.process.stdout.fileno(), 65_536)
            if not piece:
                raise NeverReady(f"it ended with {self.process.wait()}")
            self.said += piece.decode()


@contextlib.contextmanager
def recorder(data: Path, *args: str) -> Iterator[NvrProcess]:
    """A simulated recorder that serves; its log is shown if the test fails."""
    log = data.parent / f"{data.name}.{time.monotonic_ns()}.log"
    with log.open("w") as err:
        process = subprocess.Popen(
            [*COMMAND, "nvr", *SMALL, *args],
            env=environment(data),
            cwd=data.parent,
            stdout=subprocess.PIPE,
            stderr=err,
        )
    started: NvrProcess | None = None
    try:
        started = NvrProcess(process)
        yield started
    except BaseException as err:
        err.add_note(f"log of streamward nvr ({log.name}):\n{log.read_text()[-20_000:]}")
        raise
    finally:
        if started is not None:
            started.control.close()
        end(process)
