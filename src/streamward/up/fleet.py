"""A fleet on this host, from its first process to its last.

    control plane ┐
    recorder      ├─→ tenant, site, cameras, keys ─→ runners ─→ watched until told to end ─→ runners, then the others
    batcher       ┘

Each process reports by a readiness message that it serves (`protocol/readiness.py`); no output is searched. One that
dies is shown with the last lines of its log and started again, with backoff; one that dies before it ever served ends
the fleet. However we die, the kernel ends the processes with us.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from streamward.control.keys import load_keyring
from streamward.control.tokens import TokenMint
from streamward.model.errors import StreamwardError
from streamward.model.identity import Role
from streamward.model.secret import Secret
from streamward.protocol.fields import ClearText
from streamward.protocol.readiness import BatcherReady, ControlReady, NvrReady, RunnerReady
from streamward.runtime.backoff import Backoff, BackoffSpec
from streamward.runtime.clock import SystemClock
from streamward.settings import Settings, added_to, with_loopback
from streamward.up import furnish
from streamward.up.api import Api
from streamward.up.batches import FirstBatch, closed_at
from streamward.up.part import Part, PartSpec
from streamward.up.ports import PortRequest, allocate
from streamward.up.progress import Progress, looking, since_start
from streamward.up.ready_pipe import R

CONTROL = "control"
CAMERAS_PORT, FAULTS_PORT = 8554, 8550
SMALL = ("--width", "640", "--height", "360", "--fps", "15")  # so that a dozen leave a small host some room

_LOOK_EVERY = 0.2  # seconds
_GRACE_MARGIN = 10.0  # seconds beyond a runner's own grace
_ENDS_WITHIN = 15.0  # seconds, of the others
_AGAIN = BackoffSpec(first=4.0, longest=30.0, steady=60.0)  # a runner's Manager outlives its parent by up to 2 s

Say = Callable[[str], None]


class FolderTaken(StreamwardError):
    """Another fleet runs in the same folder."""

    def __init__(self, folder: Path, holder: str) -> None:
        super().__init__(folder, holder)
        self.folder = folder
        self.holder = holder

    def __str__(self) -> str:
        return (
            f"another `streamward up` (process {self.holder or 'unknown'}) runs in {self.folder}: "
            "end it, or name another folder with --data"
        )


class TlsNotServed(StreamwardError):
    """A fleet for trying things out speaks plain HTTP on this host."""

    def __str__(self) -> str:
        return "`streamward up` speaks plain HTTP on this host: unset STREAMWARD_TLS_CERTIFICATE and STREAMWARD_TLS_KEY"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenPorts:
    """Ports that the user chose; None: the usual one, or the next that is free."""

    control: int | None = None
    cameras: int | None = None
    faults: int | None = None
    batcher: int | None = None
    runner_metrics: int | None = None  # of the first runner; the others get the following ones
    worker_metrics: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSpec:
    """How large a fleet is, and where it lies."""

    settings: Settings
    cameras: int = 12
    runners: int = 2
    ports: ChosenPorts = field(default_factory=ChosenPorts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What people are told when everything is there."""

    url: str
    cameras: Mapping[str, str]  # the URL of each
    faults: str  # where the recorder is told to misbehave
    runners: Mapping[str, int]  # the process of each
    batches: str  # where the batcher tells how many it closed
    code: Secret | None  # for the first admin


@dataclass(slots=True)
class _Watched:
    part: Part[Any]
    backoff: Backoff
    again_at: float | None = None  # None: it lives
    ready: object = None  # the readiness message that was reported last


@dataclass(slots=True)
class Fleet:
    """The processes of one folder."""

    spec: FleetSpec
    say: Say
    _watched: list[_Watched] = field(default_factory=list)
    _told: list[Progress | FirstBatch] = field(default_factory=list)
    _url: str = ""

    def start(self) -> Served:
        """Starts everything; returns when runners may take cameras."""
        ports = allocate(_requests(self.spec))
        self._url = url = Settings(host=self.spec.settings.host, port=ports[CONTROL]).control_url  # from this host
        control = self._started(CONTROL, ("control",), ControlReady, PORT=str(ports[CONTROL]))
        nvr = self._started("recorder", _nvr(self.spec.cameras, ports), NvrReady)
        signing_in = control.wait_ready()
        self._watched[0].ready = signing_in  # the summary prints its code
        batcher = self._started(  # the control plane made its tables
            "batcher", ("batcher",), BatcherReady, BATCH_PORT=str(ports["batcher"])
        )
        api = Api(url, bearer=self._bearer)
        furnish.make_place(api)
        runners = {name: self._runner(api, name, ports) for name in runner_names(self.spec.runners)}
        recording = nvr.wait_ready()
        cameras = {each.rpartition("/")[2]: each for each in recording.camera_urls}
        furnish.furnish(api, cameras)
        metrics = f"{batcher.wait_ready().url}/metrics"
        self._told = [
            Progress(looking(api), cameras=len(cameras), since_start=since_start),
            FirstBatch(closed_at(metrics), since_start=since_start),
        ]
        return Served(
            url=url,
            cameras=cameras,
            faults=recording.control_url,
            runners={name: part.pid or 0 for name, part in runners.items()},
            batches=metrics,
            code=None if signing_in.code is None else signing_in.code.secret,
        )

    def watch(self) -> None:
        """Keeps everything up, until somebody interrupts."""
        while True:
            for each in self._watched:
                self._look_at(each)
            for line in (line for each in self._told for line in each.news()):
                self.say(line)
            time.sleep(_LOOK_EVERY)

    def end(self) -> bool:
        """Runners first, then the others in turn; returns whether all ended in good order."""
        parts = [each.part for each in self._watched]
        runners = [part for part in parts if part.name.startswith("runner-")]
        grace = self.spec.settings.runner.grace_s + _GRACE_MARGIN
        for part in runners:
            part.tell_to_end()
        is_well = [part.end(within=grace) for part in runners]
        for part in reversed([part for part in parts if part not in runners]):
            part.tell_to_end()
            is_well.append(part.end(within=_ENDS_WITHIN))
        return all(is_well)

    def kill(self) -> None:
        """Ends everything at once."""
        for each in reversed(self._watched):
            each.part.kill()
            each.part.end(within=_ENDS_WITHIN)

    def _look_at(self, each: _Watched) -> None:
        now = time.monotonic()
        if each.again_at is None and each.part.pid is None:
            wait = each.backoff.failed(after=each.part.lived)
            each.again_at = now + wait
            self.say(f"{each.part.ended()}\n{each.part.name} is started again in {wait:.1f} s")
        elif each.again_at is not None and now >= each.again_at:
            each.again_at = None
            each.part.start()
            self.say(f"{each.part.name} was started again (process {each.part.pid})")
        elif (ready := each.part.poll_ready()) is not each.ready:
            each.ready = ready
            self._report(ready)

    def _report(self, ready: object) -> None:
        """Prints what the readiness message of one process has for the user."""
        match ready:
            case ControlReady(code=ClearText(secret=code)):  # the code of the start before is void
                self.say(f"to sign in, use its new code: streamward login {self._url} --code {code.reveal()}")
            case RunnerReady():
                self.say(f"{ready.runner_id} is ready: {ready.url}/metrics, of its Workers {ready.workers_url}/metrics")

    def _runner(self, api: Api, name: str, ports: Mapping[str, int]) -> Part[RunnerReady]:
        identity = self.spec.settings.data / "keys" / f"{name}.json"
        furnish.enrol(api, name, identity, clock=SystemClock())
        return self._started(
            name,
            ("runner",),
            RunnerReady,
            PROM_MANAGER_PORT=str(ports[name]),
            PROM_WORKER_PORT=str(ports[f"{name} workers"]),
            IDENTITY=str(identity.absolute()),
            CONTROL_URL=api.url,
            TOKEN="",
            STATUS_SUMMARY_INTERVAL_S="1",
        )

    def _started(self, name: str, command: tuple[str, ...], ready: type[R], **settings: str) -> Part[R]:
        ours = self.spec.settings
        loopback = {  # where the simulated cameras are
            "SOURCES_ALLOW": with_loopback(ours.sources.allow),
            "RUNNER_SOURCE_ALLOW": with_loopback(ours.runner.source_allow),
        }
        environment = added_to({"DATA": str(ours.data), **loopback, **settings})
        log = ours.data / "logs" / f"{name}.log"
        part = Part(PartSpec(name=name, command=command, environment=environment, log=log, ready=ready))
        self._watched.append(_Watched(part, Backoff(_AGAIN, Random())))  # noqa: S311 - jitter
        part.start()
        return part

    def _bearer(self) -> str:
        mint = TokenMint(load_keyring(self.spec.settings.key_file), clock=SystemClock())
        return mint.person("streamward-up", role=Role.ADMIN)


@contextlib.contextmanager
def folder(settings: Settings) -> Iterator[None]:
    """The data folder with a place for logs, held for this process alone."""
    if settings.tls.certificate is not None:
        raise TlsNotServed
    (settings.data / "logs").mkdir(mode=0o700, parents=True, exist_ok=True)
    settings.data.chmod(0o700)  # keys lie there
    with (settings.data / "up.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise FolderTaken(settings.data, lock.read(20).strip()) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def runner_names(count: int) -> list[str]:
    """`runner-a`, `runner-b`, …"""
    return [f"runner-{chr(ord('a') + place)}" for place in range(count)]


def _requests(spec: FleetSpec) -> dict[str, PortRequest]:
    """Every port that a fleet opens; Workers take any that is free."""
    settings, chosen = spec.settings, spec.ports
    requests = {
        CONTROL: PortRequest(
            option="--port", chosen=chosen.control, usual=settings.port or Settings().port, host=settings.host
        ),
        "cameras": PortRequest(option="--cameras-port", chosen=chosen.cameras, usual=CAMERAS_PORT),
        "faults": PortRequest(option="--faults-port", chosen=chosen.faults, usual=FAULTS_PORT),
        "batcher": PortRequest(option="--batcher-port", chosen=chosen.batcher, usual=settings.batch.port),
    }
    for place, name in enumerate(runner_names(spec.runners)):
        own, workers = chosen.runner_metrics, chosen.worker_metrics
        requests[name] = PortRequest(
            option="--runner-metrics-port",
            chosen=None if own is None else own + place,
            usual=settings.prom_manager_port,
        )
        requests[f"{name} workers"] = PortRequest(
            option="--worker-metrics-port",
            chosen=None if workers is None else workers + place,
            usual=settings.prom_worker_port,
        )
    return requests


def _nvr(cameras: int, ports: Mapping[str, int]) -> tuple[str, ...]:
    listening = ("--port", str(ports["cameras"]), "--control-port", str(ports["faults"]))
    return ("nvr", "--cameras", str(cameras), *SMALL, *listening)
