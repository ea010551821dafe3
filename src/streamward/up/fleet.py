"""A fleet on this host, from its first process to its last.

    control plane ┐
    recorder      ├─→ tenant, site, cameras, keys ─→ runners ─→ watched until told to end ─→ runners, then the others
    batcher       ┘

A process that dies is shown with the last lines of its log and started again, with backoff; one that dies before it
ever served ends the fleet. However we die, the kernel ends the processes with us.
"""

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from streamward.control.keys import load_keyring
from streamward.control.tokens import TokenMint
from streamward.model.errors import StreamwardError
from streamward.model.identity import Role
from streamward.runtime.backoff import Backoff, BackoffSpec
from streamward.runtime.clock import SystemClock
from streamward.settings import Settings, added_to
from streamward.up import furnish
from streamward.up.api import Api
from streamward.up.batches import FirstBatch, closed_at
from streamward.up.part import Part, PartEnded, PartSpec
from streamward.up.ports import free_port
from streamward.up.progress import Progress, looking, since_start

CONTROL = "control"
CAMERAS_HOST = "127.0.0.1"
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
class FleetSpec:
    """How large a fleet is, and where it lies."""

    settings: Settings
    cameras: int = 12
    runners: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What people are told when everything is there."""

    url: str
    cameras: Mapping[str, str]  # the URL of each
    faults: str  # where the recorder is told to misbehave
    runners: Mapping[str, int]  # the process of each
    batches: str  # where the batcher tells how many it closed
    code: str | None  # for the first admin


@dataclass(slots=True)
class _Watched:
    part: Part
    backoff: Backoff
    again_at: float | None = None  # None: it lives


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
        settings = self.spec.settings
        control_port = free_port(settings.host, settings.port or Settings().port)
        self._url = url = _url(settings, control_port)
        control = self._started(CONTROL, ("control",), PORT=str(control_port))
        recorder = self._started("recorder", _recorder(self.spec.cameras))
        code = _code(control.said())
        batcher = self._started("batcher", ("batcher",))  # the control plane made its tables
        api = Api(url, bearer=self._bearer)
        furnish.make_place(api)
        runners = {name: self._runner(api, name) for name in runner_names(self.spec.runners)}
        said = recorder.said()
        cameras = {each.rpartition("/")[2]: each for each in re.findall(r"rtsp://\S+", said)}
        furnish.furnish(api, cameras)
        metrics = re.findall(r"metrics +(\S+)", batcher.said())[0]
        self._told = [
            Progress(looking(api), cameras=len(cameras), since_start=since_start),
            FirstBatch(closed_at(metrics), since_start=since_start),
        ]
        return Served(
            url=url,
            cameras=cameras,
            faults=re.findall(r"control API +(\S+)", said)[0],
            runners={name: part.pid or 0 for name, part in runners.items()},
            batches=metrics,
            code=code,
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
            if each.part.name == CONTROL:
                self._tell_code(each.part)

    def _tell_code(self, control: Part) -> None:
        """The code of before counts no more; one that dies again is told of by the next look."""
        with contextlib.suppress(PartEnded):
            if (code := _code(control.said())) is not None:
                self.say(f"to sign in, use its new code: streamward login {self._url} --code {code}")

    def _runner(self, api: Api, name: str) -> Part:
        identity = self.spec.settings.data / "keys" / f"{name}.json"
        furnish.enrol(api, name, identity, clock=SystemClock())
        return self._started(
            name,
            ("runner",),
            IDENTITY=str(identity.absolute()),
            CONTROL_URL=api.url,
            TOKEN="",
            STATUS_SUMMARY_INTERVAL_S="1",
        )

    def _started(self, name: str, command: tuple[str, ...], **settings: str) -> Part:
        ours = self.spec.settings
        environment = added_to({"DATA": str(ours.data), **settings})
        log = ours.data / "logs" / f"{name}.log"
        part = Part(PartSpec(name=name, command=command, environment=environment, log=log))
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


def _code(said: str) -> str | None:
    """The one-time code for the first admin, while there is none."""
    found = re.search(r"--code (\S+)", said)
    return None if found is None else found[1]


def _recorder(cameras: int) -> tuple[str, ...]:
    port, faults = free_port(CAMERAS_HOST, CAMERAS_PORT), free_port(CAMERAS_HOST, FAULTS_PORT)
    ports = ("--port", str(port), "--control-port", str(faults))
    return ("nvr", "--cameras", str(cameras), *SMALL, *ports)


def _url(settings: Settings, port: int) -> str:
    """Where the control plane is found from this host."""
    here = Settings(host=settings.host, port=port)
    return here.control_url
