"""Keeps one camera's stream running: dials, watches that frames come, and dials again.

A dial that fails is tried again after a while that doubles, with jitter; half a minute of steady frames begins anew. A
login that was refused twice is parked. What happens is told as it happens, by the stream's watch.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from streamward.model.ids import CameraId
from streamward.model.status import Substate
from streamward.model.stream_error import StreamErrorCode, StreamFailure
from streamward.runtime.backoff import Backoff
from streamward.runtime.clock import Clock
from streamward.vision.logins import LoginGuard, LoginKey, Permission
from streamward.vision.stream import StreamWatch
from streamward.vision.trouble import Troubles

LOOK_EVERY = 0.5  # seconds between two looks at whether frames come
AGAIN_AFTER = 5.0  # seconds of frames after which a camera that changed is dialed again without a rest
HELD_BACK = 1.0  # seconds until a login that somebody else tries is asked for again


Dial = Callable[["Watcher"], Awaitable[StreamFailure]]
Tell = Callable[[CameraId, StreamFailure, float], None]  # with the seconds until the next try; 0: there is no need


@dataclass(frozen=True, slots=True, kw_only=True)
class WatcherSpec:
    """One camera, and what its watcher uses."""

    camera_id: CameraId
    login: LoginKey | None
    dial: Dial
    tell: Tell


class Watcher:
    """One camera."""

    def __init__(self, spec: WatcherSpec, *, clock: Clock, backoff: Backoff, logins: LoginGuard) -> None:
        self.camera_id = spec.camera_id
        self.stream = StreamWatch()
        self._spec = spec
        self._clock = clock
        self._backoff = backoff
        self._logins = logins
        self._troubles = Troubles()

    def connected(self) -> None:
        """The dial says that the camera plays; its login, if it had one, was good."""
        self.stream.connected(self._clock.boot())
        if self._spec.login is not None:
            self._logins.accepted(self._spec.login)

    def trouble(self, trouble: StreamFailure) -> bool:
        """Something is wrong with the stream, and it goes on; returns whether that is told, or only counted."""
        now = self._clock.boot()
        if trouble.code is StreamErrorCode.CORRUPT_STREAM:
            self.stream.damaged(now)
        told = self._troubles.heard(trouble, now)
        if told is not None:
            self._spec.tell(self.camera_id, told, 0.0)
        return told is not None

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            held = self._held_back()
            await asyncio.sleep(await self._dial_once() if held is None else held)

    async def _dial_once(self) -> float:
        """Returns how long to rest; what happened is told before the session is given back, which may take a while."""
        self.stream.dialing()
        dialing = asyncio.ensure_future(self._spec.dial(self))
        try:
            failure = await self._failure(dialing)
            rest = self._rest(failure)
            self._spec.tell(self.camera_id, failure, rest)
        finally:
            await _hung_up(dialing)
        return rest

    async def _failure(self, dialing: asyncio.Future[StreamFailure]) -> StreamFailure:
        """How it ends, by itself or because no frames come."""
        while not dialing.done():
            await asyncio.wait([dialing], timeout=LOOK_EVERY)
            if not dialing.done() and (stall := self.stream.stall(self._clock.boot())):
                return stall
        return dialing.result()

    def _held_back(self) -> float | None:
        """How long to wait for a login that others try, or that is parked."""
        login = self._spec.login
        permission = Permission.GO if login is None else self._logins.ask(login, self._clock.boot())
        if permission is Permission.GO:
            return None
        if permission is Permission.PARKED:
            self.stream.lost(StreamErrorCode.RTSP_AUTH_FAILED, substate=Substate.PARKED)
        return HELD_BACK

    def _rest(self, failure: StreamFailure) -> float:
        substate = Substate.STALLED if failure.code is StreamErrorCode.FRAME_STALL else None
        ran_for = self.stream.lost(failure.code, substate=substate)
        if self._spec.login is not None and failure.is_login_refused:
            self._logins.refused(self._spec.login, self._clock.boot())
        elif self._spec.login is not None:
            self._logins.gave_up(self._spec.login)
        if failure.is_change and ran_for >= AGAIN_AFTER:
            return 0.0
        return self._backoff.failed(after=ran_for)


async def _hung_up(dialing: asyncio.Future[StreamFailure]) -> None:
    """Ends a dial and waits until its session is given back, also when it is cancelled meanwhile."""
    dialing.cancel()
    cancelled: asyncio.CancelledError | None = None
    while not dialing.done():
        try:
            await asyncio.wait([dialing])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
