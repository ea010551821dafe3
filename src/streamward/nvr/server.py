"""The simulated recorder as a server: its port, one timer for all pictures, and faults at run time.

    async with Nvr(spec) as nvr:
        await nvr.set(Mute(after=Step.SETUP), camera="cam-1")
        … nvr.url("cam-1"), nvr.tally.total(Deed.LOGIN_BAD)

Guaranteed: a fault counts when `set` has returned; a client that does not read costs no more than its backlog, and is
cut. Not guaranteed: anything against clients that mean harm; it is made to stand on loopback.
"""

import asyncio
import time
from typing import Self

from streamward.nvr.camera import Camera
from streamward.nvr.door import Door
from streamward.nvr.faults import Fault, PlacedFault, Reencode
from streamward.nvr.pacer import Pacer
from streamward.nvr.recorder import Recorder
from streamward.nvr.reel import Library
from streamward.nvr.spec import NvrSpec
from streamward.runtime.journal import Journal
from streamward.runtime.service import Service


class Nvr:
    """Serves from `start` to `stop`. Clips that are not in its library yet are made first, which takes seconds each."""

    def __init__(self, spec: NvrSpec, *, library: Library | None = None, journal: Journal | None = None) -> None:
        self.recorder = Recorder(spec, library or Library(spec.clips), wall=time.time)
        self.tally = self.recorder.tally
        self._spec = spec
        self._door = Door(self.recorder)
        self._pacer = Pacer(self.recorder.cameras.values(), self._shoot)
        self._caretaker = Service("nvr caretaker", self._door, journal=journal or Journal())

    async def start(self) -> None:
        """Opens the port."""
        await self._door.tick()
        self._pacer.start()
        self._caretaker.start()

    async def stop(self) -> None:
        """Cuts every connection and ends."""
        await self._caretaker.stop()
        self._pacer.stop()
        await self._door.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._door.port

    def url(self, camera: str) -> str:
        """Where a camera is, without user and password."""
        name = self.recorder.camera(camera).name
        return f"rtsp{'s' if self._spec.tls else ''}://{self._spec.host}:{self.port}/{name}"

    async def set(self, fault: Fault, *, camera: str | None = None) -> None:
        """From now on this fault counts, for one camera or for all."""
        if camera is not None:
            self.recorder.camera(camera)  # refuses a name that is none
        if isinstance(fault, Reencode):
            for spec in self._spec.cameras:
                if camera in {None, spec.name}:
                    await asyncio.to_thread(self.recorder.reel, spec, fault)
        placed = PlacedFault(fault, camera, asyncio.get_running_loop().time())
        self.recorder.board.set(placed)
        self.recorder.refresh([placed])
        await self._door.look()

    async def clear(self, *, camera: str | None = None, kind: str | None = None) -> None:
        """Takes faults away: of one camera, of one kind, or all."""
        self.recorder.refresh(self.recorder.board.clear(camera, kind))
        await self._door.look()

    def _shoot(self, camera: Camera, now: float) -> None:
        shot = camera.shoot(self.recorder.wall())
        for watcher in tuple(camera.watchers):
            watcher.show(shot, now)
