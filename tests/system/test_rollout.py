"""Workers that are replaced while their cameras go on: by real processes, over the command line."""

import signal
from collections.abc import Iterator

import pytest

from tests.support.labs import Plant, RunnerProcess, plant, until

WHY = "its detector cannot be used: it is not colour or null, no model or package has that name"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with plant(tmp_path_factory.mktemp("lab"), "--cameras", "3") as made:
        yield made


@pytest.fixture
def runner(lab: Plant) -> Iterator[RunnerProcess]:
    with lab.runner("runner-a") as started:
        until(lambda: started.streaming() == set(lab.cameras))
        yield started


def test_every_camera_is_taken_over_when_its_new_worker_sees_it(lab: Plant, runner: RunnerProcess) -> None:
    lab.nvr.control.post("/counts/reset").raise_for_status()
    done = lab.control.command("runners", "rollout", "--model", "colour")
    assert (done.returncode, done.stdout.split()[-2:]) == (0, ["colour", "done"]), done.stderr
    first, second = runner.facts("worker.spawn")  # the first took two: others might have been starting too
    assert (first["shard_id"], second["shard_id"], second["cameras"]) == ("shard-0", "shard-1", 3)
    moved = runner.facts("bluegreen.cutover")
    assert {(each["old"], each["new"], each["level"]) for each in moved} == {("shard-0", "shard-1", "info")}
    assert all(each["duration_ms"] > 0 for each in moved)
    assert [(each["camera_uuid"], each["has_shown"]) for each in moved] == [(each, True) for each in moved_in(moved)]
    assert set(moved_in(moved)) == set(lab.cameras)
    dials = [each for each in lab.nvr.control.get("/counts").json()["counts"] if each["deed"] == "session_opened"]
    assert sorted(each["camera"] for each in dials) == sorted(lab.cameras)
    assert set(lab.owners().values()) == {"runner-a"}


def test_a_model_that_is_broken_is_refused_and_nobody_notices(lab: Plant, runner: RunnerProcess) -> None:
    refused = lab.control.command("runners", "rollout", "--model", "nobody-has-this")
    assert refused.returncode == 1
    assert f"runner-a has not taken it: {WHY}" in refused.stderr
    shown = lab.control.command("runners", "rollout", "--status")
    assert f"refused: {WHY}" in shown.stdout
    assert not runner.facts("stream.ended")
    back = lab.control.command("runners", "rollout", "--abort")
    assert back.returncode == 0, back.stderr
    assert back.stdout.split()[-1] == "done"


def test_a_runner_that_starts_anew_does_not_try_again_what_was_refused(lab: Plant, runner: RunnerProcess) -> None:
    assert lab.control.command("runners", "rollout", "--model", "nobody-has-this").returncode == 1
    assert runner.ended(signal.SIGTERM) == 0
    with lab.runner("runner-a") as again:
        until(lambda: again.streaming() == set(lab.cameras))
        shown = lab.control.command("runners", "rollout", "--status")
        assert f"refused: {WHY}" in shown.stdout
        assert lab.control.command("runners", "rollout", "--abort").returncode == 0


def test_a_runner_without_cameras_refuses_a_broken_model_and_takes_a_sound_one(lab: Plant) -> None:
    with lab.runner("runner-b", RUNNER_SITE="site-without-cameras") as idle:
        until(lambda: idle.facts("runner.serves"))
        refused = lab.control.command("runners", "rollout", "runner-b", "--model", "nobody-has-this")
        assert refused.returncode == 1
        assert f"runner-b has not taken it: {WHY}" in refused.stderr
        done = lab.control.command("runners", "rollout", "runner-b", "--model", "colour")
        assert (done.returncode, done.stdout.split()[-2:]) == (0, ["colour", "done"]), done.stderr


@pytest.mark.parametrize("options", [[], ["--abort", "--status"], ["--model", "colour", "--abort"]])
def test_it_is_told_one_thing_at_a_time(lab: Plant, options: list[str]) -> None:
    told = lab.control.command("runners", "rollout", *options)
    assert told.returncode == 2
    assert "--model, --status and --abort" in told.stderr


def moved_in(facts: list[dict[str, object]]) -> list[object]:
    return [each["camera_uuid"] for each in facts]
