"""Nothing that a Worker is told in confidence is seen anywhere, whatever goes wrong with cameras, broker and store."""

import asyncio
import contextlib
import json
import logging
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from typer.testing import CliRunner

from streamward.cli import app
from streamward.cli.worker import ConfigRefused
from streamward.model.bus import Binding, Delivery, Queue
from tests.support.labs import Plant, WorkerProcess, bus_of, plant, until
from tests.support.ports import free_port
from tests.support.rabbitmq import PASSWORD as BROKER_PASSWORD
from tests.support.rabbitmq import RabbitServer

CANARY = "Can4ry"  # in all that nobody may see, but for tokens and the broker's password
USER, PASSWORD = f"us3r{CANARY}", f"{CANARY}@: /#?%"
LOGIN = {"username": USER, "password": PASSWORD}
QUEUE = Queue(name="all", bindings=(Binding("detections.topic", "#"), Binding("status.topic", "#")))
FAULTS: dict[str, dict[str, Any]] = {
    "cam-4": {"kind": "redirect", "to": "rtsp://192.0.2.1/x"},
    "cam-5": {"kind": "corrupt", "share": 0.3},
}
CODES = {
    "cam-3": "RTSP_AUTH_FAILED",
    "cam-4": "URL_FORBIDDEN",
    "cam-5": "CORRUPT_STREAM",
    "cam-6": "TLS_FAILED",
    "cam-7": "DETECTOR_FAILED",
}
# More than a bus takes, for the store that nobody has; and a detector that says what it should not.
DETECTORS = f"""
from streamward.model.detection import Box, Detection

def horde(image):
    return [Detection("\\N{{GRINNING FACE}}" * 64, 0.5, Box(1.0, 2.0, 3.0, 4.0))] * 1000

def blabber(image):
    raise ValueError("{CANARY}")
"""


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plant]:
    """Cameras that ask for a login, and a temporary folder of its own for whoever wants one."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    secret = tmp_path / "password"
    secret.touch(mode=0o600)
    secret.write_text(PASSWORD)
    login = ("--user", USER, "--password-file", str(secret))
    with plant(tmp_path, "--cameras", "8", "--fps", "10", *login) as made:
        for camera, fault in FAULTS.items():
            made.nvr.set(camera, **fault)
        yield made


@pytest.fixture
def own_log() -> Iterator[None]:
    """A Worker that is run in this process has a log of its own."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield
    root.handlers[:] = before
    root.setLevel(level)


def sources(lab: Plant) -> list[dict[str, Any]]:
    """Cameras with every kind of login and trouble, but for the last."""
    userinfo = f"{quote(USER, safe='')}:{quote(PASSWORD, safe='')}@"
    made = {camera: lab.source(camera, **LOGIN) for camera in lab.cameras[:-1]}
    made["cam-1"] |= {"detector": "loud:horde"}
    made["cam-2"] = lab.source("cam-2")
    made["cam-2"]["url"] = made["cam-2"]["url"].replace("rtsp://", f"rtsp://{userinfo}")
    made["cam-3"] |= {"username": f"other{CANARY}"}
    made["cam-6"]["url"] = made["cam-6"]["url"].replace("rtsp://", "rtsps://")
    made["cam-7"] |= {"detector": "loud:blabber"}
    return list(made.values())


def config(lab: Plant, runner_id: str, broker: str, **changes: Any) -> dict[str, Any]:
    (lab.data.parent / "loud.py").write_text(DETECTORS)
    store = {"url": "s3://bucket/x", "endpoint": f"http://127.0.0.1:{free_port()}"}
    keys = {"access_key": f"{CANARY}-access", "secret_key": f"{CANARY}-secret"}
    told = {"amqp": {"url": broker}, "objects": store | keys, "api_secret": f"{CANARY}-api", "sources": sources(lab)}
    return lab.config(runner_id=runner_id, **told) | changes


def ask_all(worker: WorkerProcess) -> str:
    """Everything that its HTTP says."""
    pages = [worker.api.get(path) for path in ("/healthz", "/ready", "/metrics", "/nowhere", "/drain")]
    pages += [worker.api.post(path, headers={"Authorization": "Bearer x"}) for path in ("/drain", "/terminate")]
    return "\n".join(f"{page.status_code} {page.headers} {page.text}" for page in pages)


def processes(worker: WorkerProcess) -> str:
    """Command lines and environments of a Worker and of all that it started."""
    family = [worker.process.pid]
    for pid in family:
        for listing in Path(f"/proc/{pid}/task").glob("*/children"):
            family += map(int, listing.read_text().split())
    shown = [Path(f"/proc/{pid}") / name for pid in family for name in ("cmdline", "environ", "comm")]
    return "\n".join(path.read_text(errors="replace") for path in shown)


def files(folder: Path) -> str:
    """All files but those that are meant to hold secrets, which only their owner can read."""
    found: list[str] = []
    for path in folder.rglob("*"):
        is_meant = path.name == "password" or path.match("shard-*.json") or path.match("data/workers/*.json")
        if is_meant and path.is_file():
            assert path.stat().st_mode & 0o077 == 0
        elif path.is_file():
            found.append(f"{path}\n{path.read_bytes().decode(errors='replace')}")
    return "\n".join(found)


async def published(lab: Plant, url: str) -> list[Delivery]:
    """Messages of every kind; those of states are gone after ten seconds, and come again."""
    told: list[Delivery] = []
    async with bus_of(lab, url) as bus, asyncio.timeout(60):
        consumer = bus.consume(QUEUE.name, prefetch=1000)
        while not {"detections", "stream.status", "stream.error"} <= {each.message.kind for each in told}:
            some = await consumer.take(at_most=1000, within=1)
            await consumer.ack(some)
            told += some
        await consumer.close()
    return told


async def test_what_a_worker_is_told_in_confidence_is_seen_nowhere(lab: Plant, rabbitmq: RabbitServer) -> None:
    url = rabbitmq.url()
    async with bus_of(lab, url) as bus:
        await bus.declare(QUEUE)
    good = config(lab, "r1", url)
    refused = config(lab, "r2", rabbitmq.url(password=f"{CANARY}-mq"), sources=[lab.source("cam-8", **LOGIN)])
    with lab.worker(good) as worker, lab.worker(refused) as lonely:
        for camera, code in CODES.items():
            until(lambda each=camera, told=code: worker.metric("stream_errors_total", camera_uuid=each, code=told))
        until(lambda: worker.metric("messages_published_total") > 10)
        until(lambda: "publishing.failed" in lonely.log and "publishing.failed" in worker.log)
        seen = [ask_all(worker), ask_all(lonely), processes(worker), processes(lonely)]
        told = await published(lab, url)
        for each in (worker, lonely):
            assert each.ended(signal.SIGKILL) == -signal.SIGKILL
    text = "\n".join([*seen, *map(repr, told), files(lab.data.parent)])
    assert list((lab.data / "spool").rglob("0*"))
    tokens = [each["cp"]["token"].rpartition(".")[2] for each in (good, refused)]
    for canary in (CANARY, BROKER_PASSWORD, quote(BROKER_PASSWORD, safe=""), *tokens):
        assert canary not in text.replace(DETECTORS, ""), text[max(0, text.index(canary) - 500) :][:1000]


REFUSED: list[dict[str, Any]] = [
    {"amqp": {"url": f"amqp://u:{CANARY}/x@mq/"}},
    {"amqp": {"url": f"amqp://u:p@mq:{CANARY}/"}},
    {"amqp": {"host": f"u:{CANARY}@mq/x"}},
    {"cp": {"base_url": f"https://u:{CANARY}@control/", "token": "x"}},
    {"cp": {"base_url": "https://control/", "token": f"{CANARY}.{CANARY}.x"}},
    {"cp": {"base_url": "https://control/", "token": f"{CANARY}@é"}},
    {"api_secret": [CANARY]},
    {f"rtsp://u:{CANARY}@x/": 1},
    {"objects": {"url": f"s3://u:{CANARY}@b/", "endpoint": f"http://u:{CANARY}@h:x/"}},
    {"objects": {"url": f"http://u:{CANARY}@b/"}},
    *(
        {"sources": [{"camera_uuid": "x", "url": url, "site_id": "s", "tenant_id": "t"}]}
        for url in (f"http://u:{CANARY}@x/", f"rtsp://u:{CANARY}@@x/", f"rtsp://u:{CANARY}@x:99999/", CANARY)
    ),
    {"sources": [{"camera_uuid": f"u:{CANARY}", "url": "rtsp://x/", "site_id": "s", "tenant_id": "t"}]},
]


@pytest.mark.usefixtures("own_log")
def test_a_config_that_is_refused_is_not_repeated(tmp_path: Path) -> None:
    whole = {"runner_id": "r1", "shard_id": "s0", "sources": [], "data": str(tmp_path / "data")}
    path = tmp_path / "shard.json"
    path.touch(mode=0o600)
    texts = [json.dumps(whole | {"cp": {"base_url": "https://control/", "token": "x"}} | each) for each in REFUSED]
    for text in (*texts, f'{{"api_secret": "{CANARY}", ', f'{{"a": "{CANARY}" "b"}}', f"{CANARY}", f"{CANARY}\xff"):
        path.write_text(text, encoding="latin-1")
        ended = CliRunner().invoke(app, ["worker", "--config", str(path)])
        assert ended.exit_code == 2 or isinstance(ended.exception, ConfigRefused), (text, ended.output)
        assert CANARY not in f"{ended.output} {ended.exception!r}"
    with contextlib.suppress(FileNotFoundError):
        assert CANARY not in files(tmp_path / "data")
