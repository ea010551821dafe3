"""`streamward worker` as a process, with real cameras, a real control plane and real buses."""

import asyncio
import contextlib
import json
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from streamward.model.bus import Binding, Bus, Delivery, Queue
from streamward.protocol import codec
from streamward.protocol.events import BATCHER, DetectionEvent, WorkerAlive
from streamward.protocol.streams import StreamReport
from streamward.protocol.worker_link import WorkerExit
from tests.support.labs import Plant, bus_of, plant, until
from tests.support.ports import free_port
from tests.support.processes import run

STATES = Queue(
    name="states",
    bindings=(Binding("status.topic", "stream.#"), Binding("status.topic", "worker.#")),
)

# A child, and one whose own parent has ended.
SPAWNING = """
import subprocess
from pathlib import Path

child = subprocess.Popen(["sleep", "600"])
orphan = subprocess.check_output(["sh", "-c", "sleep 600 >/dev/null & echo $!"], text=True)
Path("started").write_text(f"{child.pid} {orphan}")

def look(image):
    return []
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with plant(tmp_path_factory.mktemp("lab"), "--cameras", "2") as made:
        yield made


async def taken(
    bus: Bus, queue: str, count: int, is_enough: Callable[[list[Delivery]], object] = lambda _: True
) -> list[Delivery]:
    """At least so many messages, and more until they have what is looked for."""
    consumer = bus.consume(queue, prefetch=500)
    got: list[Delivery] = []
    async with asyncio.timeout(60):
        while len(got) < count or not is_enough(got):
            some = await consumer.take(at_most=100, within=1.0)
            await consumer.ack(some)
            got += some
    await consumer.close()
    return got


def events_of(deliveries: list[Delivery], runner: str) -> list[DetectionEvent]:
    """Of one runner: the queue also has what Workers of earlier tests, with other detectors, left in it."""
    events = [codec.decode(each.message.body, DetectionEvent) for each in deliveries]
    return [event for event in events if event.runner_id == runner]


def cameras_of(events: list[DetectionEvent]) -> set[str]:
    return {event.camera_uuid for event in events}


def states_of(deliveries: list[Delivery]) -> set[str]:
    reports = [each.message.body for each in deliveries if each.message.kind == "stream.status"]
    return {codec.decode(body, StreamReport).state for body in reports}


def beats_of(deliveries: list[Delivery], runner: str) -> list[WorkerAlive]:
    beats = [each.message.body for each in deliveries if each.message.kind == "worker.heartbeat"]
    return [beat for beat in (codec.decode(body, WorkerAlive) for body in beats) if beat.runner_id == runner]


async def test_what_cameras_show_arrives_as_events_with_states_and_heartbeats(lab: Plant) -> None:
    async with bus_of(lab) as bus:
        await bus.declare(STATES)
        with lab.worker(lab.config(runner_id="seer")) as worker:
            until(worker.is_ready)
            until(lambda: worker.metric("messages_published_total") > 10)
            seen = await taken(
                bus, BATCHER.name, 10, lambda got: cameras_of(events_of(got, "seer")) == set(lab.cameras)
            )
            told = await taken(
                bus, STATES.name, 6, lambda got: {"CONNECTING"} <= states_of(got) and beats_of(got, "seer")
            )
    events = events_of(seen, "seer")
    assert {event.shard_id for event in events} == {"s0"}
    assert all(event.detections for event in events)
    assert len({each.message.message_id for each in seen}) == len(seen)
    assert {each.message.expires_in for each in told} == {10.0}


@pytest.mark.parametrize("way", ["drain", "SIGTERM", "SIGINT"])
def test_drained_it_gives_its_leases_back_and_leaves_nothing(lab: Plant, way: str) -> None:
    with lab.worker() as worker:
        until(worker.is_ready)
        if way == "drain":
            assert worker.order("/drain") == 202
        assert worker.ended(None if way == "drain" else signal.Signals[way]) == WorkerExit.DRAINED
    listed = lab.control.command("leases", "list", "--json").stdout.splitlines()
    assert {json.loads(line)["owner_id"] for line in listed} == {None}
    assert not list((lab.data / "spool").glob("*/*/*"))
    assert not list((lab.data / "workers").iterdir())


def test_pictures_that_are_to_be_decoded_less_exactly_are_and_that_is_said_once(lab: Plant) -> None:
    with lab.worker(lab.config(skip_loop_filter="all")) as worker:
        until(worker.is_ready)
        assert worker.log.count("loop.filter.skipped") == 1


def test_a_device_that_is_not_here_keeps_no_camera_waiting_and_is_told_once(lab: Plant) -> None:
    with lab.worker(lab.config(hardware="videotoolbox")) as worker:  # of Macs only
        until(worker.is_ready)
        until(lambda: worker.metric("hardware_decoding_failures_total") == 1)
        assert worker.log.count("hardware.not.used") == 1


def test_terminated_it_ends_at_once(lab: Plant) -> None:
    with lab.worker() as worker:
        assert worker.api.post("/terminate").status_code == 401
        assert worker.order("/terminate") == 202
        assert worker.ended() == WorkerExit.TERMINATED


def test_drained_it_is_not_ready_and_still_alive(lab: Plant) -> None:
    nowhere = {"url": f"amqp://guest:guest@127.0.0.1:{free_port()}/"}
    with lab.worker(lab.config(amqp=nowhere)) as worker:  # what waits for the bus takes all of its grace
        until(worker.is_ready)
        until(lambda: "publishing.failed" in worker.log)
        assert worker.order("/drain") == 202
        answers = []
        with contextlib.suppress(httpx.TransportError):  # it has ended
            while True:
                answers.append((worker.api.get("/healthz").status_code, worker.api.get("/ready").status_code))
        assert set(answers) == {(200, 503)}
        assert worker.ended() == WorkerExit.DRAINED


def test_nothing_that_its_detector_started_outlives_it(lab: Plant) -> None:
    (lab.data.parent / "spawning.py").write_text(SPAWNING)
    with lab.worker(lab.config(detector="spawning:look")) as worker:
        until(worker.is_ready)
        started = [Path("/proc") / pid for pid in (lab.data.parent / "started").read_text().split()]
        assert [each.exists() for each in started] == [True, True]
        assert worker.ended(signal.SIGTERM) == WorkerExit.DRAINED
    assert [each.exists() for each in started] == [False, False]


def test_a_camera_that_somebody_else_holds_is_not_run(lab: Plant) -> None:
    with lab.worker() as first:
        until(first.is_ready)
        with lab.worker(lab.config(runner_id="r2")) as second:
            until(lambda: '"lease.denied"' in second.log)
            denied = [line for line in second.log.splitlines() if '"lease.denied"' in line]
            assert ("warn" in denied[0], '"held"' in denied[0]) == (True, True)
            until(lambda: second.metric("messages_published_total") == 0 and not second.is_ready())
            assert second.metric("stream_up", camera_uuid="cam-1") == 0
            assert first.ended(signal.SIGKILL) == -signal.SIGKILL
            until(second.is_ready)


def test_a_second_start_of_the_same_runner_ends_the_first(lab: Plant) -> None:
    with lab.worker() as first:
        until(first.is_ready)
        with lab.worker() as second:
            assert first.ended() == WorkerExit.FENCED
            until(second.is_ready)


@pytest.mark.parametrize(
    ("changes", "code", "sentence"),
    [
        ({"cp": None}, 2, "name the control plane"),
        ({"detector": "nobody.has:this"}, 10, "nobody"),
        ({"sources": [{"camera_uuid": "x", "url": "http://x/", "site_id": "s", "tenant_id": "t"}]}, 2, "camera x"),
        ({"runner_id": ""}, 2, "runner_id"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(
    lab: Plant, tmp_path: Path, changes: dict[str, Any], code: int, sentence: str
) -> None:
    path = tmp_path / "shard.json"
    path.touch(mode=0o600)
    path.write_text(json.dumps(lab.config() | changes))
    ended = run("worker", "--config", str(path), data=lab.data)
    assert (ended.returncode, ended.stdout) == (code, "")
    assert sentence in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_a_port_in_use_is_one_sentence_with_the_field_that_changes_it(lab: Plant) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = run("worker", "--config", str(lab.written(lab.config(port=port))), data=lab.data)
    assert (ended.returncode, ended.stdout) == (WorkerExit.MISCONFIGURED, "")
    assert ended.stderr.splitlines()[-1] == (
        f"streamward: cannot listen on 127.0.0.1 port {port} (address already in use): "
        "choose another with `port` in its config, 0 for any that is free"
    )
    assert "Traceback" not in ended.stderr


def test_secrets_are_taken_from_a_private_file_alone(lab: Plant, tmp_path: Path) -> None:
    text = json.dumps(lab.config())
    path = tmp_path / "shard.json"
    path.touch(mode=0o644)
    path.write_text(text)
    open_file = run("worker", "--config", str(path), data=lab.data)
    on_the_line = run("worker", "--config-json", text, data=lab.data)
    neither = run("worker", data=lab.data)
    assert [each.returncode for each in (open_file, on_the_line, neither)] == [2, 2, 2]
    assert "make it 0600" in open_file.stderr
    assert "holds secrets" in on_the_line.stderr
    assert "--config FILE" in neither.stderr


async def test_a_real_broker_gets_what_is_seen(tmp_path: Path, rabbitmq: Any) -> None:
    url = rabbitmq.url()
    with plant(tmp_path, "--cameras", "1", AMQP_URL=url) as made, made.worker(made.config(amqp={"url": url})):
        async with bus_of(made, url) as bus:
            seen = await taken(bus, BATCHER.name, 5)
    assert {each.message.kind for each in seen} == {"detections"}
    assert seen[0].message.headers["cloudEvents_subject"] == "acme/site-1/cam-1"
