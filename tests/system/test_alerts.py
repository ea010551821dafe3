"""The alerts that are shipped: judged by promtool, and seen to arrive when a real camera or runner fails."""

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.support.alert_rules import FOLDER
from tests.support.labs import Plant, RunnerProcess, plant, until
from tests.support.prometheus import Targets, Told, needed, watching


def promtool(*args: str) -> subprocess.CompletedProcess[str]:
    needed()
    return subprocess.run(["promtool", *args], cwd=FOLDER, capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.parametrize(
    "asked", [("check", "config", "--syntax-only", "prometheus.yml"), ("test", "rules", "rules_test.yml")], ids=" ".join
)
def test_promtool_finds_nothing_wrong(asked: tuple[str, ...]) -> None:
    judged = promtool(*asked)
    assert judged.returncode == 0, judged.stdout + judged.stderr


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    needed()
    with plant(tmp_path_factory.mktemp("alerts"), "--cameras", "2") as made:
        yield made


@pytest.fixture(scope="module")
def runner(lab: Plant) -> Iterator[RunnerProcess]:
    with lab.runner("runner-a") as running:
        until(lambda: running.streaming() == set(lab.cameras))
        yield running


@pytest.fixture(scope="module")
def told(lab: Plant, runner: RunnerProcess) -> Iterator[Told]:
    (ports,) = runner.facts("runner.serves")
    targets = Targets(
        control=lab.control.url.removeprefix("http://"),
        token=lab.control.token("--viewer", "prometheus", "--ttl", "24h"),
        runner=ports["own_port"],
        workers=ports["workers_port"],
    )
    with watching(lab.data.parent / "prometheus", targets) as hearing:
        yield hearing


def test_a_camera_that_fails_is_told_and_its_return_too(lab: Plant, told: Told) -> None:
    lab.nvr.set("cam-2", kind="half_open")
    try:
        told.wait("firing", "StreamDown", camera_uuid="cam-2", runner_id="runner-a")
    finally:
        lab.nvr.clear()
    told.wait("resolved", "StreamDown", camera_uuid="cam-2")


def test_a_runner_that_stands_still_is_told_with_all_that_follows(
    lab: Plant, runner: RunnerProcess, told: Told
) -> None:
    os.kill(runner.manager, signal.SIGSTOP)
    try:
        told.wait("firing", "RunnerSilent", runner_id="runner-a")
        for camera in lab.cameras:
            told.wait("firing", "CameraVanished", camera_uuid=camera)
        told.wait("firing", "StreamsPending", job="streamward-control")
    finally:
        os.kill(runner.manager, signal.SIGCONT)
    told.wait("resolved", "RunnerSilent", runner_id="runner-a")
    for camera in lab.cameras:
        told.wait("resolved", "CameraVanished", camera_uuid=camera)
    assert set(lab.owners().values()) == {"runner-a"}
