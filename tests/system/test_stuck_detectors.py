"""Detectors that never come back, in real Workers: their cameras are told why, and the others are seen."""

import signal
from collections.abc import Iterator

import pytest

from streamward.protocol.worker_link import WorkerExit
from tests.support.labs import Plant, RunnerProcess, plant, until
from tests.support.outages import kept

# Sees one picture, and never comes back from the next.
STUCK = """
import threading

_answers = iter([()])


def detect(image):
    for answer in _answers:
        return answer
    threading.Event().wait()
"""

# When there is a file `armed`, does not come back from pictures without a bicycle: cam-4 has none.
STICKY = """
import pathlib
import threading

from streamward.drivers.detectors.colour import ColourDetector

size = ColourDetector.size


def detect(image):
    seen = ColourDetector().detect(image)
    if "bicycle" in {each.label for each in seen}:
        pathlib.Path("looked").touch()
    elif pathlib.Path("armed").exists():
        threading.Event().wait()
    return seen
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with plant(tmp_path_factory.mktemp("lab"), "--cameras", "4", "--scenes", "4", "--fps", "10") as made:
        (made.data.parent / "stuck.py").write_text(STUCK)
        (made.data.parent / "sticky.py").write_text(STICKY)
        yield made


def shards_of(runner: RunnerProcess, camera: str) -> list[str]:
    """Where it was begun with."""
    return [each["shard_id"] for each in runner.facts("stream.began") if each["camera_uuid"] == camera]


def test_one_camera_of_a_worker_is_degraded_and_the_others_are_seen(lab: Plant) -> None:
    sources = [lab.source(camera) for camera in lab.cameras]
    sources[0]["detector"] = "stuck:detect"
    with lab.worker(lab.config(runner_id="r-stuck", sources=sources)) as worker:
        until(lambda: worker.metric("stream_errors_total", camera_uuid="cam-1", code="DETECTOR_FAILED"))
        before = kept(worker)
        until(lambda: kept(worker) > before + 50)
        assert worker.metric("frames_looked_at_total", camera_uuid="cam-1") == 1
        until(lambda: "its detector fails" in lab.control.command("cameras", "why", "cam-1").stdout)
        until(lambda: "running" in lab.control.command("cameras", "why", "cam-2").stdout)
        assert "the detector has not answered for " in worker.log
        assert worker.ended(signal.SIGTERM) == WorkerExit.DRAINED


def test_a_camera_that_blocks_the_detector_of_all_is_set_apart(lab: Plant) -> None:
    with lab.runner("runner-a", RUNNER_DETECTOR="sticky:detect") as runner:
        until(lambda: runner.streaming() == set(lab.cameras) and (lab.data.parent / "looked").exists())
        (lab.data.parent / "armed").touch()
        until(lambda: runner.facts("detector.given.up"))
        (given_up,) = runner.facts("detector.given.up")
        assert (given_up["camera_uuid"], given_up["is_to_blame"]) == ("cam-4", True)
        until(lambda: WorkerExit.DETECTOR_STUCK in {each["code"] for each in runner.facts("worker.exited")})
        until(lambda: "alone-0" in shards_of(runner, "cam-4"))
        until(lambda: all(len(shards_of(runner, camera)) >= 2 for camera in lab.cameras[:3]))
        assert "alone-0" not in {shard for camera in lab.cameras[:3] for shard in shards_of(runner, camera)}
        assert runner.ended(signal.SIGTERM) == WorkerExit.DRAINED
