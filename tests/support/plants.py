"""A Worker in this process that watches cameras over real sockets, and everything that it told, with when."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any, Self

from streamward.drivers import camera
from streamward.drivers.addresses import CameraAddress, HostLimits
from streamward.drivers.decoder import decoder_for
from streamward.drivers.detectors.colour import ColourDetector
from streamward.drivers.rounds import Rounds
from streamward.leases.fence import Stamp
from streamward.leases.logins import LoginId, login_of
from streamward.model.address_policy import AddressPolicy, parse_network
from streamward.model.ids import CameraId
from streamward.model.secret import Secret
from streamward.model.source_url import Credential, parse
from streamward.model.stream_error import StreamFailure
from streamward.protocol.events import StreamFailed
from streamward.protocol.fields import ClearText
from streamward.protocol.shards import ShardConfig, Source
from streamward.protocol.streams import StreamReport
from streamward.runner.dialing import Host
from streamward.runner.logins import LocalLogins, Logins
from streamward.runner.parts import WorkerParts
from streamward.runner.worker import Worker
from streamward.runtime.clock import SystemClock
from streamward.runtime.journal import Journal
from streamward.vision.camera import CameraListener
from streamward.vision.sampling import READ_EVERY
from streamward.vision.watchdog import Watchdog
from tests.support.builders import START
from tests.support.news import News

HERE = AddressPolicy(allow=(parse_network("127.0.0.0/8"),))
PATIENCE = 60.0  # seconds: a busy machine is no failure


def at(url: str, *, credential: Credential | None = None, addresses: AddressPolicy = HERE) -> CameraAddress:
    """A camera at that URL, on this machine if not told otherwise."""
    limits = HostLimits(addresses=HERE)
    return CameraAddress(url=parse(url).url, credential=credential, addresses=addresses, limits=limits)


@dataclass(frozen=True)
class Told:
    """One message of the Worker."""

    at: float  # boot-time
    camera: str
    code: str | None
    detail: str = ""
    state: str | None = None  # None: it is an error, not a status
    retry_in: float = 0.0  # seconds


class _Deaf:
    """Nobody else who is told."""

    def reported(self, report: StreamReport) -> None: ...
    def failed(self, failure: StreamFailed) -> None: ...
    def showing(self, camera_id: CameraId, arrived: float) -> None: ...
    def dial_ended(self, camera_id: CameraId) -> None: ...


class CameraPlant:
    """A Worker without leases: what it sees goes nowhere, what it tells is kept."""

    def __init__(
        self,
        cameras: Mapping[str, CameraAddress],
        *,
        max_fps: float = 5.0,
        logins: Logins | None = None,
        watchdogs: Sequence[Watchdog] = (),
    ) -> None:
        self.told: list[Told] = []
        self.reports: dict[str, StreamReport] = {}  # the newest of each camera
        self._are_shared = logins is not None  # cameras with one credential wait for each other
        self._cameras = dict(cameras)
        self._clock = SystemClock()
        self._rounds = Rounds(every=READ_EVERY)
        self._changed = News()
        parts = WorkerParts(
            clock=self._clock,
            detector=lambda _name: ColourDetector(),
            decoder=decoder_for,
            dial=self._dial,
            login=self._login,
            logins=logins or LocalLogins(clock=self._clock),
            stamps=self,
            sink=self,
            ear=_Deaf(),
            journal=Journal(),
            random=Random(1),
            host=self._host,
            watchdogs=watchdogs,
        )
        self._sources = [
            Source(camera_uuid=name, url=ClearText(Secret("")), site_id="site-1", tenant_id="t-1") for name in cameras
        ]
        self.worker = Worker(ShardConfig(runner_id="r1", shard_id="s0", sources=self._sources, max_fps=max_fps), parts)

    async def __aenter__(self) -> Self:
        self._task = asyncio.ensure_future(self.worker.run())
        for source in self._sources:
            self.worker.add(source)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])

    async def until(self, is_so: Callable[[], object], *, within: float = PATIENCE) -> None:
        """Waits until something was told."""
        await self._changed.until(is_so, within=within)

    async def streaming(self, *cameras: str, since: float = 0.0) -> None:
        """Waits until these stream, by default all of them."""
        wanted = set(cameras or self._cameras)
        await self.until(
            lambda: wanted <= {told.camera for told in self.told if told.state == "STREAMING" and told.at >= since}
        )

    def errors(self, name: str, *, since: float = 0.0) -> list[Told]:
        """What was told to be wrong with a camera."""
        return [told for told in self.told if told.camera == name and told.state is None and told.at >= since]

    def keep(self, routing_key: str, event_id: str, message: Any) -> None:
        raise AssertionError("without a lease nothing leaves")

    def tell(self, routing_key: str, message: Any) -> None:
        told = Told(self._clock.boot(), routing_key.rpartition(".")[2], None)
        if isinstance(message, StreamFailed):
            told = replace(told, code=message.code, detail=message.detail, retry_in=message.retry_in_ms / 1000)
        elif isinstance(message, StreamReport):
            told = replace(told, code=message.error_code, state=message.state)
            self.reports[told.camera] = message
        self.told.append(told)
        self._changed.set()

    def stamp(self, camera_id: CameraId, *, arrived: float, now: float) -> Stamp | None:
        return None

    def database_time(self, boot: float) -> datetime:
        return START + timedelta(seconds=boot)

    def _host(self, source: Source) -> Host | None:
        address = self._cameras[source.camera_uuid]
        return None if address.host is None else Host(key=address.host, probe=lambda: camera.probe(address))

    async def _dial(self, source: Source, listener: CameraListener) -> StreamFailure:
        address = self._cameras[source.camera_uuid]
        return await camera.watch(address, listener, clock=self._clock, rounds=self._rounds)

    def _login(self, source: Source) -> LoginId | None:
        address = self._cameras[source.camera_uuid]
        login = login_of(address.url, address.credential)
        if login is None or self._are_shared:
            return login
        return LoginId(f"{login}-{source.camera_uuid}")  # each has its own, so that none waits for another
