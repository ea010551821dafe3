"""The processes of a soak, started by the real command line on free ports, and always ended."""

import contextlib
import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamward.drills.roles import Recorder, Role, call, minted
from streamward.drills.soak.marked import DETECTOR, HEIGHT, SLOW_DETECTOR, WIDTH
from streamward.protocol.readiness import ControlReady, NvrReady, WorkerReady
from streamward.runtime import private_file
from streamward.settings import handed_on
from streamward.up.ready_pipe import R

EX_DETECT, EX_STATUS = "soak.detections.topic", "soak.status.topic"  # its own: nobody else's queues get anything
GRACE = 10.0  # seconds in which the Worker has to drain
_TENANT, _SITE = "soak", "soak-lab"
_LONGEST = "24h"  # longer than any soak
_HERE = "127.0.0.0/8"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantSpec:
    """What is started, and where."""

    folder: Path
    cameras: int
    max_fps: float
    amqp: str | None = None
    is_slow: bool = False  # its detector


class Plant:
    """All of them, serving; `site` and cameras are known to the control plane."""

    def __init__(self, spec: PlantSpec, started: contextlib.ExitStack) -> None:
        self.data = spec.folder / "data"
        self.runner_id = f"soak-{secrets.token_hex(4)}"
        self._spec = spec
        self._started = started
        control = self._start("control", ready=ControlReady)
        nvr = self._start("nvr", *_nvr_args(spec.cameras), ready=NvrReady)
        self._control = control.wait_ready().url
        self.recorder = Recorder(nvr)
        self._furnish()

    def start_worker(self) -> Role[WorkerReady]:
        """The Worker, from a config of mode 0600."""
        path = self._spec.folder / "shard.json"
        private_file.replace(path, json.dumps(self._config()).encode())
        return self._start("worker", "--core-dumps", "--config", str(path), ready=WorkerReady)

    def _start(self, name: str, *args: str, ready: type[R]) -> Role[R]:
        role = Role(name, *args, ready=ready, folder=self._spec.folder, environment=self._environment())
        self._started.callback(role.end)
        return role

    def _environment(self) -> dict[str, str]:
        amqp = {"AMQP_URL": self._spec.amqp} if self._spec.amqp else {}
        ours = {"DATA": str(self.data), "PORT": "0", "CORE_DUMPS": "true", "SOURCES_ALLOW": _HERE}
        return handed_on(ours | amqp)

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
            "source_limits": {"allow": [_HERE]},
            "amqp": amqp,
            "cp": {"base_url": self._control, "token": self._token("--runner", self.runner_id, "--ttl", _LONGEST)},
            "sources": [
                {"camera_uuid": camera, "url": url, **whose}
                for camera, url in zip(recorder.cameras, recorder.urls, strict=True)
            ],
        }

    def _token(self, *args: str) -> str:
        return minted("token", *args, folder=self._spec.folder, environment=self._environment())

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


def _nvr_args(cameras: int) -> tuple[str, ...]:
    size = ("--width", str(WIDTH), "--height", str(HEIGHT))
    return ("--cameras", str(cameras), *size, "--scenes", "2", "--port", "0", "--control-port", "0")
