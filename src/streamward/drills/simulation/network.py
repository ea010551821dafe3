"""A network that loses, delays, repeats, reorders and cuts, one way or both."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from streamward.drills.simulation.events import EventQueue


@dataclass(slots=True)
class Weather:
    """How bad it is now."""

    loss: float = 0.0
    repeats: float = 0.0
    slow: float = 0.0  # share of messages that take up to `slowest` seconds
    slowest: float = 0.0


@dataclass(slots=True)
class Link:
    """One runner's way to the control plane and back."""

    up_cut: bool = False
    down_cut: bool = False
    up_delay: float = 0.0  # seconds that each message takes besides
    down_delay: float = 0.0

    @property
    def is_good(self) -> bool:
        return not (self.up_cut or self.down_cut or self.up_delay or self.down_delay)

    def mend(self) -> None:
        self.up_cut = self.down_cut = False
        self.up_delay = self.down_delay = 0.0


class Network:
    """Carries messages, or does not."""

    def __init__(self, queue: EventQueue, rng: random.Random) -> None:
        self._queue = queue
        self._rng = rng
        self.weather = Weather()
        self._era = 0  # what was sent before a heal and is still under way is lost

    def clear(self) -> None:
        """Fair weather from now on; what is still under way is lost."""
        self.weather = Weather()
        self._era += 1

    def send(self, cut: Callable[[], bool], deliver: Callable[..., None], *args: Any, delay: float = 0.0) -> None:
        """Sends one message over a way that may be cut when it leaves or when it arrives."""
        copies = 2 if self._rng.random() < self.weather.repeats else 1
        for _ in range(copies):
            if cut() or self._rng.random() < self.weather.loss:
                continue
            self._queue.after(delay + self._delay(), self._arrive, self._era, cut, deliver, args)

    def _arrive(self, era: int, cut: Callable[[], bool], deliver: Callable[..., None], args: tuple[Any, ...]) -> None:
        if era == self._era and not cut():
            deliver(*args)

    def _delay(self) -> float:
        if self._rng.random() < self.weather.slow:
            return self._rng.uniform(0.02, self.weather.slowest)
        return self._rng.uniform(0.001, 0.02)
