"""What keeping the last seconds of 16 cameras costs, in memory and in a folder: `python -m bench.rings`.

Each way in a process of its own: memory that was given back by one would be the next one's.
"""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from streamward.drivers.clip_folder import ClipFolder
from streamward.vision.lane import ArrivedUnit
from streamward.vision.ring import Memory, Ring
from tests.support.shelves import settled

CAMERAS, FPS, SECONDS = 16, 25, 60
RATE = 1_000_000  # bits a second: 30 seconds just fit
MOST = 4 << 20  # bytes


def main() -> None:
    """Prints a line for each way."""
    for way in ("memory", "folder"):
        done = subprocess.run([sys.executable, "-m", "bench.rings", way], check=True, capture_output=True, text=True)
        print(done.stdout, end="", flush=True)


def measure(way: str) -> None:
    """Fills the rings, second by second, as an event loop would; it waits for the disk only between two seconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = ClipFolder(Path(name) / "clips", tell=print)
        shelves = [Memory() if way == "memory" else folder.shelf(MOST) for _ in range(CAMERAS)]
        rings = [Ring(seconds=30, most_bytes=MOST, shelf=shelf) for shelf in shelves]
        before, took = _resident(), []
        for number in range(FPS * SECONDS):
            for ring in rings:
                unit = _unit(number)
                began = time.perf_counter()
                ring.add(unit)
                took.append(time.perf_counter() - began)
            if number % FPS == 0:
                settled(folder)
        grown, took = _resident() - before, sorted(took)
        print(
            f"16 rings in {way:6}: {grown / CAMERAS / 1024:.2f} MiB a camera, a unit is added in "
            f"{sum(took) / len(took) * 1e6:.1f} µs (p99.9 {took[-len(took) // 1000] * 1e6:.0f}, "
            f"at most {took[-1] * 1e6:.0f}), {folder.lost} groups lost"
        )
        for ring in rings:
            ring.close()
        settled(folder)


def _unit(number: int) -> ArrivedUnit:
    """A keyframe is as large as ten others."""
    is_keyframe, plain = number % FPS == 0, RATE // 8 // (FPS + 9)
    content = Random(number).randbytes(plain * (10 if is_keyframe else 1))
    return ArrivedUnit(content=content, is_keyframe=is_keyframe, arrived_at=number / FPS)


def _resident() -> int:
    """KiB."""
    return int(re.findall(r"VmRSS:\s+(\d+) kB", Path("/proc/self/status").read_text())[0])


if __name__ == "__main__":
    measure(sys.argv[1]) if len(sys.argv) > 1 else main()
