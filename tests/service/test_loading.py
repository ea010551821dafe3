"""Detectors are loaded beside the event loop, each once."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator

import pytest

from streamward.drivers.detectors.colour import ColourDetector
from streamward.drivers.detectors.loading import FunctionDetector
from streamward.model.errors import StreamwardError
from streamward.runner.detectors import Detectors
from streamward.runtime.aside import Unanswered, aside
from streamward.vision.detector import Detector, for_camera
from streamward.vision.unusable import DetectorUnusable


class Shelf:
    """Loads a detector when it is let."""

    def __init__(self) -> None:
        self.may_load = threading.Event()
        self.asked: list[str] = []
        self.has_it = True

    def load(self, name: str) -> Detector:
        self.asked.append(name)
        self.may_load.wait()
        if not self.has_it:
            raise DetectorUnusable(name, "it is not there")
        return ColourDetector()


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
async def detectors(shelf: Shelf) -> AsyncIterator[Detectors]:
    detectors = Detectors(shelf.load)
    yield detectors
    await detectors.close()
    shelf.may_load.set()


async def test_who_asks_while_it_is_loaded_waits_for_the_same_and_the_loop_goes_on(shelf: Shelf, detectors: Detectors):
    asking = asyncio.gather(detectors.get("slow"), detectors.get("slow"))
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_soon(shelf.may_load.set)  # what a loop that waits would never come to
    one, other = await asking
    assert one is other is await detectors.get("slow")
    assert shelf.asked == ["slow"]


async def test_who_waits_for_one_that_is_missing_gets_it_when_it_is_there(shelf: Shelf):
    detectors = Detectors(shelf.load, again_after=0.01)
    shelf.may_load.set()
    shelf.has_it = False
    told: list[tuple[str, float]] = []

    def tell(error: StreamwardError, rest: float) -> None:
        told.append((str(error), rest))
        shelf.has_it = len(told) == 2

    assert isinstance(await detectors.wait_for("late", for_camera, tell), ColourDetector)
    assert told == [("the detector late cannot be used: it is not there", rest) for rest in (0.01, 0.02)]
    await detectors.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_who_waits_for_one_whose_package_ends_the_program_is_told_and_waits_on():
    told: list[str] = []
    detectors = Detectors(lambda _name: ColourDetector() if told else sys.exit(), again_after=0.01)
    assert await detectors.wait_for("rude", for_camera, lambda error, _rest: told.append(str(error)))
    assert len(told) == 1
    await detectors.close()


async def test_one_that_cannot_be_had_for_a_camera_is_tried_again_like_one_that_cannot_be_loaded():
    told: list[str] = []

    class Fickle(ColourDetector):
        def for_camera(self) -> ColourDetector:
            if not told:
                raise ValueError("not today")
            return ColourDetector()

    detectors = Detectors(lambda name: FunctionDetector(name, Fickle()), again_after=0.01)
    assert await detectors.wait_for("fickle", for_camera, lambda error, _rest: told.append(str(error)))
    assert told == ["the detector fickle cannot be used: ValueError: not today"]
    await detectors.close()


async def test_one_that_could_not_be_had_is_tried_again(shelf: Shelf, detectors: Detectors):
    shelf.may_load.set()
    shelf.has_it = False
    with pytest.raises(DetectorUnusable):
        await detectors.get("late")
    shelf.has_it = True
    assert await detectors.get("late")


async def test_who_gives_up_leaves_the_others_waiting(shelf: Shelf, detectors: Detectors):
    impatient, patient = (asyncio.ensure_future(detectors.get("slow")) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.wait([impatient])
    shelf.may_load.set()
    assert await patient


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_work_that_ends_its_thread_is_told():
    with pytest.raises(Unanswered, match="load x"):
        await aside("load x", sys.exit)
