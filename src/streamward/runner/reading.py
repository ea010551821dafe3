"""How a runner's cameras are read: by its Workers themselves, or through a go2rtc of its own (mode B).

This is wiring: it names drivers.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from streamward.drivers import go2rtc
from streamward.drivers.addresses import host_limits, restreamed
from streamward.drivers.go2rtc import Go2rtc
from streamward.runner.badge import Speaker
from streamward.runner.known import KnownCameras
from streamward.runner.own_leases import Control
from streamward.runner.restreams import RestreamControl, RestreamedCameras, RestreamParts
from streamward.runtime.clock import Clock
from streamward.runtime.journal import Journal
from streamward.runtime.service import Service
from streamward.settings import Settings


@dataclass(frozen=True, slots=True)
class Reading:
    """What a Manager knows of cameras, and whom it asks; in mode B also what is to be run for that."""

    known: KnownCameras
    control: Control
    server: Go2rtc | None = None
    service: Service | None = None

    def children(self) -> Collection[int]:
        """The pids of children that are no Workers."""
        return () if self.server is None else self.server.pids

    async def start(self, on_ready: Callable[[], None]) -> None:
        """Has it run before there is a Worker that would need it; raises Go2rtcSilent."""
        if isinstance(self.known, RestreamedCameras) and self.service is not None:
            self.known.on_ready, self.known.poke = on_ready, self.service.poke
            await self.known.tick()
            self.service.start()

    async def stop(self) -> None:
        """Ends it, when the Workers have."""
        if self.service is not None and self.server is not None:
            await self.service.stop()
            await self.server.stop()


def program(settings: Settings) -> Path | None:
    """The go2rtc that shall be used; None: none. Raises Go2rtcMissing."""
    return go2rtc.found(settings.runner.go2rtc) if settings.runner.mode == "go2rtc" else None


def reading(settings: Settings, speaker: Speaker, *, clock: Clock, journal: Journal) -> Reading:
    """As it is set."""
    place = program(settings)
    if place is None:
        return Reading(KnownCameras(speaker), speaker)
    server = Go2rtc(place, fallback=settings.data.absolute(), on_end=lambda: service.poke())  # noqa: PLW0108 - it comes after it
    find = partial(restreamed, limits=host_limits(settings.runner.source_limits))
    known = RestreamedCameras(speaker, RestreamParts(server=server, find=find, clock=clock, journal=journal))
    service = Service("go2rtc", known, journal=journal)
    return Reading(known, RestreamControl(speaker, known), server, service)
