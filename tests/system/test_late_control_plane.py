"""Every answer of the control plane reaches its runners 4 s late, by real processes and a proxy between them."""

import signal
import time
from collections.abc import Iterator

import pytest

from streamward.protocol.worker_link import WorkerExit
from tests.support.labs import Plant, plant, until
from tests.support.late_proxy import HOST, late_answers

LATE = 4.0  # seconds
WATCHED_FOR = 20.0  # seconds: more than two ttl


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with plant(tmp_path_factory.mktemp("lab"), "--cameras", "2") as made:
        yield made


@pytest.fixture(scope="module")
def late_url(lab: Plant) -> Iterator[str]:
    port = int(lab.control.url.rpartition(":")[2])
    with late_answers(port, late=LATE) as before:
        yield f"http://{HOST}:{before}"


def test_a_runner_streams_without_a_gap_and_gives_its_cameras_back(lab: Plant, late_url: str) -> None:
    with lab.runner("runner-a", CONTROL_URL=late_url) as runner:
        until(lambda: runner.streaming() == set(lab.cameras))
        settled = len(runner.facts("stream.ended"))
        watched_until = time.monotonic() + WATCHED_FOR
        until(lambda: time.monotonic() > watched_until)
        assert len(runner.facts("stream.ended")) == settled
        assert runner.ended(signal.SIGTERM) == WorkerExit.DRAINED
    assert set(lab.owners().values()) == {None}


def test_a_worker_without_a_manager_streams_and_gives_its_cameras_back(lab: Plant, late_url: str) -> None:
    config = lab.config(runner_id="r9", grace_timeout_s=20)
    with lab.worker(config | {"cp": config["cp"] | {"base_url": late_url}}) as worker:
        until(worker.is_ready)
        assert set(lab.owners().values()) == {"r9"}
        assert worker.ended(signal.SIGTERM) == WorkerExit.DRAINED
    assert set(lab.owners().values()) == {None}
