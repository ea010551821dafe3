"""The fork server as a real process: what its Workers inherit, how their ends are told, and that they do end."""

import asyncio
import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from streamward.protocol.spawning import Exited
from streamward.protocol.worker_link import WorkerExit
from streamward.runner import born
from streamward.runner.spawner import ForkServerGone, ForkSpec, Spawner, Spawnling
from streamward.runtime import process_tree

ROOT = Path(__file__).resolve().parents[2]


class Ends:
    """The ends of Workers, as they are told."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[Exited] = asyncio.Queue()
        self.lost = asyncio.Event()

    async def next(self) -> Exited:
        return await asyncio.wait_for(self.told.get(), 60)


@contextlib.asynccontextmanager
async def spawning(entry: str, *preload: str) -> AsyncIterator[tuple[Spawner, Ends]]:
    others, ends = set(process_tree.children()), Ends()
    spec = ForkSpec(entry=entry if ":" in entry else f"tests.support.workers:{entry}", preload=preload)
    spawner = Spawner(spec, on_exit=ends.told.put_nowait, on_lost=ends.lost.set, others=lambda: others)
    await spawner.start()
    try:
        yield spawner, ends
    finally:
        await spawner.close()


@contextlib.contextmanager
def ended(worker: Spawnling):
    try:
        yield worker
    finally:
        worker.channel.close()
        worker.board.close()


async def heard(worker: Spawnling) -> bytes:
    worker.channel.setblocking(False)
    return await asyncio.wait_for(asyncio.get_running_loop().sock_recv(worker.channel, 4096), 60)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])


async def test_a_worker_inherits_its_own_descriptors_and_no_others(tmp_path: Path) -> None:
    async with spawning("told", "fractions") as (spawner, ends):
        with (tmp_path / "log").open("wb") as log, ended(await spawner.spawn(log.fileno())) as worker:
            said = json.loads(await heard(worker))
            exited = await ends.next()
    assert (said["pid"], said["group"], said["session"]) == (worker.pid, worker.pid, worker.pid)
    assert said["parent"] not in (1, os.getpid())
    assert len(said["files"]) == 5, "standard files, the channel, and the board's own"
    assert (said["threads"], said["defaults"], said["modules"]) == (1, [True, True], ["fractions"])
    assert exited == Exited(worker=worker.number, pid=worker.pid, code=7)
    assert (tmp_path / "log").read_text() == "a line for the log\n"


async def test_a_crash_is_told_as_its_signal_and_the_board_names_the_camera() -> None:
    async with spawning("crashing") as (spawner, ends):
        with ended(await spawner.spawn(2)) as worker:
            exited = await ends.next()
            assert (exited.signal, exited.code) == (signal.SIGSEGV, None)
            assert worker.board.names() == ["cam-2"]


async def test_a_worker_that_will_not_end_is_ended_when_its_grace_is_over() -> None:
    async with spawning("stubborn") as (spawner, ends):
        with ended(await spawner.spawn(2)) as worker:
            assert await heard(worker) == b"up"
            spawner.stop(worker.number, grace=0.1)
            assert (await ends.next()).signal == signal.SIGKILL


async def test_the_end_of_a_workers_channel_reaches_it_though_others_were_forked_after_it() -> None:
    async with spawning("waiting") as (spawner, ends):
        with ended(await spawner.spawn(2)) as first, ended(await spawner.spawn(2)) as second:
            assert (await heard(first), await heard(second)) == (b"up", b"up")
            first.channel.close()
            assert (await ends.next()).worker == first.number


async def test_a_fork_server_that_died_is_told_after_its_workers_and_can_be_started_again() -> None:
    async with spawning("waiting") as (spawner, ends):
        with ended(await spawner.spawn(2)) as worker:
            await heard(worker)
            os.kill(parent_of(worker.pid), signal.SIGKILL)
            assert (await ends.next()).signal == signal.SIGKILL
            await asyncio.wait_for(ends.lost.wait(), 60)
        with pytest.raises(ForkServerGone):
            await spawner.spawn(2)
        starting = asyncio.ensure_future(spawner.start())
        await asyncio.sleep(0)
        assert not spawner.is_ready
        with pytest.raises(ForkServerGone):  # it loads: whoever waits for an answer would take it for dead
            await spawner.spawn(2)
        await starting
        assert spawner.is_ready
        with ended(await spawner.spawn(2)) as worker:
            assert await heard(worker) == b"up"


async def test_a_real_worker_waits_for_its_first_order_and_ends_when_its_manager_is_gone() -> None:
    async with spawning(born.ENTRY) as (spawner, ends):
        with ended(await spawner.spawn(2)) as worker:
            worker.channel.close()
            assert (await ends.next()).code == WorkerExit.ORPHANED


async def test_a_real_worker_that_is_told_nonsense_ends_as_misconfigured() -> None:
    async with spawning(born.ENTRY) as (spawner, ends):
        with ended(await spawner.spawn(2)) as worker:
            worker.channel.sendall(struct.pack("!I", 2) + b"{}")
            assert (await ends.next()).code == WorkerExit.MISCONFIGURED


def test_a_fork_server_whose_manager_is_another_dies_at_once():
    command = [sys.executable, "-m", "streamward.runner.fork_server", "0", "1", "tests.support.workers:told"]
    ran = subprocess.run(command, timeout=60, check=False)
    assert ran.returncode == -signal.SIGKILL


def test_a_fork_server_refuses_to_fork_beside_a_thread(tmp_path: Path) -> None:
    (tmp_path / "busy.py").write_text(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    )
    told = ["0", str(os.getpid()), "tests.support.workers:told", "busy"]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), str(tmp_path)])
    ran = subprocess.run(
        [sys.executable, "-m", "streamward.runner.fork_server", *told],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 1
    assert "2 threads" in ran.stderr
