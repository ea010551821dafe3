"""`streamward runner` as real processes: it takes cameras, gives them back, and is replaced when it dies."""

import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from streamward.protocol.worker_link import WorkerExit
from tests.support.labs import Plant, children_of, plant, until
from tests.support.processes import control


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with plant(tmp_path_factory.mktemp("lab"), "--cameras", "3") as made:
        yield made


def test_it_takes_every_camera_and_gives_all_back_when_it_is_told_to_end(lab: Plant) -> None:
    with lab.runner("runner-a") as runner:
        ready = runner.wait_ready()
        assert (ready.runner_id, ready.pid) == ("runner-a", runner.manager)
        assert os.getsid(runner.manager) == runner.manager
        for url in (ready.url, ready.workers_url):
            httpx.get(f"{url}/metrics", timeout=60).raise_for_status()
        until(lambda: runner.streaming() == set(lab.cameras))
        assert set(lab.owners().values()) == {"runner-a"}
        assert runner.ended(signal.SIGTERM) == WorkerExit.DRAINED
    assert set(lab.owners().values()) == {None}
    assert not list((lab.data / "spool").glob("*/*/*"))


@pytest.mark.parametrize("victim", ["parent", "manager"])
def test_when_it_dies_another_takes_its_cameras(lab: Plant, victim: str) -> None:
    with lab.runner("runner-a") as first:
        until(lambda: first.streaming() == set(lab.cameras))
        with lab.runner("runner-b") as second:
            until(lambda: second.facts("spare.started"))
            os.kill(first.process.pid if victim == "parent" else first.manager, signal.SIGKILL)
            until(lambda: second.streaming() == set(lab.cameras))
            assert set(lab.owners().values()) == {"runner-b"}
            assert second.ended(signal.SIGTERM) == WorkerExit.DRAINED


def test_a_second_start_of_the_same_runner_ends_the_first(lab: Plant) -> None:
    with lab.runner("runner-a") as first:
        until(lambda: first.streaming() == set(lab.cameras))
        with lab.runner("runner-a") as second:
            assert first.ended() == WorkerExit.FENCED
            until(lambda: second.streaming() == set(lab.cameras))


def test_a_change_of_one_camera_touches_that_one_alone(lab: Plant) -> None:
    with lab.runner("runner-a") as runner:
        until(lambda: runner.streaming() == set(lab.cameras))
        lab.nvr.control.post("/counts/reset").raise_for_status()
        assert lab.control.command("cameras", "set", "cam-1", "--max-fps", "3").returncode == 0
        until(lambda: [each["camera_uuid"] for each in runner.facts("stream.shown")].count("cam-1") == 2)
        assert lab.control.command("cameras", "set", "cam-2", "--disabled").returncode == 0
        until(lambda: "cam-2" in {each["camera_uuid"] for each in runner.facts("stream.ended")})
        counted = lab.nvr.control.get("/counts").json()["counts"]
        assert {each["camera"] for each in counted if each["deed"] == "dialed"} == {"cam-1"}
        assert "cam-3" not in {each["camera_uuid"] for each in runner.facts("stream.ended")}
        assert lab.control.command("cameras", "set", "cam-2", "--enabled").returncode == 0
        until(lambda: [each["camera_uuid"] for each in runner.facts("stream.shown")].count("cam-2") == 2)


def test_a_detector_that_its_runner_does_not_have_is_warned_of_when_it_is_set_and_why_has_the_sentence(
    lab: Plant,
) -> None:
    with lab.runner("runner-a") as runner:
        until(lambda: runner.streaming() == set(lab.cameras))
        changed = lab.control.command("cameras", "set", "cam-1", "--detector", "nosuch")
        assert changed.returncode == 0
        assert "warning: its detector cannot be loaded (DETECTOR_FAILED): the detector nosuch" in changed.stderr
        told = why(lab, "cam-1")
        assert "no model or package has that name" in told
        assert "; the next try is at " in told
        changed = lab.control.command("cameras", "set", "cam-1", "--detector", "motion")
        assert (changed.returncode, changed.stderr) == (0, "")
        until(lambda: "runner-a is streaming it" in why(lab, "cam-1"))
        assert lab.control.command("cameras", "set", "cam-1", "--detector", "none").returncode == 0


def test_a_camera_that_was_never_reached_cannot_be_connected_to(lab: Plant) -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = bound.getsockname()[1]
    added = lab.control.command("cameras", "add", "site-1", f"rtsp://127.0.0.1:{port}/x", "--id", "unreachable")
    assert added.returncode == 0, added.stderr
    with lab.runner("runner-a"):
        until(lambda: "runner-a cannot connect (TCP_REFUSED): " in why(lab, "unreachable"))
        assert "lost the connection" not in why(lab, "unreachable")
    assert lab.control.command("cameras", "remove", "unreachable", "--yes").returncode == 0


def why(lab: Plant, camera: str) -> str:
    return lab.control.command("cameras", "why", camera).stdout


def test_a_worker_that_dies_is_started_again(lab: Plant) -> None:
    with lab.runner("runner-a") as runner:
        until(lambda: runner.streaming() == set(lab.cameras))
        fork_server = children_of(runner.manager)[0]
        for pid in children_of(fork_server):
            os.kill(pid, signal.SIGKILL)
        until(lambda: len(runner.facts("worker.exited")) >= 2)
        until(lambda: len(runner.facts("stream.shown")) >= 2 * len(lab.cameras))
        assert signal.SIGKILL in {fact["signal"] for fact in runner.facts("worker.exited")}
        assert set(lab.owners().values()) == {"runner-a"}


def test_a_host_that_was_not_enrolled_is_told_how(lab: Plant) -> None:
    ended = lab.control.command("runner", IDENTITY=lab.data / "nobody.json")
    assert ended.returncode == 1
    assert "streamward runners invite" in ended.stderr


def test_it_finds_the_control_plane_that_its_host_was_enrolled_at(lab: Plant) -> None:
    with lab.runner("runner-e", CONTROL_URL=None) as runner:
        assert runner.wait_ready().runner_id == "runner-e"
        until(lambda: runner.streaming() == set(lab.cameras))
    told = lab.control.command("doctor", "--json", IDENTITY=lab.data.parent / "runner-e.json", CONTROL_URL=None)
    [found] = [each for each in map(json.loads, told.stdout.splitlines()) if each["check"] == "runner"]
    assert (found["verdict"], lab.control.url in found["detail"]) == ("ok", True)


def test_a_host_that_was_enrolled_elsewhere_is_not_told_to_get_another_code(lab: Plant, tmp_path: Path) -> None:
    identity = lab.enrol("runner-f")
    with control(tmp_path / "other", trust=None) as other:
        ended = lab.control.command("runner", IDENTITY=identity, CONTROL_URL=other.url)
        assert ended.returncode == 1
        assert f"this host was enrolled at {lab.control.url}; unset STREAMWARD_CONTROL_URL" in ended.stderr
        assert "runners invite" not in ended.stderr
        told = lab.control.command("doctor", "--json", IDENTITY=identity, CONTROL_URL=other.url)
    [found] = [each for each in map(json.loads, told.stdout.splitlines()) if each["check"] == "runner"]
    assert (found["verdict"], lab.control.url in found["remedy"]) == ("failed", True)


def test_a_runner_whose_detections_nobody_would_read_is_refused(lab: Plant, tmp_path: Path) -> None:
    identity, own = lab.enrol("runner-g"), tmp_path / "own"
    ended = lab.control.command("runner", IDENTITY=identity, DATA=own)
    assert ended.returncode == 1
    assert f"the event bus of this runner (files in {own}) has no queue detections.batcher" in ended.stderr
    assert "STREAMWARD_AMQP_URL" in ended.stderr
    told = lab.control.command("doctor", "--json", IDENTITY=identity, DATA=own)
    [found] = [each for each in map(json.loads, told.stdout.splitlines()) if each["check"] == "runner's bus"]
    assert (found["verdict"], "STREAMWARD_AMQP_URL" in found["remedy"]) == ("failed", True)
    assert "runner-g" not in lab.control.command("runners", "list").stdout


def test_cameras_are_back_though_their_worker_and_the_spare_are_frozen_together(tmp_path: Path) -> None:
    with plant(tmp_path, "--cameras", "2") as made, made.runner("runner-a") as runner:
        until(lambda: runner.streaming() == set(made.cameras))
        until(lambda: len(runner.facts("spare.started")) == 2)  # the first of them has the cameras
        for started in runner.facts("spare.started"):
            os.kill(started["pid"], signal.SIGSTOP)
        froze = time.monotonic()
        until(lambda: len(runner.facts("stream.shown")) == 2 * len(made.cameras), within=120)
        assert time.monotonic() - froze < 30  # with the spare's 60 s to begin it was more


def test_while_the_control_plane_is_away_nothing_runs_past_its_lease_and_all_is_back_after_it(tmp_path: Path) -> None:
    with plant(tmp_path, "--cameras", "2") as made, made.runner("runner-a") as runner:
        until(lambda: runner.streaming() == set(made.cameras))
        made.control.process.send_signal(signal.SIGSTOP)
        until(lambda: {each["camera_uuid"] for each in runner.facts("stream.ended")} == set(made.cameras))
        made.control.process.send_signal(signal.SIGCONT)
        until(lambda: len(runner.facts("stream.shown")) == 2 * len(made.cameras))
        assert set(made.owners().values()) == {"runner-a"}


def test_a_store_of_large_events_that_cannot_be_used_is_told_before_anything_begins(lab: Plant) -> None:
    identity = lab.enrol("runner-s")
    keys = {"OBJECTS_ACCESS_KEY": "ada", "OBJECTS_SECRET_KEY": "hunter2"}
    ended = lab.control.command("runner", IDENTITY=identity, OBJECTS_URL="s3://b", OBJECTS_ENDPOINT="nowhere", **keys)
    assert ended.returncode != 0
    assert "the object store cannot be opened: its endpoint must be like https://" in ended.stderr
    assert "hunter2" not in ended.stderr + ended.stdout


def test_one_that_continues_fenced_goes_on_while_the_control_plane_is_away(tmp_path: Path) -> None:
    with (
        plant(tmp_path, "--cameras", "1") as made,
        made.runner("runner-a", ON_CONTROL_LOSS="continue-fenced", LEASE_TTL_S=5, LEASE_RENEW_INTERVAL_S=1) as runner,
    ):
        until(lambda: runner.streaming() == set(made.cameras))
        made.control.process.send_signal(signal.SIGSTOP)
        stopped = time.monotonic()
        until(lambda: time.monotonic() - stopped > 12)
        made.control.process.send_signal(signal.SIGCONT)
        until(lambda: set(made.owners().values()) == {"runner-a"})
        assert runner.facts("stream.ended") == []


def test_its_workers_write_their_lines_as_it_was_told_to(lab: Plant) -> None:
    with lab.runner("runner-a", LOG_FORMAT="text") as runner:
        until(lambda: " stream.began " in runner.log)
        assert not [line for line in runner.log.splitlines() if line.startswith("{")]


def test_a_detector_that_cannot_be_had_is_told_at_once_and_nothing_is_left(lab: Plant) -> None:
    with lab.runner("runner-a", RUNNER_DETECTOR="nobody.has:this") as runner:
        assert runner.ended() == 1
        said = runner.log
        assert "the detector nobody.has:this cannot be used: ModuleNotFoundError" in said
        assert "STREAMWARD_RUNNER_DETECTOR" in said
    assert set(lab.owners().values()) == {None}


def test_a_fork_server_that_dies_while_the_runner_starts_is_started_again(lab: Plant) -> None:
    with lab.runner("runner-a") as runner:
        until(lambda: children_of(runner.process.pid) and children_of(runner.manager))
        os.kill(children_of(runner.manager)[0], signal.SIGKILL)
        until(lambda: runner.streaming() == set(lab.cameras))
        assert runner.ended(signal.SIGTERM) == WorkerExit.DRAINED
