"""One timer for all cameras: whose picture is due is taken from a heap, and cameras are spread over the interval.

Guaranteed: every camera has the pace of its frame rate in the long run, and no picture is left out. Not guaranteed:
that a picture is on time; after a standstill of more than `LONGEST_LAG` cameras go on from now.
"""

import asyncio
import heapq
from collections.abc import Callable, Iterable

from streamward.nvr.camera import Camera

SLOT = 0.005  # seconds between two groups of cameras
EARLY = 0.001  # seconds: what is due so soon is done at once
LONGEST_LAG = 1.0


class Pacer:
    """Calls back for each picture of each camera."""

    def __init__(self, cameras: Iterable[Camera], shoot: Callable[[Camera, float], None]) -> None:
        self._cameras = list(cameras)
        self._shoot = shoot
        self._due: list[tuple[float, int, Camera]] = []
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """From now on pictures are taken."""
        now = asyncio.get_running_loop().time()
        self._due = [
            (now + place % max(1, int(camera.period / SLOT)) * SLOT, place, camera)
            for place, camera in enumerate(self._cameras)
        ]
        heapq.heapify(self._due)
        self._run()

    def stop(self) -> None:
        """No picture is taken any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _run(self) -> None:
        loop, due = asyncio.get_running_loop(), self._due
        now = loop.time()
        for _ in range(len(due)):  # late ones come again in the next turn: sockets have to be looked at in between
            at, place, camera = due[0]
            if at > now + EARLY:
                break
            self._shoot(camera, now)
            following = at + camera.period
            heapq.heapreplace(due, (following if following > now - LONGEST_LAG else now, place, camera))
        self._timer = loop.call_at(due[0][0], self._run) if due else None
