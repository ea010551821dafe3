"""A zone that is drawn over the API counts in a runner that runs: what stands in it is reported no more."""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from streamward.model.bus import Bus
from streamward.protocol import codec
from streamward.protocol.events import BATCHER, DetectionEvent
from tests.support.labs import Plant, bus_of, plant

# People keep to the upper third of a scene, cars to the middle one.
UPPER = {"name": "upper", "points": [[0, 0], [1, 0], [1, 0.45], [0, 0.45]], "leaves_out": True}
ENOUGH = 8  # events


@pytest.fixture
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with plant(tmp_path_factory.mktemp("lab"), "--cameras", "1", "--width", "640", "--height", "360") as made:
        yield made


class Sightings:
    """What was seen of a camera since it was last begun with."""

    def __init__(self, bus: Bus) -> None:
        self._consumer = bus.consume(BATCHER.name, prefetch=100)
        self.epoch = 0  # which start of it that is
        self.labels: list[set[str]] = []  # of each event

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Reads on until it is so."""
        async with asyncio.timeout(120):
            while not is_so():
                some = await self._consumer.take(at_most=100, within=1.0)
                await self._consumer.ack(some)
                for each in some:
                    self._note(codec.decode(each.message.body, DetectionEvent))

    def count(self, label: str) -> int:
        return sum(label in labels for labels in self.labels)

    async def close(self) -> None:
        await self._consumer.close()

    def _note(self, event: DetectionEvent) -> None:
        if event.epoch > self.epoch:
            self.epoch, self.labels = event.epoch, []
        if event.epoch == self.epoch:
            self.labels.append({each.label for each in event.detections})


async def test_what_stands_in_a_zone_that_leaves_out_is_reported_no_more(lab: Plant) -> None:
    async with bus_of(lab) as bus:
        seen = Sightings(bus)
        with lab.runner("runner-a"):
            await seen.until(lambda: min(seen.count("person"), seen.count("car")) >= ENOUGH)
            before = seen.epoch
            with lab.control.client("--operator", "ada") as ada:
                changed = ada.patch("/v1/cameras/cam-1", json={"zones": [UPPER]}, headers={"If-Match": "*"})
            assert changed.json()["zones"] == [UPPER | {"dwell_s": None}], changed.text
            await seen.until(lambda: seen.epoch > before and seen.count("car") >= ENOUGH)
            assert seen.count("person") == 0
        await seen.close()
