"""Newer versions of models: loaded beside the old ones, and used from one frame to the next (S4-41)."""

from collections.abc import Callable

from streamward.runner import facts
from streamward.runner.detectors import Detectors
from streamward.runtime.journal import Journal
from streamward.vision.detector import Detector
from streamward.vision.unusable import DetectorUnusable

EVERY = 5.0  # seconds between two looks

Swap = Callable[[Detector, Detector], None]  # has the cameras of the first looked at by the second


class Renewing:
    """A service runs its ticks."""

    def __init__(self, detectors: Detectors, swap: Swap, *, journal: Journal) -> None:
        self._detectors = detectors
        self._swap = swap
        self._journal = journal

    async def tick(self) -> float:
        """One look; a version that is of no use is told once, and the one before goes on."""
        for name in self._detectors.names:
            try:
                renewed = await self._detectors.renew(name)
            except DetectorUnusable as error:
                self._journal.record(facts.ModelNotSwapped(detector=name, error=error))
                continue
            if renewed is not None:
                self._swap(renewed.old, renewed.new)
                self._journal.record(facts.ModelSwapped(detector=name, version=renewed.version))
        return EVERY
