"""How long a Worker takes to be there: `python -m bench.spawning` forks it, and starts it anew, in turn."""

import asyncio
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from streamward.protocol.spawning import Exited
from streamward.runner.spawner import ForkSpec, Spawner
from streamward.runtime import process_tree

LOADED = (
    "av",
    "numpy",
    "streamward.runner.worker",
    "streamward.drivers.camera",
    "streamward.drivers.decoder",
    "streamward.drivers.detectors",
    "streamward.drivers.amqp",
    "streamward.drivers.bus",
)
PASSES = 8
FORKED_A_PASS = 5


async def measure() -> None:
    """Prints medians in milliseconds, and memory."""
    others: set[int] = set(process_tree.children())
    ends: asyncio.Queue[Exited] = asyncio.Queue()
    spec = ForkSpec(entry="tests.support.workers:waiting", preload=LOADED)
    spawner = Spawner(spec, on_exit=ends.put_nowait, on_lost=lambda: None, others=lambda: others)
    loaded = await spawner.start()
    forked: list[float] = []
    anew: list[float] = []
    memory = (0, 0)
    before = _time_spent(loaded.pid)
    for _ in range(PASSES):
        for _ in range(FORKED_A_PASS):
            seconds, private = await _forked(spawner, ends)
            forked.append(seconds)
        seconds, plain = _anew()
        anew.append(seconds)
        memory = (private, plain)
    spent = (_time_spent(loaded.pid) - before) / len(forked)
    await spawner.close()
    print(f"loaded once in {loaded.seconds:.2f} s; load average {os.getloadavg()[0]:.1f}")
    print(f"forked, until it runs      {_told(forked)}; {spent * 1e3:.1f} ms of the fork server's processor time")
    print(f"started anew, until loaded {_told(anew)}")
    print(f"private memory             forked {memory[0] / 1024:.1f} MiB, anew {memory[1] / 1024:.1f} MiB")
    print(f"ratio of the medians       {statistics.median(anew) / statistics.median(forked):.0f} ×")


async def _forked(spawner: Spawner, ends: "asyncio.Queue[Exited]") -> tuple[float, int]:
    began = time.perf_counter()
    worker = await spawner.spawn(2)
    worker.channel.setblocking(False)
    await asyncio.get_running_loop().sock_recv(worker.channel, 2)
    seconds = time.perf_counter() - began
    private = _private(worker.pid)
    worker.channel.close()
    worker.board.close()
    await ends.get()
    return seconds, private


def _anew() -> tuple[float, int]:
    code = f"import {', '.join(LOADED)}; print(flush=True); input()"
    began = time.perf_counter()
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        seconds = time.perf_counter() - began
        private = _private(process.pid)
        process.communicate(b"\n")
    return seconds, private


def _private(pid: int) -> int:
    """KiB that a process shares with nobody."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def _time_spent(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _told(seconds: list[float]) -> str:
    return f"{statistics.median(seconds) * 1e3:.1f} ms ({min(seconds) * 1e3:.1f} to {max(seconds) * 1e3:.1f})"


if __name__ == "__main__":
    asyncio.run(measure())
