"""Watching a camera with the real client; tests wait for what it heard."""

import asyncio
from collections.abc import Callable

from streamward.drivers import camera
from streamward.drivers.addresses import CameraAddress
from streamward.drivers.rounds import Rounds
from streamward.model.stream_error import StreamFailure
from streamward.model.video import VideoCodec
from streamward.runtime.clock import SystemClock
from streamward.vision.lane import ArrivedUnit
from streamward.vision.sampling import READ_EVERY
from tests.support.news import News


class Ear:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.codecs: list[VideoCodec | None] = []
        self.units: list[ArrivedUnit] = []
        self.troubles: list[StreamFailure] = []
        self._news = News()

    def playing(self, codec: VideoCodec | None) -> None:
        self.codecs.append(codec)

    def unit(self, unit: ArrivedUnit) -> None:
        self.units.append(unit)
        self._news.set()

    def trouble(self, trouble: StreamFailure) -> None:
        self.troubles.append(trouble)
        self._news.set()

    async def until(self, is_so: Callable[[], bool]) -> None:
        await self._news.until(is_so)


async def dial(address: CameraAddress) -> StreamFailure:
    async with asyncio.timeout(60):
        return await camera.watch(address, Ear(), clock=SystemClock(), rounds=Rounds(every=READ_EVERY))


async def watched(address: CameraAddress, pictures: int) -> Ear:
    """Watches until so many pictures came, and ends the session."""
    ear = Ear()
    task = asyncio.ensure_future(camera.watch(address, ear, clock=SystemClock(), rounds=Rounds(every=READ_EVERY)))
    await ear.until(lambda: len(ear.units) >= pictures)
    task.cancel()
    await asyncio.wait([task])
    return ear
