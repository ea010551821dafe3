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

LOOK_EVERY = 0.5  # seconds between two looks at whether frames come
FIRST_FRAME_WITHIN = 10.0  # seconds after the camera began to play
HELD_BACK = 1.0  # seconds until a login that somebody else tries is asked for again


Dial = Callable[["Watcher"], Awaitable[StreamFailure]]
Tell = Callable[[CameraId, StreamFailure, float], None]  # with the seconds until the next try


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
        self._playing_since: float | None = None

    def connected(self) -> None:
        """The dial says that the camera plays; its login, if it had one, was good."""
        self._playing_since = self._clock.boot()
        self.stream.connected()
        if self._spec.login is not None:
            self._logins.accepted(self._spec.login)

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            held = self._held_back()
            if held is not None:
                await asyncio.sleep(held)
                continue
            began = self._clock.boot()
            failure = await self._dial_once()
            rest = self._rest(failure, worked_for=self._worked_for(began))
            self._spec.tell(self.camera_id, failure, rest)
            await asyncio.sleep(rest)

    async def _dial_once(self) -> StreamFailure:
        self._playing_since = None
        self.stream.dialing()
        dialing = asyncio.ensure_future(self._spec.dial(self))
        try:
            while not dialing.done():
                await asyncio.wait([dialing], timeout=LOOK_EVERY)
                if not dialing.done() and (stall := self._stall()):
                    return stall
            return dialing.result()
        finally:
            dialing.cancel()
            await asyncio.wait([dialing])

    def _stall(self) -> StreamFailure | None:
        now = self._clock.boot()
        if self.stream.is_stalled(now):
            return StreamFailure(code=StreamErrorCode.FRAME_STALL, detail="no frame came for a while")
        since, last = self._playing_since, self.stream.condition(now).last_frame_at
        is_blind = since is not None and (last is None or last < since)
        if is_blind and since is not None and now - since > FIRST_FRAME_WITHIN:
            return StreamFailure(code=StreamErrorCode.NO_KEYFRAME, detail="nothing that came could be decoded")
        return None

    def _held_back(self) -> float | None:
        """How long to wait for a login that others try, or that is parked."""
        login = self._spec.login
        permission = Permission.GO if login is None else self._logins.ask(login, self._clock.boot())
        if permission is Permission.GO:
            return None
        if permission is Permission.PARKED:
            self.stream.lost(StreamErrorCode.RTSP_AUTH_FAILED, substate=Substate.PARKED)
        return HELD_BACK

    def _rest(self, failure: StreamFailure, *, worked_for: float) -> float:
        now = self._clock.boot()
        substate = Substate.STALLED if failure.code is StreamErrorCode.FRAME_STALL else None
        self.stream.lost(failure.code, substate=substate)
        if self._spec.login is not None and failure.is_login_refused:
            self._logins.refused(self._spec.login, now)
        elif self._spec.login is not None:
            self._logins.gave_up(self._spec.login)
        return self._backoff.failed(after=worked_for)

    def _worked_for(self, began: float) -> float:
        last = self.stream.condition(self._clock.boot()).last_frame_at
        since = self._playing_since
        return 0.0 if last is None or since is None or last < began else last - since
