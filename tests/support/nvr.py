"""`streamward nvr` as a real process."""

import contextlib
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from tests.support.processes import COMMAND, end, environment, said_when_served

SMALL = ("--width", "320", "--height", "192", "--fps", "25", "--scenes", "2", "--port", "0", "--control-port", "0")


class NvrProcess:
    """A simulated recorder, serving."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.said = said_when_served(process)
        self.urls = re.findall(r"rtsps?://\S+", self.said)
        self.control = httpx.Client(base_url=re.findall(r"control API +(\S+)", self.said)[0], timeout=60)

    def set(self, camera: str | None = None, **fault: object) -> None:
        """Sets a fault: `set("cam-1", kind="frozen")`."""
        self.control.post("/faults", json={"fault": fault, "camera": camera}).raise_for_status()

    def clear(self) -> None:
        """Takes all faults away."""
        self.control.delete("/faults").raise_for_status()


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
