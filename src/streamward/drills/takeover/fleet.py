"""The processes of a takeover drill: a control plane, a recorder, and runners that die and come back."""

import contextlib
import itertools
import signal
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from streamward.drills.network.link import FAIR, Link, Weather
from streamward.drills.network.plant import Network, network
from streamward.drills.network.ways import Way
from streamward.drills.roles import Recorder, Role, minted
from streamward.drills.takeover.desk import Desk
from streamward.drills.takeover.runner import Runner, ended, send, tree
from streamward.drivers.bus.file import held
from streamward.drivers.buses import FILE
from streamward.model.runner import DrainMode
from streamward.protocol.readiness import ControlReady, NvrReady, RunnerReady
from streamward.settings import handed_on
from streamward.up.ready_pipe import R

SITE, TENANT = "drill-lab", "drill"
MAX_FPS = 5.0  # frames of a camera that are looked at a second
_HERE = "127.0.0.1"
_SIZE = ("--width", "320", "--height", "192", "--scenes", "2")  # pictures are coded with a keyframe each second


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSpec:
    """What is started, and where."""

    folder: Path = field(default_factory=Path)  # chosen at the start
    cameras: int = 12
    key_every: int | None = None  # seconds, and who dials waits for the next one; None: the recorder sends the latest
    fps: int | None = None  # pictures a second; None: the recorder's usual
    spare: int = 0  # more that the recorder has and nobody knows
    runners: int = 2
    ttl: float = 8.0  # seconds
    renew_every: float = 2.0
    database: str | None = None  # None: SQLite
    amqp: str | None = None  # None: the embedded bus
    is_apart: bool = False  # each runner in a network namespace of its own
    is_wired: bool = False  # each with ways of its own to control plane and broker
    runner: Mapping[str, str] = field(default_factory=dict)  # more settings of each

    @property
    def database_name(self) -> str:
        """For people."""
        return "PostgreSQL" if self.database else "SQLite"

    @property
    def bus_name(self) -> str:
        """For people."""
        return "RabbitMQ" if self.amqp else "the embedded bus"

    @property
    def runner_ids(self) -> list[str]:
        return [f"runner-{chr(ord('a') + number)}" for number in range(self.runners)]


class Fleet:
    """All of them, serving; site and cameras are known to the control plane."""

    def __init__(self, spec: FleetSpec, started: contextlib.ExitStack) -> None:
        self.spec = spec
        self.data = spec.folder / "data"
        self.runners: dict[str, Runner] = {}
        self._started = started
        self._numbers = itertools.count(1)
        self._network = started.enter_context(network(spec.runner_ids)) if spec.is_apart else None
        self._host = _HERE if self._network is None else self._network.host
        self.control = self._control()
        started.callback(lambda: ended(self.control))  # the last of them, when no runner needs it any more
        nvr = self._start("nvr", *_nvr_args(spec, self._host), ready=NvrReady)
        url = self.control.wait_ready().url
        self.desk = Desk(self.control, url=url, token=self._minted("token", "--admin", "drill", "--ttl", "24h"))
        self.recorder = Recorder(nvr)
        self._furnish()
        self.control_ways: dict[str, Way] = {}  # of runners, if they are wired
        self.bus_ways: dict[str, Way] = {}
        for runner_id in spec.runner_ids:
            self._enrol(runner_id)
            self._tie(runner_id)

    def start_runner(self, runner_id: str) -> None:
        """A runner from its parent down, by our first thread; also when it was there before."""
        ours = {
            "IDENTITY": str(self._identity(runner_id)),
            "CONTROL_URL": self.control_ways[runner_id].url if self.spec.is_wired else self.desk.url,
            "PROM_MANAGER_PORT": "0",
            "PROM_WORKER_PORT": "0",
            "CAPACITY_STREAMS": str(2 * self.spec.cameras),
            "RUNNER_MAX_FPS": f"{MAX_FPS:g}",
            **({"AMQP_URL": self.bus_ways[runner_id].url} if runner_id in self.bus_ways else {}),
            **self.spec.runner,
        }
        role = self._start("runner", of=runner_id, ready=RunnerReady, **ours)
        runner = self.runners.setdefault(runner_id, Runner(runner_id, role))
        if runner.role is not role:
            runner.role.close()  # it is dead
        runner.role = role
        runner.starts.append(role)

    def add_camera(self, camera: str) -> None:
        """Makes one of the recorder's known."""
        self.desk.add("/v1/cameras", self._described(camera))

    def add_cameras(self, cameras: Iterable[str]) -> None:
        """Makes several known at once."""
        self.desk.bring([self._described(camera) for camera in cameras])

    def _described(self, camera: str) -> dict[str, str]:
        return {"camera_uuid": camera, "site_id": SITE, "rtsp_url": self.recorder.url(camera)}

    def freeze(self, runner_id: str) -> None:
        """Everything of a runner stands still, but not on a lock that others need."""
        # A host that dies has no lock on a bus that others use: none of these may stand still on the file's.
        with held(self.data / FILE) if self.spec.amqp is None else contextlib.nullcontext():
            self.runners[runner_id].freeze()

    @contextlib.contextmanager
    def bus_away(self, runner_id: str) -> Iterator[None]:
        """A runner gets nothing onto the bus meanwhile; on a bus that is a file nobody does."""
        if self.spec.amqp is None:
            with held(self.data / FILE):
                yield
            return
        self.bus_ways[runner_id].wire.cut()
        try:
            yield
        finally:
            self.bus_ways[runner_id].wire.mend()

    @contextlib.contextmanager
    def control_away(self) -> Iterator[None]:
        """The control plane is killed (-9), and a SQLite with it; afterwards another starts in its place.

        By our first thread. When that serves is for whoever asked to wait for.
        """
        send(signal.SIGKILL, tree(self.control.process.pid))
        self.control.process.wait()
        yield
        self.control = self._control(called="control.again", PORT=str(urlsplit(self.desk.url).port))
        self.desk.control = self.control

    def set_weather(self, runner_id: str, weather: Weather) -> None:
        """For the link of one runner, from now on."""
        self._apart().link(runner_id).weather = weather

    @contextlib.contextmanager
    def weather(self, weather: Weather) -> Iterator[list[Link]]:
        """For the links of all runners, while this lasts."""
        links = [self._apart().link(runner_id) for runner_id in self.spec.runner_ids]
        for each in links:
            each.weather, each.lost = weather, 0
        try:
            yield links
        finally:
            for each in links:
                each.weather = FAIR

    def drain(self, runner_id: str, mode: DrainMode) -> None:
        """As an operator says it."""
        self._minted("runners", "drain", runner_id, mode, "--json", TOKEN=self.desk.token, CONTROL_URL=self.desk.url)

    def _apart(self) -> Network:
        assert self._network is not None, "runners have no namespaces"
        return self._network

    def _start(self, name: str, *args: str, ready: type[R], of: str | None = None, **ours: str) -> Role[R]:
        """A process, of one runner or of all."""
        role = Role(
            name,
            *args,
            ready=ready,
            folder=self.spec.folder,
            environment=self._environment(**ours),
            called=f"{of}.{next(self._numbers)}" if of else name,
            within=self._network.entering(of) if self._network and of else (),
        )
        self._started.callback(ended, role)
        if self._network and of:
            self._started.callback(self.set_weather, of, FAIR)  # one that is cut off would take long to end
        return role

    def _control(self, *, called: str | None = None, **ours: str) -> Role[ControlReady]:
        environment = self._environment(**ours)
        return Role("control", ready=ControlReady, folder=self.spec.folder, environment=environment, called=called)

    def _environment(self, **more: str) -> dict[str, str]:
        spec = self.spec
        ours = {
            "DATA": str(self.data),
            "HOST": self._host,
            "PORT": "0",
            "CORE_DUMPS": "true",  # so that a drill of any user can read /proc of what it starts
            "SOURCES_ALLOW": f"{self._host}/32",  # where the simulated cameras are
            "RUNNER_SOURCE_ALLOW": f"{self._host}/32",
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
        invited = self.desk.add("/v1/invitations", {"subject": runner_id, "role": "runner", "ttl_s": 3600})
        self._minted("enrol", self.desk.url, "--code", invited["code"], IDENTITY=str(self._identity(runner_id)))

    def _tie(self, runner_id: str) -> None:
        spec = self.spec
        if spec.is_wired:
            self.control_ways[runner_id] = Way(self.desk.url, self._started)
        if spec.amqp and (spec.is_wired or spec.is_apart):
            self.bus_ways[runner_id] = Way(spec.amqp, self._started, at=self._host)

    def _furnish(self) -> None:
        self.desk.add("/v1/tenants", {"tenant_id": TENANT})
        site = {"site_id": SITE, "tenant_id": TENANT, "sources": {"allow": [f"{self._host}/32"]}}
        self.desk.add("/v1/sites", site)
        for camera in self.recorder.cameras[: self.spec.cameras]:
            self.add_camera(camera)


@contextlib.contextmanager
def fleet(spec: FleetSpec) -> Iterator[Fleet]:
    """The processes; whatever happens they are ended, the last one first."""
    with contextlib.ExitStack() as started:
        yield Fleet(spec, started)


def _nvr_args(spec: FleetSpec, host: str) -> tuple[str, ...]:
    fps = () if spec.fps is None else ("--fps", str(spec.fps))
    keys = () if spec.key_every is None else ("--key-every", str(spec.key_every), "--no-prompt")
    return (
        "--cameras",
        f"{spec.cameras + spec.spare}",
        *_SIZE,
        *keys,
        *fps,
        "--host",
        host,
        "--port",
        "0",
        "--control-port",
        "0",
    )
