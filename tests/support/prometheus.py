"""A private Prometheus and Alertmanager with the configuration that is shipped, and someone who is told of alerts.

Only addresses and durations are others: a test waits for seconds, not for minutes.
"""

import contextlib
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.support.alert_rules import FOLDER, RULES
from tests.support.labs import until
from tests.support.ports import free_port
from tests.support.processes import end

EVERY = "2s"  # scraping and judging
PATIENCE = 120.0  # seconds until an alert has come
_PROGRAMS = ("prometheus", "promtool", "prometheus-alertmanager")
_LASTING = re.compile(r"^( +for:) \w+$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What is scraped."""

    control: str  # host and port
    token: str
    runner: int
    workers: int


@dataclass(slots=True)
class Told:
    """Every alert that was sent on."""

    alerts: list[dict[str, Any]] = field(default_factory=list)

    def has(self, status: str, alertname: str, **labels: str) -> bool:
        """Whether one was told to fire, or to be resolved."""
        wanted = {"alertname": alertname, **labels}
        return any(each["status"] == status and wanted.items() <= each["labels"].items() for each in self.alerts)

    def wait(self, status: str, alertname: str, **labels: str) -> None:
        """Until it is told; fails if it never is."""
        until(lambda: self.has(status, alertname, **labels), within=PATIENCE)


def needed() -> None:
    """Skips the test if a program is missing."""
    missing = [program for program in _PROGRAMS if shutil.which(program) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


@contextlib.contextmanager
def watching(folder: Path, targets: Targets) -> Iterator[Told]:
    """Both servers at work in a folder of theirs."""
    folder.mkdir()
    manager = free_port()
    with _listening() as (told, port), contextlib.ExitStack() as started:
        started.enter_context(_alertmanager(folder, port=manager, tell=port))
        started.enter_context(_prometheus(folder, targets, alertmanager=manager))
        yield told


@contextlib.contextmanager
def _listening() -> Iterator[tuple[Told, int]]:
    told = Told()

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.alerts.extend(json.loads(body)["alerts"])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        serving.start()
        try:
            yield told, server.server_port
        finally:
            server.shutdown()
            serving.join()


def _alertmanager(folder: Path, *, port: int, tell: int) -> contextlib.AbstractContextManager[None]:
    config = _read("alertmanager.yml")
    config["route"] |= {"group_wait": "0s", "group_interval": "1s"}
    config["receivers"][0]["webhook_configs"][0]["url"] = f"http://127.0.0.1:{tell}/alerts"
    return _running(
        "prometheus-alertmanager",
        f"--config.file={_written(folder, 'alertmanager.yml', config)}",
        f"--storage.path={folder / 'alertmanager'}",
        "--cluster.listen-address=",
        port=port,
        folder=folder,
    )


def _prometheus(folder: Path, targets: Targets, *, alertmanager: int) -> contextlib.AbstractContextManager[None]:
    (folder / RULES.name).write_text(_LASTING.sub(r"\1 1s", RULES.read_text()))
    (folder / "token").write_text(targets.token)
    config = _read("prometheus.yml")
    config["global"] = {"scrape_interval": EVERY, "scrape_timeout": EVERY, "evaluation_interval": EVERY}
    config["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"] = [f"127.0.0.1:{alertmanager}"]
    control, runner, _, workers = config["scrape_configs"]
    config["scrape_configs"] = [control, runner, workers]  # there is no batcher
    control["static_configs"][0]["targets"] = [targets.control]
    runner["static_configs"][0]["targets"] = [f"127.0.0.1:{targets.runner}"]
    discovery = workers["http_sd_configs"][0]
    discovery |= {"url": f"http://127.0.0.1:{targets.workers}/targets", "refresh_interval": EVERY}
    return _running(
        "prometheus",
        f"--config.file={_written(folder, 'prometheus.yml', config)}",
        f"--storage.tsdb.path={folder / 'prometheus'}",
        port=free_port(),
        folder=folder,
    )


@contextlib.contextmanager
def _running(program: str, *args: str, port: int, folder: Path) -> Iterator[None]:
    log = folder / f"{program}.log"
    with log.open("w") as out:
        command = [program, *args, f"--web.listen-address=127.0.0.1:{port}"]
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out)
    try:
        until(lambda: _is_ready(port) or process.poll() is not None)
        assert process.poll() is None
        yield
    except BaseException as err:
        err.add_note(f"log of {program}:\n{log.read_text()[-10_000:]}")
        raise
    finally:
        end(process)


def _is_ready(port: int) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        return httpx.get(f"http://127.0.0.1:{port}/-/ready").status_code == httpx.codes.OK
    return False


def _read(name: str) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text())
    return config


def _written(folder: Path, name: str, config: dict[str, Any]) -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump(config))
    return path
