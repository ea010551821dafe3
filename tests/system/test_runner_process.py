"""`streamward runner` as real processes: it takes cameras, gives them back, and is replaced when it dies."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamward.protocol.worker_link import WorkerExit
from tests.support.labs import Plant, children_of, plant, until


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with plant(tmp_path_factory.mktemp("lab"), "--cameras", "3") as made:
        yield made


def test_it_takes_every_camera_and_gives_all_back_when_it_is_told_to_end(lab: Plant) -> None:
    with lab.runner("runner-a") as runner:
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
            until(lambda: second.facts("worker.spawn"))
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
