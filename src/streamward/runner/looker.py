"""One detector's thread: its cameras take turns, and nobody else enters it.

    turn ─→ begin ─→ detector ─→ end: does its answer still count?
              └── lasts too long: given up (`vision.patience`)

A detector is anybody's function, and may never come back. A thread cannot be ended from outside, and few detectors are
made to be entered twice; so each has a thread of its own, and while one is stuck the others go on.
"""

import threading
from collections.abc import Callable, Collection
from dataclasses import replace
from queue import SimpleQueue
from typing import Generic, TypeVar

from streamward.model.ids import CameraId
from streamward.vision.detector import Detector
from streamward.vision.patience import Eye, Look, allowed

T = TypeVar("T")


class Looker(Generic[T]):
    """One detector's; `begin` and `end` are called in its thread, the rest anywhere."""

    def __init__(self, work: Callable[["Looker[T]", T], None]) -> None:
        self._work = work
        self._turns: SimpleQueue[T | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._is_left = False
        self._look: Look | None = None
        self._detector: Detector | None = None  # of which the rest is known
        self._slowest: float | None = None
        self._answered: set[CameraId] = set()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def stuck(self) -> Look | None:
        """The look that was given up, until it comes back."""
        look = self._look
        return look if look is not None and look.is_given_up else None

    def eye(self, cameras: Collection[CameraId]) -> Eye:
        """How it stands, with those cameras."""
        with self._lock:
            return Eye(cameras=frozenset(cameras), answered=frozenset(self._answered), look=self._look)

    def turn(self, whose: T) -> None:
        """Somebody is to be looked at."""
        self._turns.put(whose)

    def begin(self, camera_id: CameraId, detector: Detector) -> None:
        """The detector is entered, or another version of it: how that one does is not known yet."""
        with self._lock:
            if detector is not self._detector:
                self._detector, self._slowest, self._answered = detector, None, set()
            self._look = Look(camera_id=camera_id, lasts=0.0, allowed=allowed(self._slowest))

    def end(self, took: float) -> bool:
        """It came back after so many seconds; returns whether that is soon enough."""
        with self._lock:
            look, self._look = self._look, None
            self._slowest = max(took, self._slowest or 0.0)
            if look is not None:
                self._answered.add(look.camera_id)
            return look is not None and not look.is_given_up

    def waited(self, seconds: float) -> Look | None:
        """So much time has passed; returns the look that is given up by that."""
        with self._lock:
            if self._look is None:
                return None
            was_stuck = self._look.is_given_up
            self._look = replace(self._look, lasts=self._look.lasts + seconds)
            return self._look if self._look.is_given_up and not was_stuck else None

    def leave(self) -> bool:
        """If it is stuck, it takes no more turns when it comes back; returns whether it is."""
        with self._lock:
            self._is_left = self.stuck is not None
            return self._is_left

    def close(self, within: float) -> None:
        """No more turns; waits until it has ended, but one that is stuck is left behind."""
        self._turns.put(None)
        if self.stuck is None:
            self._thread.join(within)

    def _run(self) -> None:
        while not self._is_left and (whose := self._turns.get()) is not None:
            self._work(self, whose)
