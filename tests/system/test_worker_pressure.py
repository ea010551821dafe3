"""What one bad camera, or a slow model, does to the others: nothing that they would not show without it."""

import asyncio
import signal
from collections.abc import Iterator
from statistics import median
from typing import Any

import pytest

from streamward.protocol.worker_link import WorkerExit
from tests.support.labs import Plant, WorkerProcess, bus_of, plant, until
from tests.support.ledgers import Ledger, read_ledger
from tests.support.neighbours import gaps_of, seconds_now
from tests.support.outages import SLOW, kept

BAD = "cam-1"
FAULTS: dict[str, dict[str, Any]] = {
    "FRAME_STALL": {"kind": "mute", "after": "play"},
    "TCP_REFUSED": {"kind": "reboot", "down_for": 2.0},
    "CORRUPT_STREAM": {"kind": "corrupt", "share": 0.3},
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with plant(tmp_path_factory.mktemp("lab"), "--cameras", "12", "--fps", "10") as made:
        yield made


def errors(worker: WorkerProcess, code: str) -> float:
    return worker.metric("stream_errors_total", camera_uuid=BAD, code=code)


async def test_eleven_cameras_show_no_gap_while_the_twelfth_fails_in_turn(lab: Plant) -> None:
    with lab.worker(lab.config(runner_id="r-bad", grace_timeout_s=60)) as worker:
        until(worker.is_ready)
        until(lambda: kept(worker) > 300)
        calm_until = seconds_now()
        for code, fault in FAULTS.items():
            made = kept(worker)
            lab.nvr.set(BAD, **fault)
            until(lambda named=code, before=made: errors(worker, named) and kept(worker) > before + 100)
            lab.nvr.clear()
        bad_until, made = seconds_now(), kept(worker)
        assert worker.ended(signal.SIGTERM) == WorkerExit.DRAINED
    async with bus_of(lab) as bus:
        ledger = await read_ledger(bus, Ledger("r-bad"), until=lambda ledger: not ledger.missing(made))
    calm = gaps_of(ledger, lab.cameras[1:], until=calm_until)
    troubled = gaps_of(ledger, lab.cameras[1:], since=calm_until, until=bad_until)
    assert calm.keys() == troubled.keys() == set(lab.cameras[1:])
    assert max(map(max, troubled.values())) < 3.0 + 3 * max(map(max, calm.values()))


async def test_with_a_slow_model_the_newest_frames_are_looked_at_and_none_grows_old(lab: Plant) -> None:
    (lab.data.parent / "slow.py").write_text(SLOW)
    config = lab.config(runner_id="r-slow", grace_timeout_s=60, detector="slow:detect")
    ages: list[float] = []
    with lab.worker(config) as worker:
        until(worker.is_ready)
        until(lambda: kept(worker) > 12)
        memory = worker.memory
        while kept(worker) < 50:
            ages += [worker.metric("last_frame_age_seconds", camera_uuid=camera) for camera in lab.cameras]
        assert worker.memory < memory + (32 << 20)
        dropped = [worker.metric("dropped_frames", camera_uuid=camera) for camera in lab.cameras]
        made = kept(worker)
        assert worker.ended(signal.SIGTERM) == WorkerExit.DRAINED
    async with bus_of(lab) as bus, asyncio.timeout(120):
        ledger = await read_ledger(bus, Ledger("r-slow"), until=lambda ledger: not ledger.missing(made))
    late = [event.latency.e2e_s for event in ledger.events]  # of frames that queued up it would grow and grow
    assert median(ages) < 3.0
    assert median(late) < 3.0
    assert max(*ages, *late) < 8.0
    assert min(dropped) > 0
    assert {event.camera_uuid for event in ledger.events} == set(lab.cameras)
