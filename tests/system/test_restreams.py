"""`streamward runner` in mode B: its cameras are read through a go2rtc of its own."""

import asyncio
import contextlib
import os
import signal
import socket
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from streamward.model.bus import Binding, Queue
from streamward.protocol.worker_link import WorkerExit
from tests.support.labs import Plant, RunnerProcess, bus_of, family, plant, until
from tests.support.media_servers import go2rtc_program
from tests.support.nvr import recorder

USER, PASSWORD = "ada", "Can4ry@: /#?%{input}"
QUEUE = Queue(name="all", bindings=(Binding("detections.topic", "#"),))
MEMORY = Path("/dev/shm")


@contextlib.contextmanager
def a_lab(folder: Path) -> Iterator[Plant]:
    """Three cameras that ask for a login."""
    secret = folder / "password"
    secret.touch(mode=0o600)
    secret.write_text(PASSWORD)
    login = ("--user", USER, "--password-file", str(secret))
    with plant(folder, "--cameras", "3", *login) as made:
        for camera in made.cameras:
            done = made.control.command("cameras", "set", camera, *login)
            assert done.returncode == 0, done.stderr
        yield made


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with a_lab(tmp_path_factory.mktemp("lab")) as made:
        yield made


@pytest.fixture
def settings() -> dict[str, Any]:
    return {"RUNNER_MODE": "go2rtc", "RUNNER_GO2RTC": go2rtc_program()}


def server_of(runner: RunnerProcess) -> int:
    """The pid of its go2rtc."""
    return int(runner.facts("restreamer.started")[-1]["pid"])


def reset(lab: Plant) -> None:
    lab.nvr.control.post("/counts/reset").raise_for_status()


def dials(lab: Plant) -> Counter[str]:
    counted = lab.nvr.control.get("/counts").json()["counts"]
    return Counter({each["camera"]: each["total"] for each in counted if each["deed"] == "dialed"})


def stalls(runner: RunnerProcess) -> Counter[str]:
    """Dials that a machine without a processor for us explains."""
    retries = runner.facts("rtsp.connect.retry")
    return Counter(each["camera_uuid"] for each in retries if each["error_code"] in {"FRAME_STALL", "TCP_TIMEOUT"})


def sessions(lab: Plant) -> Counter[str]:
    return Counter(each["camera"] for each in lab.nvr.control.get("/sessions").json())


def listening(pid: int) -> list[str]:
    """The addresses that a process listens on."""
    sockets = {str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir()}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    rows += [line.split() for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]]
    return [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]


def answers(address: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(address.rpartition(":")[2], 16))) == 0


async def detected(lab: Plant) -> set[str]:
    """Cameras of which the bus has something new to tell."""
    found: set[str] = set()
    async with bus_of(lab) as bus, asyncio.timeout(60):
        await bus.declare(QUEUE)
        consumer = bus.consume(QUEUE.name, prefetch=1000)
        await consumer.ack(await consumer.take(at_most=1000, within=0.1))
        while found != set(lab.cameras):
            some = await consumer.take(at_most=1000, within=1)
            await consumer.ack(some)
            found |= {each.message.routing_key.rpartition(".")[2] for each in some}
        await consumer.close()
    return found


def test_its_cameras_are_read_through_it_over_one_connection_each(lab: Plant, settings: dict[str, Any]) -> None:
    reset(lab)
    with lab.runner("runner-a", **settings) as runner:
        until(lambda: runner.streaming() == set(lab.cameras))
        until(lambda: {each["camera_uuid"] for each in runner.facts("producer.connected")} == set(lab.cameras))
        assert dials(lab) <= Counter(lab.cameras) + stalls(runner)
        until(lambda: sessions(lab) == Counter(lab.cameras))
        ports = listening(server_of(runner))
        assert [each[:8] for each in ports] == ["0100007F"] * 2
        assert runner.ended(signal.SIGTERM) == WorkerExit.DRAINED
    assert not sessions(lab)
    assert not Path(f"/proc/{server_of(runner)}").exists()
    assert not any(map(answers, ports))


async def test_detections_come_through_it_and_again_after_it_was_killed(lab: Plant, settings: dict[str, Any]) -> None:
    with lab.runner("runner-a", **settings) as runner:
        await asyncio.to_thread(until, lambda: runner.streaming() == set(lab.cameras))
        assert await detected(lab) == set(lab.cameras)
        first = server_of(runner)
        until(lambda: sessions(lab) == Counter(lab.cameras))
        reset(lab)
        os.kill(first, signal.SIGKILL)
        until(lambda: len(runner.facts("restreamer.started")) == 2 and sessions(lab) == Counter(lab.cameras))
        assert await detected(lab) == set(lab.cameras)
        assert dials(lab) <= Counter(lab.cameras) + stalls(runner)
        assert runner.facts("worker.exited") == []
        assert set(lab.owners().values()) == {"runner-a"}


def test_a_camera_that_changes_or_goes_is_the_only_one_that_is_touched(lab: Plant, settings: dict[str, Any]) -> None:
    with lab.runner("runner-a", **settings) as runner:
        until(lambda: runner.streaming() == set(lab.cameras))
        reset(lab)
        assert lab.control.command("cameras", "set", "cam-1", "--max-fps", "3").returncode == 0
        until(lambda: [each["camera_uuid"] for each in runner.facts("stream.shown")].count("cam-1") == 2)
        assert lab.control.command("cameras", "set", "cam-2", "--disabled").returncode == 0
        until(lambda: sessions(lab) == Counter(["cam-1", "cam-3"]))
        assert lab.control.command("cameras", "set", "cam-2", "--enabled").returncode == 0
        until(lambda: sessions(lab) == Counter(lab.cameras))
        assert dials(lab) <= Counter(["cam-1", "cam-2"]) + stalls(runner)
        assert "cam-3" not in {each["camera_uuid"] for each in runner.facts("stream.ended")}


@pytest.mark.parametrize("victim", ["parent", "manager"])
def test_nothing_of_it_outlives_a_runner_that_is_killed(lab: Plant, settings: dict[str, Any], victim: str) -> None:
    with lab.runner("runner-a", **settings) as runner:
        until(lambda: runner.streaming() == set(lab.cameras))
        server = server_of(runner)
        ports, pids, manager = listening(server), family(runner.process.pid), runner.manager
        assert server in pids
        os.kill(runner.process.pid if victim == "parent" else manager, signal.SIGKILL)
        until(lambda: not sessions(lab) and not any(Path(f"/proc/{pid}").exists() for pid in pids[1:]))
        assert not any(map(answers, ports))
    assert not list(MEMORY.glob(f"streamward-{manager}-*"))


def test_a_password_is_seen_nowhere(lab: Plant, settings: dict[str, Any]) -> None:
    with lab.runner("runner-a", **settings) as runner:
        until(lambda: runner.streaming() == set(lab.cameras))
        os.kill(server_of(runner), signal.SIGKILL)
        until(lambda: len(runner.facts("restreamer.started")) == 2 and sessions(lab) == Counter(lab.cameras))
        shown = [Path(f"/proc/{pid}") / name for pid in family(runner.process.pid) for name in ("cmdline", "environ")]
        seen = "\n".join(path.read_text(errors="replace") for path in shown)
        assert not list(MEMORY.glob(f"streamward-{runner.manager}-*"))
        assert runner.ended(signal.SIGTERM) == WorkerExit.DRAINED
    left = [path for path in lab.data.parent.rglob("*") if path.is_file() and path.name != "password"]
    seen += "\n".join(path.read_bytes().decode(errors="replace") for path in left)
    assert not [form for form in ("Can4ry", quote(PASSWORD, safe="")) if form in seen]


def test_a_login_that_is_refused_is_not_tried_for_ever(tmp_path: Path, settings: dict[str, Any]) -> None:
    with a_lab(tmp_path) as lab:
        lab.nvr.set(kind="login_refused")
        with lab.runner("runner-a", **settings), lab.control.client("--admin", "ada") as ada:
            told = (partial(ada.get, f"/v1/leases/{camera}") for camera in lab.cameras)
            for lease in told:
                until(lambda ask=lease: "PARKED" in ask().text)
            counted = lab.nvr.control.get("/counts").json()["counts"]
            assert sum(each["total"] for each in counted if each["deed"] == "login_bad") <= 2


def test_a_camera_that_points_elsewhere_is_taken_from_it(lab: Plant, settings: dict[str, Any], tmp_path: Path) -> None:
    with recorder(tmp_path / "other", "--cameras", "1") as other:
        lab.nvr.set("cam-1", kind="redirect", to=other.urls[0])
        try:
            with lab.runner("runner-a", **settings) as runner:
                until(lambda: [each["camera_uuid"] for each in runner.facts("restream.astray")] == ["cam-1"])
                retries = partial(runner.facts, "rtsp.connect.retry")
                until(lambda: ("cam-1", "URL_FORBIDDEN") in {(_["camera_uuid"], _["error_code"]) for _ in retries()})
                until(lambda: other.control.get("/sessions").json() == [])
                until(lambda: {"cam-2", "cam-3"} <= runner.streaming())
        finally:
            lab.nvr.clear()


def test_its_cameras_are_back_soon_after_their_recorder(lab: Plant, settings: dict[str, Any]) -> None:
    with lab.runner("runner-a", **settings) as runner:
        until(lambda: runner.streaming() == set(lab.cameras))
        reset(lab)
        lab.nvr.set(kind="reboot", down_for=8.0)
        until(lambda: dials(lab).keys() == set(lab.cameras) and sessions(lab) == Counter(lab.cameras))
        assert set(lab.owners().values()) == {"runner-a"}


def test_one_without_the_program_says_so_before_anything_begins(lab: Plant) -> None:
    ended = lab.control.command(
        "runner", IDENTITY=lab.enrol("runner-n"), RUNNER_MODE="go2rtc", RUNNER_GO2RTC="/nowhere/go2rtc"
    )
    assert ended.returncode == 1
    assert "STREAMWARD_RUNNER_GO2RTC" in ended.stderr
