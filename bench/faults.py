"""`python -m bench.faults`: by which code each fault of a camera is told, and after how long.

Every fault has a camera of its own on one simulated recorder and a Worker of its own; all run at once in one process.
"""

import asyncio

from streamward.nvr.faults import Reboot, Refuse
from streamward.nvr.server import Nvr
from streamward.runtime.clock import SystemClock
from tests.support.camera_faults import DIALED, PLAYED, Case, a_plant_for, a_recorder_of
from tests.support.plants import CameraPlant, at
from tests.support.recorders import ADA

RUN_FOR = 6.0  # seconds before something goes wrong with a camera that streams
AWAY_FOR = 20.0  # seconds
LOOK_FOR = 35.0  # seconds after that


async def main() -> None:
    """Prints one line for each fault, set before the dial and then while pictures come."""
    for cases, run_for in ((DIALED, None), (PLAYED, RUN_FOR)):
        print(f"\n| set {'while it streams' if run_for else 'before the dial'} | told as | after | in the end |")
        print("|---|---|---|---|")
        async with a_recorder_of(len(cases)) as nvr:
            each = (_line(nvr, f"cam-{number}", case, run_for) for number, case in enumerate(cases))
            for line in await asyncio.gather(*each):
                print(line)
    print(f"\n12 cameras of a recorder that was away, STREAMING after: {await _back_after()}")


async def _back_after() -> str:
    """Seconds from when a recorder is back until its first, middle and last camera stream."""
    clock = SystemClock()
    async with a_recorder_of(12) as nvr, a_plant_for(nvr) as plant:
        await plant.streaming()
        await nvr.set(Refuse())
        await nvr.set(Reboot(down_for=0.1))  # cuts who is connected
        await asyncio.sleep(AWAY_FOR)
        await nvr.clear()
        since = clock.boot()
        await plant.streaming(since=since)
        first = {
            name: min(
                told.at for told in plant.told if told.at > since and told.camera == name and told.state == "STREAMING"
            )
            for name in nvr.recorder.cameras
        }
    took = sorted(at - since for at in first.values())
    return ", ".join(f"{took[place]:.2f} s" for place in (0, 6, 9, 11)) + " (first, middle, tenth, last)"


async def _line(nvr: Nvr, name: str, case: Case, run_for: float | None) -> str:
    plant = CameraPlant({name: at(nvr.url(name), credential=ADA)}, max_fps=2.0)
    clock = SystemClock()
    if run_for is None:
        await nvr.set(case.fault, camera=name)
    since = clock.boot()
    async with plant:
        if run_for is not None:
            await plant.streaming()
            await asyncio.sleep(run_for)
            since = clock.boot()
            await nvr.set(case.fault, camera=name)
        await asyncio.sleep(LOOK_FOR)
        (condition,) = plant.worker.conditions.values()
    errors = plant.errors(name, since=since)
    told = f"{errors[0].code}: {errors[0].detail} | {errors[0].at - since:.2f} s" if errors else "– | –"
    return f"| {case.name} | {told} | {condition.state} {condition.substate or ''} |"


if __name__ == "__main__":
    asyncio.run(main())
