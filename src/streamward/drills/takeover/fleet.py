"""The processes of a takeover drill: a control plane, a recorder, and runners that die and come back."""

import contextlib
import itertools
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from streamward.drills.roles import ENDED_WITHIN, ProcessFailed, Recorder, Role, call, minted
from streamward.drivers.bus.file import held
from streamward.drivers.buses import FILE
from streamward.model.runner import DrainMode
from streamward.protocol import codec
from streamward.protocol.fields import LARGEST_PAGE
from streamward.protocol.lease_listing import LeaseDetails, LeasePage
from streamward.protocol.runners import RunnerList
from streamward.settings import handed_on

SITE, TENANT = "drill-lab", "drill"
MAX_FPS = 5.0  # frames of a camera that are looked at a second
_HERE = "127.0.0.0/8"
_SIZE = ("--width", "320", "--height", "192", "--scenes", "2")  # pictures are coded with a keyframe each second


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSpec:
    """What is started, and where."""

    folder: Path
    cameras: int = 12
    runners: int = 2
    ttl: float = 8.0  # seconds
    renew_every: float = 2.0
    database: str | None = None  # None: SQLite
    amqp: str | None = None  # None: the embedded bus


@dataclass(slots=True)
class Runner:
    """One that is there, with the logs of all its starts."""

    runner_id: str
    role: Role
    starts: list[Role] = field(default_factory=list)

    @property
    def is_loaded(self) -> bool:
        """Whether its present start has a Worker that waits."""
        return any(line.get("event") == "worker.spawn" for line in self.role.lines())

    def lines(self) -> list[dict[str, Any]]:
        """What was logged in all its starts."""
        return [line for role in self.starts for line in role.lines()]


class Fleet:
    """All of them, serving; site and cameras are known to the control plane."""

    def __init__(self, spec: FleetSpec, started: contextlib.ExitStack) -> None:
        self.spec = spec
        self.data = spec.folder / "data"
        self.runners: dict[str, Runner] = {}
        self._started = started
        self._numbers = itertools.count(1)
        self.control, nvr = self._start("control"), self._start("nvr", *_nvr_args(spec.cameras))
        (self._control,) = self.control.said(r"listens on +(\S+)\n")
        self._token = self._minted("token", "--admin", "drill", "--ttl", "24h")
        self._furnish(Recorder(nvr))
        for number in range(spec.runners):
            self._enrol(f"runner-{chr(ord('a') + number)}")

    def start_runner(self, runner_id: str) -> None:
        """A runner from its parent down; also when it was there before."""
        ours = {
            "IDENTITY": str(self._identity(runner_id)),
            "CONTROL_URL": self._control,
            "PROM_MANAGER_PORT": "0",
            "PROM_WORKER_PORT": "0",
            "CAPACITY_STREAMS": str(2 * self.spec.cameras),
            "RUNNER_MAX_FPS": f"{MAX_FPS:g}",
        }
        role = self._start("runner", called=f"{runner_id}.{next(self._numbers)}", **ours)
        runner = self.runners.setdefault(runner_id, Runner(runner_id, role))
        runner.role = role
        runner.starts.append(role)

    def kill(self, runner_id: str) -> None:
        """SIGKILL to its Manager."""
        os.kill(_children(self.runners[runner_id].role.process.pid)[0], signal.SIGKILL)

    def freeze(self, runner_id: str) -> None:
        """SIGSTOP to everything of it, from its parent down; none of them is still to fork when all stand."""
        # A host that dies has no lock on a bus that others use: none of these may stand still on the file's.
        with held(self.data / FILE) if self.spec.amqp is None else contextlib.nullcontext():
            stopped: set[int] = set()
            while more := set(_tree(self.runners[runner_id].role.process.pid)) - stopped:
                _signal(more, signal.SIGSTOP)
                stopped |= more

    def thaw(self, runner_id: str) -> None:
        """Lets it go on."""
        _signal(_tree(self.runners[runner_id].role.process.pid), signal.SIGCONT)

    def drain(self, runner_id: str, mode: DrainMode) -> None:
        """As an operator says it."""
        self._minted("runners", "drain", runner_id, mode, "--json", TOKEN=self._token, CONTROL_URL=self._control)

    def leases(self) -> LeasePage:
        """Who has which camera."""
        page: LeasePage = self._read(f"/v1/leases?limit={LARGEST_PAGE}", LeasePage)
        return page

    def lease(self, camera: str) -> LeaseDetails:
        """Who has one, and who had it."""
        details: LeaseDetails = self._read(f"/v1/leases/{camera}", LeaseDetails)
        return details

    def listed(self) -> RunnerList:
        """How the control plane sees the runners."""
        found: RunnerList = self._read("/v1/runners", RunnerList)
        return found

    def _read(self, path: str, kind: type[Any]) -> Any:
        """Asks again for a while: a database that is busy just now is no failure of the drill."""
        last = time.monotonic() + ENDED_WITHIN
        while True:
            try:
                told = call("GET", f"{self._control}{path}", token=self._token)
                return codec.decode(msgspec.json.encode(told), kind)
            except ProcessFailed:
                if time.monotonic() > last or self.control.process.poll() is not None:
                    raise
                time.sleep(0.1)

    def _start(self, name: str, *args: str, called: str | None = None, **ours: str) -> Role:
        role = Role(name, *args, folder=self.spec.folder, environment=self._environment(**ours), called=called)
        self._started.callback(_ended, role)
        return role

    def _environment(self, **more: str) -> dict[str, str]:
        spec = self.spec
        ours = {
            "DATA": str(self.data),
            "PORT": "0",
            "LEASE_TTL_S": f"{spec.ttl:g}",
            "LEASE_RENEW_INTERVAL_S": f"{spec.renew_every:g}",
            **({"DATABASE_URL": spec.database} if spec.database else {}),
            **({"AMQP_URL": spec.amqp} if spec.amqp else {}),
        }
        return handed_on(ours | more)

    def _minted(self, *args: str, **ours: str) -> str:
        return minted(*args, folder=self.spec.folder, environment=self._environment(**ours))

    def _identity(self, runner_id: str) -> Path:
        return self.spec.folder / f"{runner_id}.json"

    def _enrol(self, runner_id: str) -> None:
        invited = self._tell("/v1/invitations", {"subject": runner_id, "role": "runner", "ttl_s": 3600})
        self._minted("enrol", self._control, "--code", invited["code"], IDENTITY=str(self._identity(runner_id)))

    def _furnish(self, recorder: Recorder) -> None:
        self._tell("/v1/tenants", {"tenant_id": TENANT})
        site = {"site_id": SITE, "tenant_id": TENANT, "sources": {"allow": [_HERE]}}
        self._tell("/v1/sites", site)
        for camera, url in zip(recorder.cameras, recorder.urls, strict=True):
            self._tell("/v1/cameras", {"camera_uuid": camera, "site_id": SITE, "rtsp_url": url})

    def _tell(self, path: str, message: dict[str, Any]) -> Any:
        return call("POST", f"{self._control}{path}", body=msgspec.json.encode(message), token=self._token)


@contextlib.contextmanager
def fleet(spec: FleetSpec) -> Iterator[Fleet]:
    """The processes; whatever happens they are ended, the last one first."""
    with contextlib.ExitStack() as started:
        yield Fleet(spec, started)


def _ended(role: Role) -> None:
    """Also of one that stands still."""
    if role.process.poll() is None:
        _signal(_tree(role.process.pid), signal.SIGCONT)
    role.end()


def _signal(pids: "set[int] | list[int]", number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _tree(pid: int) -> list[int]:
    """A process of ours and all below it, from the top."""
    return [pid, *(each for child in _children(pid) for each in _tree(child))]


def _children(pid: int) -> list[int]:
    try:
        return [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:  # it ended meanwhile
        return []


def _nvr_args(cameras: int) -> tuple[str, ...]:
    return ("--cameras", str(cameras), *_SIZE, "--port", "0", "--control-port", "0")
