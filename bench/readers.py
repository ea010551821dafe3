"""Following cameras: our reader, decoder and pipeline against the plain loops, on the same simulated cameras in turn.

The machine may be busy with other things, and then not every picture is decoded in time: what a camera costs is
reckoned from processor time for each picture, at the camera's 25 a second.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.support.nvr import recorder
from tests.support.processes import NeverReady

CAMERAS = 16
FPS = 25
SECONDS = 10
PASSES = 3
WAYS = ("ours", "sampled", "pyav", "opencv", "reading", "demuxing")
STILL_WAYS = ("ours", "adaptive")
_720P = ("--width", "1280", "--height", "720", "--fps", str(FPS), "--cameras", str(CAMERAS))
_STILL = ("--still", "90", "--key-every", "2", "--scenes", "1")


@dataclass(frozen=True, slots=True)
class Cost:
    """What one way took in one pass."""

    share: float  # of one core, for one camera
    worst: float  # pictures a second that were scaled, of the camera with the fewest
    memory: float  # MB for each camera
    decoded: float  # pictures a second and camera


class NotMeasured(Exception):
    """A way that gave no figure; the sentence says why."""


def main() -> int:
    """Prints each figure beside the goal that it is held to; a host too busy to measure on is one sentence."""
    try:
        _print_figures()
    except (NotMeasured, NeverReady) as error:
        print(f"bench.readers: {error}, at a load of {os.getloadavg()[0]:.1f}", file=sys.stderr)
        return 1
    return 0


def _print_figures() -> None:
    middle = _measured([way for way in WAYS if way != "opencv" or find_spec("cv2")], passes=PASSES)
    still = _measured(STILL_WAYS, *_STILL, passes=1)
    _tell("ours against the plain PyAV loop", _ratio(middle, "ours", "pyav"), "≤ 1.0 ×")
    if "opencv" in middle:
        _tell("ours against the OpenCV loop", _ratio(middle, "ours", "opencv"), "< 1.0 ×")
    _tell("reading against PyAV's demuxing", _ratio(middle, "reading", "demuxing"), "≤ 0.5 ×")
    _tell("worst camera's pictures a second", f"{middle['ours'].worst:.1f}", "≥ 5.9")
    _tell("the same, if only what is needed is decoded", f"{middle['sampled'].worst:.1f}", "≥ 5.9")
    _tell("decoding only what is needed", _ratio(middle, "sampled", "ours"), "≤ 1.0 ×")
    _tell("a still scene, adaptive", _ratio(still, "adaptive", "ours"), "≤ 0.25 ×")
    _tell("memory for each camera", f"{middle['ours'].memory:.1f} MB", "≤ 12 MB")


def _measured(ways: Sequence[str], *options: str, passes: int) -> dict[str, Cost]:
    """What each way costs at the same cameras."""
    costs: dict[str, list[Cost]] = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as folder, recorder(Path(folder) / "data", *_720P, *options) as nvr:
        for number in range(passes):
            for way in ways if number % 2 == 0 else reversed(ways):
                costs[way].append(_cost(way, nvr.urls))
                print(f"pass {number + 1}: {way:<10}{_shown(costs[way][-1])}", flush=True)
    middle = {way: _middle(found) for way, found in costs.items()}
    for way, cost in middle.items():
        print(f"{way:<46}{_shown(cost)}", flush=True)
    return middle


def _cost(way: str, urls: list[str]) -> Cost:
    environment = os.environ | {"OPENCV_FFMPEG_CAPTURE_OPTIONS": "rtsp_transport;tcp"}
    command = [sys.executable, "-m", "bench.reader", way, str(SECONDS), *urls]
    try:
        ended = subprocess.run(  # in a session of its own, as a Worker is
            command,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            timeout=300,
            check=True,
            start_new_session=True,
        )
    except subprocess.SubprocessError as error:
        raise NotMeasured(f"{way} gave no figures ({type(error).__name__})") from error
    found = json.loads(ended.stdout.splitlines()[-1])
    if not min(found["frames"]):
        raise NotMeasured(f"{way} decoded no frame of a camera in {SECONDS} s")
    seconds, cameras = found["seconds"], len(urls)
    return Cost(
        share=found["cpu_s"] / max(1, sum(found["frames"])) * FPS,
        worst=min(found["looked"]) / seconds,
        memory=found["memory"] / 1024 / cameras,
        decoded=sum(found["frames"]) / seconds / cameras,
    )


def _middle(costs: list[Cost]) -> Cost:
    return Cost(
        share=statistics.median(each.share for each in costs),
        worst=statistics.median(each.worst for each in costs),
        memory=statistics.median(each.memory for each in costs),
        decoded=statistics.median(each.decoded for each in costs),
    )


def _ratio(costs: dict[str, Cost], one: str, other: str) -> str:
    return f"{costs[one].share / costs[other].share:.2f} ×"


def _shown(cost: Cost) -> str:
    return (
        f"{cost.share:.2%} of a core per camera, worst {cost.worst:.1f} fps, {cost.memory:.1f} MB per camera, "
        f"{cost.decoded:.1f} pictures/s"
    )


def _tell(what: str, figure: str, goal: str) -> None:
    print(f"{what:<46}{figure:<34}goal {goal}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
