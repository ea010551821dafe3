"""`streamward worker` as a real process, with a control plane and a simulated recorder around it."""

import asyncio
import contextlib
import json
import re
import select
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx

from streamward.drivers.buses import open_bus
from streamward.model.bus import Bus
from streamward.model.secret import Secret
from streamward.protocol.readiness import RunnerReady, WorkerReady
from streamward.runtime.clock import SystemClock
from tests.support.nvr import NvrProcess, recorder
from tests.support.processes import ControlProcess, RoleProcess, control, environment

PATIENCE = 60.0  # seconds


class WorkerProcess:
    """A Worker that serves."""

    def __init__(self, role: RoleProcess[WorkerReady], *, folder: Path) -> None:
        self.process = role.process
        self._role = role
        ready = role.wait_ready()
        self.api = httpx.Client(base_url=ready.url, timeout=30)
        self.secret = json.loads((folder / ready.secret_file).read_text())["secret"]

    @property
    def log(self) -> str:
        """What it wrote to its standard error."""
        return self._role.log

    def is_ready(self) -> bool:
        """Whether enough of its cameras stream."""
        return self.api.get("/ready").status_code == httpx.codes.OK

    def metric(self, name: str, **labels: str) -> float:
        """One value of its metrics; 0 if it is not there."""
        written = ",".join(f'{key}="{value}"' for key, value in labels.items())
        head = f"{name}{{{written}}} " if labels else f"{name} "
        lines = self.api.get("/metrics").text.splitlines()
        return next((float(line.removeprefix(head)) for line in lines if line.startswith(head)), 0.0)

    def histogram(self, name: str) -> dict[float, float]:
        """How many values were at most so large, over all labels."""
        found: dict[float, float] = {}
        for at_most, count in re.findall(
            rf'^{name}_bucket{{.*?le="(\S+)"}} (\S+)$', self.api.get("/metrics").text, re.MULTILINE
        ):
            found[float(at_most)] = found.get(float(at_most), 0.0) + float(count)
        return found

    @property
    def memory(self) -> int:
        """Bytes that it has in memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) * 1024

    def order(self, path: str) -> int:
        """Posts with its secret; returns the status."""
        return self.api.post(path, headers={"Authorization": f"Bearer {self.secret}"}).status_code

    def ended(self, by: signal.Signals | None = None) -> int:
        """Waits for its exit code, after a signal if one is named."""
        if by is not None:
            self.process.send_signal(by)
        return self.process.wait(PATIENCE)


class RunnerProcess:
    """A runner, from its parent down."""

    def __init__(self, role: RoleProcess[RunnerReady]) -> None:
        self.process = role.process
        self.wait_ready = role.wait_ready
        self._role = role

    @property
    def log(self) -> str:
        """What it and its Workers wrote so far."""
        return self._role.log

    def facts(self, event: str) -> list[dict[str, Any]]:
        """The log lines of one kind, of the Manager and of its Workers."""
        told = [json.loads(line) for line in self.log.splitlines() if line.startswith("{") and line.endswith("}")]
        return [line for line in told if line["event"] == event]

    def streaming(self) -> set[str]:
        """Cameras that have shown a frame."""
        return {fact["camera_uuid"] for fact in self.facts("stream.shown")}

    @property
    def manager(self) -> int:
        """The Manager's pid."""
        return children_of(self.process.pid)[0]

    def ended(self, by: signal.Signals | None = None) -> int:
        """Waits for its exit code, after a signal if one is named."""
        if by is not None:
            self.process.send_signal(by)
        return self.process.wait(PATIENCE)


def children_of(pid: int) -> list[int]:
    """Direct children."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def family(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for each in found:
        for listing in Path(f"/proc/{each}/task").glob("*/children"):
            found += map(int, listing.read_text().split())
    return found


class Plant:
    """Everything that a Worker needs; `site-1` of `acme` has the recorder's cameras."""

    def __init__(self, serving: ControlProcess, nvr: NvrProcess, *, data: Path) -> None:
        self.control = serving
        self.nvr = nvr
        self.data = data
        self.cameras = [url.rpartition("/")[2] for url in nvr.urls]
        self._started = 0
        self.furnish()

    def config(self, **changes: Any) -> dict[str, Any]:
        """A shard with all cameras, as `runner` r1."""
        config = {
            "runner_id": "r1",
            "shard_id": "s0",
            "data": str(self.data),
            "grace_timeout_s": 5,
            "source_limits": {"allow": ["127.0.0.0/8"]},
            "cp": {
                "base_url": self.control.url,
                "token": self.control.token("--runner", changes.get("runner_id", "r1")),
            },
            "sources": [self.source(camera) for camera in self.cameras],
        }
        return config | changes

    def source(self, camera: str, **changes: Any) -> dict[str, Any]:
        """One camera of the recorder."""
        url = next(url for url in self.nvr.urls if url.endswith(f"/{camera}"))
        told = {"camera_uuid": camera, "url": url, "site_id": "site-1", "tenant_id": "acme", "allow": ["127.0.0.0/8"]}
        return told | changes

    @contextlib.contextmanager
    def worker(self, config: dict[str, Any] | None = None) -> Iterator[WorkerProcess]:
        """A Worker at work; its log is shown if the test fails."""
        path = self.written(config or self.config())
        log, folder = path.with_suffix(".log"), self.data.parent
        command = ("worker", "--config", str(path))
        role = RoleProcess(*command, ready=WorkerReady, log=log, env=environment(self.data), within=folder)
        with role.ending():
            yield WorkerProcess(role, folder=folder)

    def written(self, config: dict[str, Any]) -> Path:
        """A config in a file that only its owner can read."""
        self._started += 1
        path = self.data.parent / f"shard-{self._started}.json"
        path.touch(mode=0o600)
        path.write_text(json.dumps(config))
        return path

    def enrol(self, runner_id: str) -> Path:
        """Makes a runner known; returns the file of its identity."""
        path = self.data.parent / f"{runner_id}.json"
        told = self.control.command("runners", "invite", runner_id, "--json")
        code = json.loads(told.stdout)["code"]
        done = self.control.command("enrol", self.control.url, "--code", code, IDENTITY=path)
        assert done.returncode == 0, done.stderr
        return path

    @contextlib.contextmanager
    def runner(self, runner_id: str, **settings: object) -> Iterator["RunnerProcess"]:
        """A runner at work: parent, Manager, fork server and Workers; its log is shown if the test fails."""
        identity = self.data.parent / f"{runner_id}.json"
        if not identity.exists():
            self.enrol(runner_id)
        self._started += 1
        log = self.data.parent / f"{runner_id}-{self._started}.log"
        ours = {"IDENTITY": identity, "CONTROL_URL": self.control.url, "PROM_MANAGER_PORT": 0, "PROM_WORKER_PORT": 0}
        env = environment(self.data, **{**ours, **settings})
        role = RoleProcess("runner", ready=RunnerReady, log=log, env=env, within=self.data.parent)
        with role.ending():
            yield RunnerProcess(role)

    def owners(self) -> dict[str, str | None]:
        """Who holds which camera."""
        listed = self.control.command("leases", "list", "--json").stdout.splitlines()
        return {each["camera_uuid"]: each["owner_id"] for each in map(json.loads, listed)}

    def furnish(self) -> None:
        with self.control.client("--admin", "ada") as ada:
            ada.post("/v1/tenants", json={"tenant_id": "acme"}).raise_for_status()
            site = {"site_id": "site-1", "tenant_id": "acme", "sources": {"allow": ["127.0.0.0/8"]}}
            ada.post("/v1/sites", json=site).raise_for_status()
            for camera, url in zip(self.cameras, self.nvr.urls, strict=True):
                camera_message = {"camera_uuid": camera, "site_id": "site-1", "rtsp_url": url}
                ada.post("/v1/cameras", json=camera_message).raise_for_status()


@contextlib.contextmanager
def plant(folder: Path, *nvr_args: str, **settings: str) -> Iterator[Plant]:
    """A control plane, a recorder and their cameras, in that folder."""
    data = folder / "data"
    with control(data, trust=None, **settings) as serving, recorder(folder / "nvr", *nvr_args) as nvr:
        yield Plant(serving, nvr, data=data)


@contextlib.asynccontextmanager
async def bus_of(lab: Plant, url: str | None = None) -> AsyncIterator[Bus]:
    """The bus that a Worker there publishes to, for whoever reads from it."""
    before = asyncio.all_tasks()
    bus = open_bus(None if url is None else Secret(url), lab.data, clock=SystemClock())
    try:
        yield bus
    finally:
        await bus.close()
        async with asyncio.timeout(PATIENCE):
            while left := asyncio.all_tasks() - before:
                await asyncio.wait(left)  # the library's own end a few turns after it said so


def until(is_so: Any, *, within: float = PATIENCE) -> None:
    """Looks again and again until something is so."""
    last = time.monotonic() + within
    while not is_so():
        assert time.monotonic() < last, "it did not come to that"
        select.select([], [], [], 0.05)
