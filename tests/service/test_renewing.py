"""Newer versions of detectors, while cameras are looked at by older ones."""

from collections.abc import AsyncIterator

import pytest

from streamward.drivers.detectors.colour import ColourDetector
from streamward.runner import facts
from streamward.runner.detectors import Detectors
from streamward.runner.renewing import EVERY, Renewing
from streamward.runtime.journal import Journal
from streamward.vision.detector import Detector, NewVersion
from streamward.vision.unusable import DetectorUnusable


class Shelf:
    """One detector for each name, and what was put in its place."""

    def __init__(self) -> None:
        self.first = ColourDetector()
        self.offered: NewVersion | DetectorUnusable | None = None
        self.swapped: list[tuple[Detector, Detector]] = []
        self.told: list[object] = []
        journal = Journal()
        journal.subscribe(self.told.append)
        self.detectors = Detectors(lambda _name: self.first, self.newer)
        self.renewing = Renewing(self.detectors, lambda old, new: self.swapped.append((old, new)), journal=journal)

    def newer(self, _name: str, _old: Detector) -> NewVersion | None:
        offered, self.offered = self.offered, None
        if isinstance(offered, DetectorUnusable):
            raise offered
        return offered


@pytest.fixture
async def shelf() -> AsyncIterator[Shelf]:
    shelf = Shelf()
    await shelf.detectors.get("yard")
    yield shelf
    await shelf.detectors.close()


async def test_a_newer_version_takes_the_place_of_the_old_one_for_all_that_come(shelf: Shelf):
    newer = ColourDetector()
    shelf.offered = NewVersion(detector=newer, version=4)
    assert await shelf.renewing.tick() == EVERY
    assert shelf.swapped == [(shelf.first, newer)]
    assert await shelf.detectors.get("yard") is newer
    assert shelf.told == [facts.ModelSwapped(detector="yard", version=4)]


async def test_a_version_of_no_use_is_told_and_the_old_one_stays(shelf: Shelf):
    problem = shelf.offered = DetectorUnusable("yard", "its signature is wrong")
    await shelf.renewing.tick()
    await shelf.renewing.tick()
    assert not shelf.swapped
    assert await shelf.detectors.get("yard") is shelf.first
    assert shelf.told == [facts.ModelNotSwapped(detector="yard", error=problem)]


async def test_where_nothing_is_newer_nothing_happens(shelf: Shelf):
    await shelf.renewing.tick()
    assert not shelf.swapped
    assert not shelf.told
