"""The last seconds of cameras in a folder, with a Worker as a process: where they lie, and that nothing is left."""

import contextlib
import io
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import av
import httpx
import pytest

from tests.support.labs import Plant, WorkerProcess, children_of, plant, until
from tests.support.processes import run
from tests.support.shelves import nameless_files


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with plant(tmp_path_factory.mktemp("lab"), "--cameras", "3", "--width", "320", "--height", "192") as made:
        yield made


def clip_of(worker: WorkerProcess, camera: str) -> httpx.Response:
    allowed = {"Authorization": f"Bearer {worker.secret}"}
    return worker.api.get("/clip", params={"camera": camera, "seconds": 20}, headers=allowed)


def length_of(clip: httpx.Response) -> float:
    """Seconds; none of what is no clip."""
    if clip.status_code != httpx.codes.OK:
        return 0.0
    with av.open(io.BytesIO(clip.content), "r") as read:
        return (read.duration or 0) / 1_000_000


def frames_in(clip: httpx.Response) -> int:
    with av.open(io.BytesIO(clip.content), "r") as read:
        return sum(1 for _ in read.decode(video=0))


def test_what_a_worker_keeps_in_a_folder_has_no_name_and_is_gone_when_it_is_killed(lab: Plant, tmp_path: Path) -> None:
    folder = tmp_path / "clips"
    shown, other, private = lab.cameras
    sources = [
        lab.source(shown, decode="keyframes"),  # whatever is decoded, all is kept
        lab.source(other, decode="adaptive"),
        lab.source(private, do_not_process=True),
    ]
    with lab.worker(lab.config(sources=sources, clip_folder=str(folder))) as worker:
        until(lambda: length_of(clip_of(worker, shown)) > 3 and length_of(clip_of(worker, other)) > 3)
        assert clip_of(worker, private).status_code == httpx.codes.NOT_FOUND
        for camera in (shown, other):
            assert frames_in(clip_of(worker, camera)) > 30  # and not its keyframes alone
            until(lambda camera=camera: worker.metric("ringbuf_seconds", camera_uuid=camera) > 3)
        assert worker.metric("ringbuf_lost_groups") == 0
        assert nameless_files(folder, worker.process.pid) == 2
        assert (folder.stat().st_mode & 0o777, list(folder.iterdir())) == (0o700, [])
        assert worker.ended(signal.SIGKILL) == -signal.SIGKILL
    assert not list(folder.iterdir())


def below(pid: int) -> list[int]:
    """A process and all that it and they have started; a process that ends meanwhile has none."""
    with contextlib.suppress(FileNotFoundError):
        return [pid, *(each for child in children_of(pid) for each in below(child))]
    return []


def test_the_workers_of_a_runner_keep_them_there_too_and_all_killed_at_once_leave_nothing(
    lab: Plant, tmp_path: Path
) -> None:
    folder = tmp_path / "clips"
    with lab.runner("host-2", RUNNER_CLIP_FOLDER=folder, RUNNER_CLIP_MB=2) as runner:
        until(lambda: sum(nameless_files(folder, pid) for pid in below(runner.process.pid)) == len(lab.cameras))
        tree = below(runner.process.pid)
        for pid in tree:
            with contextlib.suppress(ProcessLookupError):  # they die with each other
                os.kill(pid, signal.SIGKILL)
        until(lambda: not any(nameless_files(folder, pid) for pid in tree))
    assert not list(folder.iterdir())


def test_a_folder_that_is_not_its_own_is_refused_at_start(lab: Plant, tmp_path: Path) -> None:
    (tmp_path / "clips").mkdir()
    (tmp_path / "clips").chmod(0o777)
    config = lab.written(lab.config(clip_folder=str(tmp_path / "clips")))
    ended = run("worker", "--config", str(config), data=lab.data)
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)
    assert "can be changed by others" in ended.stderr
    runner = run("runner", data=lab.data, IDENTITY=lab.enrol("host-1"), RUNNER_CLIP_FOLDER=tmp_path / "clips")
    assert "can be changed by others" in runner.stderr
