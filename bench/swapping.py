"""What a swap of a model costs the cameras that are looked at meanwhile: `python -m bench.swapping`.

A Worker as a process, EfficientDet-Lite0 as `scripts/material` fetched it, four cameras. The same model is put in its
own place under a higher number; what was looked at is judged over ten seconds without a swap and over the swap.
"""

import asyncio
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from streamward.drivers.detectors.bundle import public_key_in
from streamward.protocol import codec
from streamward.protocol.events import BATCHER, DetectionEvent
from tests.support.labs import Plant, WorkerProcess, bus_of, plant, until
from tests.support.material import MODELS
from tests.support.processes import run

MODEL = MODELS / "efficientdet-lite0.tflite"
CAMERAS, MAX_FPS = 4, 6.0
QUIET = 10.0  # seconds


@dataclass(frozen=True)
class Window:
    """Some seconds, by when pictures arrived."""

    name: str
    begins: datetime
    ends: datetime
    dropped: float  # frames that there was no time for


def main() -> None:
    """Prints a line for each window."""
    if not MODEL.exists():
        print("swap of a model: EfficientDet-Lite0 is missing, scripts/material fetches it")
        return
    with tempfile.TemporaryDirectory() as folder:
        nvr = ("--cameras", str(CAMERAS), "--width", "640", "--height", "360", "--fps", "25")
        with plant(Path(folder), *nvr) as lab:
            asyncio.run(_measured(lab))


async def _measured(lab: Plant) -> None:
    public = _signed(lab)
    _put(lab, 1)
    models = {"folder": str(lab.data / "models"), "key": public_key_in(public)}
    async with bus_of(lab) as bus:
        with lab.worker(lab.config(detector="lite", models=models, max_fps=MAX_FPS)) as worker:
            until(worker.is_ready)
            windows = list(_windows(lab, worker))
        consumer, events = bus.consume(BATCHER.name, prefetch=1000), list[DetectionEvent]()
        while some := await consumer.take(at_most=1000, within=2.0):
            await consumer.ack(some)
            events += [codec.decode(each.message.body, DetectionEvent) for each in some]
        await consumer.close()
    for window in windows:
        _tell(window, events)


def _windows(lab: Plant, worker: WorkerProcess) -> Iterator[Window]:
    began = _now()
    until(lambda: (_now() - began).total_seconds() > QUIET / 2)  # what loading it for the first time has cost
    for name in ("without a swap", "over a swap"):
        begins, dropped = _now(), _dropped(lab, worker)
        if name == "over a swap":
            _put(lab, 2)
            until(lambda: worker.metric("model_swaps_total", result="used") == 1)
        until(lambda begins=begins: (_now() - begins).total_seconds() > QUIET)
        yield Window(name, begins, _now(), _dropped(lab, worker) - dropped)


def _now() -> datetime:
    return datetime.now().astimezone()


def _dropped(lab: Plant, worker: WorkerProcess) -> float:
    return sum(worker.metric("dropped_frames", camera_uuid=camera) for camera in lab.cameras)


def _signed(lab: Plant) -> Path:
    """Two versions, before anything is measured; returns the public key."""
    key = lab.data.parent / "key"
    run("models", "new-key", str(key), data=lab.data)
    for version in (1, 2):
        named = ("--name", "lite", "--version", str(version), "--output", str(lab.data.parent / f"lite.{version}"))
        done = run("models", "sign", str(MODEL), "--key", str(key), *named, data=lab.data)
        assert done.returncode == 0, done.stderr
    return Path(f"{key}.pub")


def _put(lab: Plant, version: int) -> None:
    """In its place, all at once."""
    folder = lab.data / "models"
    folder.mkdir(mode=0o700, exist_ok=True)
    (lab.data.parent / f"lite.{version}").replace(folder / "lite.bundle")


def _tell(window: Window, events: list[DetectionEvent]) -> None:
    within = [event for event in events if window.begins <= event.ts <= window.ends]
    seconds = (window.ends - window.begins).total_seconds()
    gaps = [gap for camera in {event.camera_uuid for event in within} for gap in _gaps(within, camera)]
    looks = sorted(event.latency.inference_s for event in within)
    middle, most = looks[len(looks) // 2] * 1e3, looks[-1] * 1e3
    print(
        f"{window.name}: {len(within) / seconds / CAMERAS:.2f} looks a second and camera over {seconds:.0f} s, "
        f"{window.dropped:.0f} frames dropped, longest between two looks of a camera {max(gaps) * 1e3:.0f} ms "
        f"(wanted: {1e3 / MAX_FPS:.0f}), a look took {middle:.0f} ms, at most {most:.0f}",
        flush=True,
    )


def _gaps(events: list[DetectionEvent], camera: str) -> list[float]:
    moments = sorted(event.ts for event in events if event.camera_uuid == camera)
    return [(after - before).total_seconds() for before, after in pairwise(moments)]


if __name__ == "__main__":
    main()
