"""`streamward nvr` as a real process."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from streamward.protocol.readiness import NvrReady
from tests.support.processes import RoleProcess, environment

SMALL = ("--width", "320", "--height", "192", "--fps", "25", "--scenes", "2", "--port", "0", "--control-port", "0")


class NvrProcess:
    """A simulated recorder, serving."""

    def __init__(self, role: RoleProcess[NvrReady]) -> None:
        self.process = role.process
        self._role = role
        ready = role.wait_ready()
        self.said = role.printed()
        self.urls = ready.camera_urls
        self.control = httpx.Client(base_url=ready.control_url, timeout=60)

    @property
    def log(self) -> str:
        """Its standard error so far."""
        return self._role.log

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
    role = RoleProcess("nvr", *SMALL, *args, ready=NvrReady, log=log, env=environment(data), within=data.parent)
    with role.ending():
        started = NvrProcess(role)
        with started.control:
            yield started
