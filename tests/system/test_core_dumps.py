"""No process that holds secrets leaves a core dump, whatever the limits of the host say."""

import contextlib
import os
import re
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.batch_plant import batcher
from tests.support.labs import Plant, family, plant, until
from tests.support.media_servers import go2rtc_program


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with plant(tmp_path_factory.mktemp("lab"), "--cameras", "1") as made:
        yield made


def room_for_cores(pid: int) -> tuple[str, ...]:
    """Soft and hard limit."""
    (found,) = re.findall(r"^Max core file size +(\S+) +(\S+)", Path(f"/proc/{pid}/limits").read_text(), re.MULTILINE)
    return tuple(found)


def aborted(pid: int, lab: Plant) -> list[Path]:
    """Cores in the folder of a process that is ended by SIGABRT."""
    folder = lab.data.parent
    with contextlib.suppress(PermissionError, ValueError):  # with the capability for it, all the room that there is
        resource.prlimit(pid, resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    began = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[19]
    os.kill(pid, signal.SIGABRT)
    until(lambda: not is_alive(pid, began))
    return list(folder.glob("core*"))


def is_alive(pid: int, began: str) -> bool:
    """Neither gone nor waiting to be reaped."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return False
    return rest[18] == began and state != "Z"


def test_no_process_of_a_runner_has_room_for_cores_and_none_leaves_one(lab: Plant) -> None:
    with lab.runner("runner-a") as runner:
        until(lambda: runner.streaming() == set(lab.cameras))
        everyone = family(runner.process.pid)
        assert len(everyone) >= 4  # parent, Manager, fork server, Worker
        assert {room_for_cores(pid) for pid in everyone} == {("0", "0")}
        assert {Path(f"/proc/{pid}/environ").stat().st_uid for pid in everyone} == {
            0
        }  # not dumpable, whoever runs this
        (worker, *_) = (int(fact["pid"]) for fact in runner.facts("worker.spawn"))
        assert aborted(worker, lab) == []
        assert aborted(runner.manager, lab) == []


def test_the_go2rtc_of_a_runner_has_no_room_for_cores(lab: Plant) -> None:
    with lab.runner("runner-a", RUNNER_MODE="go2rtc", RUNNER_GO2RTC=go2rtc_program()) as runner:
        until(lambda: runner.facts("restreamer.started"))
        assert room_for_cores(int(runner.facts("restreamer.started")[-1]["pid"])) == ("0", "0")


def test_control_plane_batcher_and_standalone_worker_leave_no_core(lab: Plant) -> None:
    with batcher(lab.data) as batching, lab.worker() as worker:
        for pid in (lab.control.process.pid, batching.process.pid, worker.process.pid):
            assert room_for_cores(pid) == ("0", "0")
            assert Path(f"/proc/{pid}/environ").stat().st_uid == 0
        assert aborted(worker.process.pid, lab) == aborted(batching.process.pid, lab) == []


def test_a_setting_allows_cores_for_debugging(lab: Plant) -> None:
    with lab.runner("runner-b", CORE_DUMPS="true") as runner:
        until(lambda: runner.facts("worker.spawn"))
        inherited = room_for_cores(os.getpid())
        assert {room_for_cores(pid) for pid in family(runner.process.pid)} == {inherited}
