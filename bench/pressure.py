"""Following cameras on a busy host: `python -m bench.pressure [N]`.

It starts N processes that compute without rest, and ends them. Measured beside them, in turn: our pipeline as it is and
with what could give it a larger part of the processors, and the plain PyAV loop with a thread for each camera. The
scheduler shares processors between the threads of a group and between groups: a group is a cgroup (systemd, containers)
or, without cgroups, a session (`sched_autogroup_enabled`).

    ours          in the session of the busy processes, a decoding thread for each processor
    threaded      as ours, a decoding thread for each camera
    nice          as ours, with a nice value of -10; needs a privilege
    session       as ours, in a session of its own, as each Worker of a runner is
    cgroup        as ours, in a cgroup of its own with the weight of eight processes; needs a privilege
    pyav          the plain loop, in the session of the busy processes
    pyav+session  the plain loop, in a session of its own

The simulated NVR has a nice value of -15 where that is permitted: what it does not send, no reader can decode.
"""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.readers import CAMERAS, FPS
from streamward.runtime import process_tree
from tests.support.nvr import recorder
from tests.support.processes import NeverReady, end

SECONDS = 8
PASSES = 3
PER_PROCESSOR, MOST = 6, 64  # busy processes
_720P = ("--width", "1280", "--height", "720", "--fps", str(FPS), "--cameras", str(CAMERAS))
_NICE, _NVR_NICE = -10, -15
_CGROUPS = (  # version 1 and 2: where, the file of the weight, the weight of eight processes
    (Path("/sys/fs/cgroup/cpu"), "cpu.shares", 8 * 1024),
    (Path("/sys/fs/cgroup"), "cpu.weight", 8 * 100),
)


@dataclass(frozen=True, slots=True)
class Way:
    """One way to follow cameras beside the load."""

    name: str
    reader: str = "ours"  # of `bench.reader`
    nice: int = 0
    has_session: bool = False
    has_cgroup: bool = False


@dataclass(frozen=True, slots=True)
class Share:
    """What one way got."""

    worst: float  # frames a second that were scaled, of the camera with the fewest
    mean: float
    decoded: float  # frames a second and camera
    cores: float

    def __str__(self) -> str:
        return (
            f"worst {self.worst:4.1f} fps, mean {self.mean:4.1f} fps, {self.decoded:4.1f} decoded/s, "
            f"{self.cores:.2f} cores"
        )


WAYS = (
    Way("ours"),
    Way("threaded", reader="threaded"),
    Way("nice", nice=_NICE),
    Way("session", has_session=True),
    Way("cgroup", has_cgroup=True),
    Way("pyav", reader="pyav"),
    Way("pyav+session", reader="pyav", has_session=True),
)


def main(*arguments: str) -> int:
    """Prints each way's share, and of each the ratio to the plain loop of the same run."""
    processors = os.cpu_count() or 1
    count = int(arguments[0]) if arguments else PER_PROCESSOR * processors
    if not 0 <= count <= MOST:
        print(f"bench.pressure: 0 to {MOST} busy processes", file=sys.stderr)
        return 2
    autogroup = Path("/proc/sys/kernel/sched_autogroup_enabled")
    has_groups = autogroup.exists() and autogroup.read_text().strip() == "1"
    print(
        f"{count} busy processes on {processors} processors, {CAMERAS} cameras of 720p{FPS}, load of others before "
        f"{os.getloadavg()[0]:.1f}, sessions are scheduled as groups: {'yes' if has_groups else 'no'}",
        flush=True,
    )
    try:
        shares = _measured([way for way in WAYS if _is_permitted(way)], count)
    except (NeverReady, subprocess.SubprocessError) as error:
        print(f"bench.pressure: not measured ({error}), load {os.getloadavg()[0]:.1f}", file=sys.stderr)
        return 1
    plain = statistics.median(each.worst for each in shares["pyav"])
    for name, found in shares.items():
        worst = statistics.median(each.worst for each in found)
        ratio = f"{worst / plain:.2f} × the plain loop" if plain else "the plain loop had none"
        print(f"{name:<14}worst camera {worst:.1f} fps, {ratio}", flush=True)
    return 0


def _measured(ways: Sequence[Way], count: int) -> dict[str, list[Share]]:
    shares: dict[str, list[Share]] = {way.name: [] for way in ways}
    with tempfile.TemporaryDirectory() as folder, recorder(Path(folder) / "data", *_720P) as nvr, busy(count):
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, nvr.process.pid, _NVR_NICE)
        for number in range(PASSES):
            for way in ways if number % 2 == 0 else reversed(ways):
                shares[way.name].append(share := _share(way, nvr.urls))
                print(f"pass {number + 1}: {way.name:<14}{share}, load {os.getloadavg()[0]:.1f}", flush=True)
    return shares


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """Processes that compute without rest, in our session; they die with us."""
    command = [sys.executable, "-I", process_tree.__file__, str(os.getpid()), sys.executable, "-c", "while True: pass"]
    started = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for each in started:
            each.kill()
        for each in started:
            each.wait()


def _share(way: Way, urls: list[str]) -> Share:
    command = [sys.executable, "-m", "bench.reader", way.reader, str(SECONDS), *urls]
    with contextlib.ExitStack() as opened:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=way.has_session)
        opened.callback(end, process)
        if way.nice:
            os.setpriority(os.PRIO_PROCESS, process.pid, way.nice)  # its threads are started later, and inherit it
        if way.has_cgroup:
            group = _cgroup()
            opened.callback(_remove, process, group)
            (group / "cgroup.procs").write_text(str(process.pid))
        out, _ = process.communicate(timeout=300)
    if process.returncode:
        raise subprocess.SubprocessError(f"{way.name} ended with {process.returncode}")
    found = json.loads(out.splitlines()[-1])
    seconds, cameras = found["seconds"], len(urls)
    return Share(
        worst=min(found["looked"]) / seconds,
        mean=sum(found["looked"]) / seconds / cameras,
        decoded=sum(found["frames"]) / seconds / cameras,
        cores=found["cpu_s"] / seconds,
    )


def _is_permitted(way: Way) -> bool:
    """Whether this user and this host allow it; what they do not is left out, and said."""
    try:
        if way.nice:
            with subprocess.Popen([sys.executable, "-c", ""]) as process:
                os.setpriority(os.PRIO_PROCESS, process.pid, way.nice)
        if way.has_cgroup:
            _cgroup().rmdir()
    except OSError as error:
        print(f"{way.name:<14}left out: {error.strerror}")
        return False
    return True


def _cgroup() -> Path:
    """A fresh cgroup with the weight of eight processes."""
    root, weight, value = next(each for each in _CGROUPS if (each[0] / "cgroup.procs").exists())
    group = root / f"streamward-bench-{os.getpid()}"
    group.mkdir(exist_ok=True)
    try:
        (group / weight).write_text(str(value))
    except OSError:
        group.rmdir()
        raise
    return group


def _remove(process: "subprocess.Popen[bytes]", group: Path) -> None:
    process.kill()
    process.wait()
    group.rmdir()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
