"""Watchers of one camera whose dials follow a script; only for stories on `runtime.virtual_time`."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

from streamward.leases.logins import LoginId
from streamward.model.ids import CameraId, SiteId
from streamward.model.status import StreamState
from streamward.model.stream_error import StreamErrorCode, StreamFailure
from streamward.runner.dialing import Dialing, Way
from streamward.runner.logins import LocalLogins
from streamward.runner.watcher import Watcher, WatcherSpec
from streamward.runtime.backoff import Backoff, BackoffSpec
from tests.support.clocks import LoopClock

SITE = SiteId("site-1")
REFUSED = StreamFailure(code=StreamErrorCode.TCP_REFUSED, detail="nobody listens")
BAD_LOGIN = StreamFailure(code=StreamErrorCode.RTSP_AUTH_FAILED, detail="401", is_login_refused=True)

Script = Callable[[Watcher], Awaitable[StreamFailure]]


class Story:
    """A watcher whose dials follow a script, and what it told."""

    def __init__(
        self,
        script: Script,
        *,
        name: str = "cam-1",
        login: LoginId | None = None,
        logins: LocalLogins | None = None,
        way: Way | None = None,
        dialing: Dialing | None = None,
        is_paid: bool = False,
    ) -> None:
        self.dials: list[float] = []
        self.told: list[tuple[StreamErrorCode, float | None]] = []
        self.told_at: list[float] = []
        self.states: list[tuple[StreamState, float]] = []  # each change, and when
        self._script = script
        spec = WatcherSpec(
            camera_id=CameraId(name),
            login=login,
            way=way or Way(site_id=SITE),
            dial=self._dial,
            tell=self._tell,
            moved=self._moved,
            is_paid=is_paid,
        )
        self.watcher = Watcher(
            spec,
            clock=LoopClock(),
            backoff=Backoff(BackoffSpec(first=1.0, longest=60.0, steady=30.0), Random(1)),
            logins=logins or LocalLogins(clock=LoopClock()),
            dialing=dialing or Dialing(clock=LoopClock(), random=Random(1)),
        )

    async def _dial(self, watcher: Watcher) -> StreamFailure:
        self.dials.append(LoopClock().boot())
        return await self._script(watcher)

    def _tell(self, _camera_id: CameraId, failure: StreamFailure, retry_in: float | None) -> None:
        self.told.append((failure.code, retry_in))
        self.told_at.append(LoopClock().boot())

    def _moved(self, _camera_id: CameraId) -> None:
        now = LoopClock().boot()
        if (condition := self.watcher.stream.due(now)) is not None:
            self.states.append((condition.state, now))

    async def run(self, seconds: float) -> None:
        task = asyncio.ensure_future(self.watcher.run())
        await asyncio.sleep(seconds)
        task.cancel()
        await asyncio.wait([task])


async def refused(_watcher: Watcher) -> StreamFailure:
    return REFUSED


async def bad_login(_watcher: Watcher) -> StreamFailure:
    return BAD_LOGIN


async def mute(watcher: Watcher) -> StreamFailure:
    watcher.connected()
    await asyncio.Event().wait()
    raise AssertionError
