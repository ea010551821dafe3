"""`python -m bench.neighbours`: what one bad camera in a shard of twelve costs the other eleven.

A recorder process, a Worker in this one. Each fault in turn is set for one camera for a while; the longest time between
two analysed frames of any other camera is held against the same without a fault, before and after.
"""

import asyncio
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from streamward.model.ids import CameraId
from streamward.vision.watchdog import Seen, ShownFrame, StatusUpdate
from tests.support.camera_faults import PLAYED, Case
from tests.support.nvr import NvrProcess, recorder
from tests.support.plants import CameraPlant, at

CAMERAS = 12
BAD = "cam-1"
MAX_FPS = 6.0
EACH_FOR = 12.0  # seconds
SETTLE_FOR = 3.0  # seconds until a camera that was bad is well again


@dataclass
class Gaps:
    """A watchdog that knows the longest time between two analysed frames of each camera."""

    last: dict[CameraId, float] = field(default_factory=dict)
    longest: defaultdict[CameraId, float] = field(default_factory=lambda: defaultdict(float))

    def on_frame_decoded(self, camera_id: CameraId, arrived_at: float) -> None: ...
    def on_model_inference_started(self, shown: ShownFrame) -> None: ...
    def on_status_update(self, update: StatusUpdate) -> None: ...

    def on_model_prediction_ready(self, seen: Seen) -> None:
        camera_id, at_ = seen.camera_id, seen.arrived_at
        self.longest[camera_id] = max(self.longest[camera_id], at_ - self.last.get(camera_id, at_))
        self.last[camera_id] = at_


async def main() -> None:
    """Prints the longest gap of the eleven under each fault of the twelfth."""
    print(f"goal: {2 / MAX_FPS:.2f} s, or as without a fault\n")
    print(f"| fault of one camera | longest gap of the other {CAMERAS - 1} | of the middle one |")
    print("|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, recorder(Path(folder) / "data", "--cameras", str(CAMERAS)) as nvr:
        gaps = Gaps()
        cameras = {f"cam-{number}": at(url) for number, url in enumerate(nvr.urls, start=1)}
        async with CameraPlant(cameras, max_fps=MAX_FPS, watchdogs=[gaps]) as plant:
            await plant.streaming()
            await _measure(nvr, gaps, None)
            for case in PLAYED:
                await _measure(nvr, gaps, case)
            await _measure(nvr, gaps, None)


async def _measure(nvr: NvrProcess, gaps: Gaps, case: Case | None) -> None:
    await asyncio.sleep(SETTLE_FOR)
    gaps.longest.clear()
    if case is not None:
        await asyncio.to_thread(nvr.set, BAD, **msgspec.to_builtins(case.fault))
    await asyncio.sleep(EACH_FOR)
    others = sorted(gap for camera_id, gap in gaps.longest.items() if camera_id != BAD)
    name = "none" if case is None else case.name
    print(f"| {name} | {others[-1]:.2f} s | {others[len(others) // 2]:.2f} s |", flush=True)
    await asyncio.to_thread(nvr.clear)


if __name__ == "__main__":
    asyncio.run(main())
