"""The processes of a soak, started by the real command line on free ports, and always ended."""

import asyncio
import contextlib
import http.client
import json
import re
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from streamward.drills.soak.marked import DETECTOR, HEIGHT, SLOW_DETECTOR, WIDTH
from streamward.model.errors import StreamwardError
from streamward.nvr.control import FaultOrder
from streamward.nvr.faults import Fault
from streamward.runtime import private_file
from streamward.settings import handed_on

COMMAND = (sys.executable, "-m", "streamward")
SERVED_WITHIN = 60.0  # seconds: a busy machine is no failure
ENDED_WITHIN = 30.0
EX_DETECT, EX_STATUS = "soak.detections.topic", "soak.status.topic"  # its own: nobody else's queues get anything
GRACE = 10.0  # seconds in which the Worker has to drain
_TENANT, _SITE = "soak", "soak-lab"
_HERE = "127.0.0.0/8"


class ProcessFailed(StreamwardError):
    """A process of the soak ended, said nothing, or refused something."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(name, why)
        self.name = name
        self.why = why

    def __str__(self) -> str:
        return f"`streamward {self.name}` did not serve the soak: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantSpec:
    """What is started, and where."""

    folder: Path
    cameras: int
    max_fps: float
    amqp: str | None = None
    is_slow: bool = False  # its detector


class Role:
    """One process; what it says and what it logs are kept in the folder."""

    def __init__(self, name: str, *args: str, folder: Path, environment: dict[str, str]) -> None:
        self.name = name
        self._out, self._log = folder / f"{name}.out", folder / f"{name}.log"
        with self._out.open("wb") as out, self._log.open("wb") as log:
            self.process = subprocess.Popen(  # noqa: S603 - our own program
                [*COMMAND, name, *args], env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=log
            )

    def said(self, pattern: str) -> list[str]:
        """Waits until it says something like that; all such words."""
        last = time.monotonic() + SERVED_WITHIN
        while not (found := re.findall(pattern, self._out.read_text())):
            if self.process.poll() is not None or time.monotonic() > last:
                raise ProcessFailed(self.name, self.trouble)
            time.sleep(0.05)
        return found

    @property
    def trouble(self) -> str:
        """How it ended, and the end of its log."""
        code = self.process.poll()
        how = "it said nothing" if code is None else f"it ended with {code}"
        return "\n".join([how, *self._log.read_text(errors="replace").splitlines()[-20:]])

    def end(self) -> tuple[int, float]:
        """Asks it to end, by force in the end; its exit code, and how many seconds it took."""
        asked = time.monotonic()
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.process.wait(ENDED_WITHIN)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        return code, time.monotonic() - asked


class Recorder:
    """The simulated recorder, spoken to over its control API."""

    def __init__(self, role: Role) -> None:
        self.urls = role.said(r"rtsp://\S+(?=[\s\S]*Ctrl-C)")
        self.cameras = [url.rpartition("/")[2] for url in self.urls]
        (self._control,) = role.said(r"control API +(\S+)")

    async def set(self, fault: Fault, camera: str | None) -> None:
        """From now on this counts."""
        await self._call("POST", "/faults", msgspec.json.encode(FaultOrder(fault, camera)))

    async def clear(self) -> None:
        """All is well again."""
        await self._call("DELETE", "/faults")

    async def sent(self, camera: str, *, since: int) -> list[dict[str, Any]]:
        """The newest pictures of a camera, and when each was taken."""
        told: list[dict[str, Any]] = await self._call("GET", f"/sent?camera={camera}&since={since}")
        return told

    async def _call(self, method: str, path: str, body: bytes | None = None) -> Any:
        return await asyncio.to_thread(call, method, f"{self._control}{path}", body=body)


class Plant:
    """All of them, serving; `site` and cameras are known to the control plane."""

    def __init__(self, spec: PlantSpec, started: contextlib.ExitStack) -> None:
        self.data = spec.folder / "data"
        self.runner_id = f"soak-{secrets.token_hex(4)}"
        self._spec = spec
        self._started = started
        control = self._start("control")
        nvr = self._start("nvr", *_nvr_args(spec.cameras))
        (self._control,) = control.said(r"listens on +(\S+)\n")
        self.recorder = Recorder(nvr)
        self._furnish()

    def start_worker(self) -> Role:
        """The Worker, from a config of mode 0600."""
        path = self._spec.folder / "shard.json"
        private_file.replace(path, json.dumps(self._config()).encode())
        return self._start("worker", "--config", str(path))

    def _start(self, name: str, *args: str) -> Role:
        role = Role(name, *args, folder=self._spec.folder, environment=self._environment())
        self._started.callback(role.end)
        return role

    def _environment(self) -> dict[str, str]:
        ours = {"DATA": str(self.data), "PORT": "0"} | ({"AMQP_URL": self._spec.amqp} if self._spec.amqp else {})
        return handed_on(ours)

    def _config(self) -> dict[str, Any]:
        recorder = self.recorder
        amqp = {"ex_detect": EX_DETECT, "ex_status": EX_STATUS} | ({"url": self._spec.amqp} if self._spec.amqp else {})
        whose = {"site_id": _SITE, "tenant_id": _TENANT, "allow": [_HERE]}
        return {
            "runner_id": self.runner_id,
            "shard_id": "s0",
            "data": str(self.data),
            "detector": SLOW_DETECTOR if self._spec.is_slow else DETECTOR,
            "max_fps": self._spec.max_fps,
            "grace_timeout_s": GRACE,
            "amqp": amqp,
            "cp": {"base_url": self._control, "token": self._token("--runner", self.runner_id)},
            "sources": [
                {"camera_uuid": camera, "url": url, **whose}
                for camera, url in zip(recorder.cameras, recorder.urls, strict=True)
            ],
        }

    def _token(self, *args: str) -> str:
        minted = subprocess.run(  # noqa: S603 - our own program
            [*COMMAND, "token", *args], env=self._environment(), cwd=self._spec.folder, capture_output=True, check=False
        )
        if minted.returncode:
            raise ProcessFailed("token", minted.stderr.decode(errors="replace"))
        return minted.stdout.decode().strip()

    def _furnish(self) -> None:
        token = self._token("--admin", "soak")
        site = {"site_id": _SITE, "tenant_id": _TENANT, "sources": {"allow": [_HERE]}}
        told: list[tuple[str, dict[str, Any]]] = [("/v1/tenants", {"tenant_id": _TENANT}), ("/v1/sites", site)]
        told += [
            ("/v1/cameras", {"camera_uuid": camera, "site_id": _SITE, "rtsp_url": url})
            for camera, url in zip(self.recorder.cameras, self.recorder.urls, strict=True)
        ]
        for path, message in told:
            call("POST", f"{self._control}{path}", body=json.dumps(message).encode(), token=token)


@contextlib.contextmanager
def plant(spec: PlantSpec) -> Iterator[Plant]:
    """The processes; whatever happens they are ended, the last one first."""
    with contextlib.ExitStack() as started:
        yield Plant(spec, started)


@contextlib.contextmanager
def folder(wanted: Path | None) -> Iterator[Path]:
    """Where everything lies: a fresh one in the folder that is wanted, or one that is gone afterwards."""
    if wanted is not None:
        fresh = wanted.absolute() / f"soak-{datetime.now(UTC):%Y%m%d-%H%M%S}"
        wanted.mkdir(parents=True, exist_ok=True)
        fresh.mkdir(mode=0o700)  # what the control plane says has the code of its first admin
        yield fresh
        return
    with tempfile.TemporaryDirectory(prefix="streamward-soak-") as made:
        yield Path(made)


def call(method: str, url: str, *, body: bytes | None = None, token: str | None = None) -> Any:
    """One request; the answer's JSON, or ProcessFailed."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=SERVED_WITHIN)
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    path = f"{place.path}?{place.query}" if place.query else place.path
    try:
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        content = answer.read()
    except OSError as error:
        raise ProcessFailed(place.path, str(error)) from error
    finally:
        connection.close()
    if answer.status >= http.HTTPStatus.BAD_REQUEST:
        raise ProcessFailed(place.path, f"{answer.status}: {content[:500].decode(errors='replace')}")
    return json.loads(content) if content else None


def _nvr_args(cameras: int) -> tuple[str, ...]:
    size = ("--width", str(WIDTH), "--height", str(HEIGHT))
    return ("--cameras", str(cameras), *size, "--scenes", "2", "--port", "0", "--control-port", "0")
