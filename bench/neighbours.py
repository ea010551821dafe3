"""`python -m bench.neighbours [seconds]`: what one bad camera of twelve, in every way in turn, does to the others.

Real processes: control plane, simulated recorder, Worker. Each fault for so many seconds, after a calm time as long;
read from the events: the gaps between frames that were looked at. Last a Worker with a model that takes 300 ms.
"""

import asyncio
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from streamward.model.stream_error import StreamErrorCode
from tests.support.camera_faults import DIALED, PLAYED, Case
from tests.support.labs import Plant, WorkerProcess, bus_of, plant, until
from tests.support.ledgers import Ledger, read_ledger
from tests.support.neighbours import gaps_of
from tests.support.outages import SLOW, kept

BAD = "cam-1"
MAX_FPS = 6.0
LONG = 2 / MAX_FPS  # seconds
BACK_WITHIN = 6.0  # seconds for a camera to stream again before the next fault
USER, PASSWORD = "viewer", "simulated"
# One refused login after the other would park the camera for a quarter of an hour: this one is the last.
PARKS = [case for case in DIALED if case.code is StreamErrorCode.RTSP_AUTH_FAILED][:1]
REBOOT = {"kind": "reboot", "down_for": 0.1}  # so that it is dialed again

Window = tuple[float, float]


def main() -> None:
    """Prints one line for each fault."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 6.0
    with tempfile.TemporaryDirectory() as folder:
        secret = Path(folder) / "password"
        secret.write_text(PASSWORD)
        login = ("--user", USER, "--password-file", str(secret))
        with plant(Path(folder), "--cameras", "12", "--fps", "10", *login) as lab:
            asyncio.run(_faults(lab, seconds))
            asyncio.run(_slow(lab))


def _config(lab: Plant, runner_id: str, **changes: Any) -> dict[str, Any]:
    sources = [lab.source(camera, username=USER, password=PASSWORD) for camera in lab.cameras]
    return lab.config(runner_id=runner_id, sources=sources, max_fps=MAX_FPS, grace_timeout_s=60, **changes)


async def _faults(lab: Plant, seconds: float) -> None:
    with lab.worker(_config(lab, "bad")) as worker:
        until(worker.is_ready)
        dialed = [case for case in DIALED if case.code is not StreamErrorCode.RTSP_AUTH_FAILED]
        cases = (*PLAYED, *dialed, *PARKS)
        windows = [await _one(lab, worker, case, seconds) for case in cases]
        made = kept(worker)
        worker.ended(signal.SIGTERM)
    async with bus_of(lab) as bus:
        ledger = await read_ledger(bus, Ledger("bad"), until=lambda ledger: not ledger.missing(made))
    gaps = [[_gaps(lab, ledger, window) for window in each] for each in windows]
    print("| fault | before it: longer than 2/max_fps, longest | during it |\n|---|---|---|")
    for case, (calm, bad) in zip(cases, gaps, strict=True):
        print(f"| {case.name} | {_shown(calm)} | {_shown(bad)} |")
    calm, bad = (sorted(gap for each in gaps for gap in each[place]) for place in (0, 1))
    print(f"| all | {_shown(calm)} | {_shown(bad)} |", flush=True)


async def _one(lab: Plant, worker: WorkerProcess, case: Case, seconds: float) -> tuple[Window, Window]:
    """A calm time, and a fault for as long; then until the camera streams again."""
    began = time.time()
    await asyncio.sleep(seconds)
    since = time.time()
    lab.nvr.set(BAD, **msgspec.to_builtins(case.fault))
    if case in DIALED:
        lab.nvr.set(BAD, **REBOOT)
    await asyncio.sleep(seconds)
    over = time.time()
    lab.nvr.clear()
    if case not in PARKS:
        until(lambda: time.time() > over + BACK_WITHIN or worker.metric("stream_up", camera_uuid=BAD))
    return (began, since), (since, over)


def _gaps(lab: Plant, ledger: Ledger, window: Window) -> list[float]:
    since, over = window
    return sorted(gap for each in gaps_of(ledger, lab.cameras[1:], since=since, until=over).values() for gap in each)


def _shown(gaps: list[float]) -> str:
    long = sum(gap > LONG for gap in gaps)
    return f"{long} of {len(gaps)} ({100 * long / len(gaps):.1f} %), {gaps[-1]:.2f} s"


async def _slow(lab: Plant) -> None:
    (lab.data.parent / "slow.py").write_text(SLOW)
    with lab.worker(_config(lab, "slow", detector="slow:detect")) as worker:
        until(lambda: kept(worker) > 24)
        memory, ages = worker.memory, []
        for _ in range(60):
            ages.append(max(worker.metric("last_frame_age_seconds", camera_uuid=camera) for camera in lab.cameras))
            await asyncio.sleep(0.5)
        made, after = kept(worker), worker.memory
        worker.ended(signal.SIGTERM)
    async with bus_of(lab) as bus:
        ledger = await read_ledger(bus, Ledger("slow"), until=lambda ledger: not ledger.missing(made))
    late = sorted(event.latency.e2e_s for event in ledger.events)
    print(f"a model of 300 ms: oldest frame of any camera {max(ages[:30]):.2f} s in the first half", end=", ")
    print(f"{max(ages[30:]):.2f} s in the second; from arrival to event p50 {late[len(late) // 2]:.2f}", end=", ")
    print(f"most {late[-1]:.2f} s; memory {memory >> 20} → {after >> 20} MiB")


if __name__ == "__main__":
    main()
