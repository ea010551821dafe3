"""Keeps one camera's stream running: dials, watches that frames come, and dials again.

A dial that fails is tried again after a while that doubles, with jitter; half a minute of steady frames begins anew. A
camera whose host is away is dialed as soon as that answers; one without a free session every 10 s or sooner, because
many cameras keep a dead session for a minute. A login that was refused twice is parked. What happens is told as it
happens, by the stream's watch.
"""

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import PurePath

from streamward.leases.logins import LoginId, LoginOutcome, Permission
from streamward.model.ids import CameraId
from streamward.model.status import Substate
from streamward.model.stream_error import StreamErrorCode, StreamFailure
from streamward.runner.dialing import Dialing, Way
from streamward.runner.logins import Logins
from streamward.runtime.backoff import Backoff
from streamward.runtime.clock import Clock
from streamward.vision.hosts import PROBE_EVERY
from streamward.vision.stream import LATE, StreamWatch
from streamward.vision.trouble import Troubles

LOOK_EVERY = 0.5  # seconds between two looks at whether frames come
AGAIN_AFTER = 5.0  # seconds of frames after which a camera that changed is dialed again without a rest
FULL_LONGEST = 10.0  # seconds between two dials of a camera without a free session: nothing announces that one is free
PARKED_LOOK = 1.0  # seconds between two looks at whether a parked login may go again
PARKED = StreamFailure(code=StreamErrorCode.RTSP_AUTH_FAILED, detail="its login was refused too often")

Dial = Callable[["Watcher"], Awaitable[StreamFailure]]
Tell = Callable[[CameraId, StreamFailure, float | None], None]  # with the seconds until the next dial; None: it goes on
Moved = Callable[[CameraId], None]  # the stream may have changed its state: what is told of it is told now


@dataclass(frozen=True, slots=True, kw_only=True)
class WatcherSpec:
    """One camera, and what its watcher uses."""

    camera_id: CameraId
    login: LoginId | None
    way: Way
    dial: Dial
    tell: Tell
    moved: Moved
    is_paid: bool = False  # the first dial, at the control plane: it waits for no turn here


class Watcher:
    """One camera."""

    def __init__(self, spec: WatcherSpec, *, clock: Clock, backoff: Backoff, logins: Logins, dialing: Dialing) -> None:
        self.camera_id = spec.camera_id
        self.stream = StreamWatch()
        self._spec = spec
        self._clock = clock
        self._backoff = backoff
        self._logins = logins
        self._dialing = dialing
        self._troubles = Troubles()
        self._is_paid = spec.is_paid  # the next dial
        self._has_turn = False  # to dial
        self._is_parked = False  # its login
        self._knows_away = False  # that the camera's host is away was told

    def connected(self) -> None:
        """The dial says that the camera plays; its login, if it had one, was good."""
        self._give_turn_back()
        self.stream.connected(self._clock.boot())
        self._spec.moved(self.camera_id)
        self._tell_login(LoginOutcome.ACCEPTED)

    def queue(self) -> None:
        """What its first dial was paid with is over: it waits for its turn like any other."""
        self._is_paid = False

    def trouble(self, trouble: StreamFailure) -> bool:
        """Something is wrong with the stream, and it goes on; returns whether that is told, or only counted."""
        now = self._clock.boot()
        self.stream.troubled(trouble, now)
        told = self._troubles.heard(trouble, now)
        if told is not None:
            self._spec.tell(self.camera_id, told, None)
        return told is not None

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self._reachable()
            rest = await self._dial_once() if await self._may_hope() else PARKED_LOOK
            if self._dialing.why_away(self._spec.way) is None:
                await asyncio.sleep(rest)

    async def _reachable(self) -> None:
        """Waits while the camera's host is away."""
        while (failure := self._dialing.why_away(self._spec.way)) is not None:
            self._lost(failure, retry_in=PROBE_EVERY)
            if not self._knows_away:
                self._knows_away = True
                self._spec.tell(self.camera_id, failure, PROBE_EVERY)
            self._is_paid = False  # all cameras of a host that comes back want to dial at once
            await self._dialing.back(self._spec.way)
        self._knows_away = False

    async def _may_hope(self) -> bool:
        """Whether to wait for a turn: a parked login would only take it from others."""
        if not self._is_parked:
            return True
        is_free = await self._may_log_in()
        if is_free:
            self._tell_login(LoginOutcome.GAVE_UP)  # until it is this camera's turn
        return is_free

    async def _dial_once(self) -> float:
        """Returns how long to rest. The turn comes before the login: a permission to log in does not last for long."""
        if self._is_paid:
            await self._dialing.spread()
        else:
            await self._dialing.take(self._spec.way)
            self._has_turn = True
        self._is_paid = False
        try:
            return await self._dial_now() if await self._may_log_in() else PARKED_LOOK
        finally:
            self._give_turn_back()

    async def _dial_now(self) -> float:
        """What happened is told before the session is given back, which may take a while."""
        self.stream.dialing()
        self._spec.moved(self.camera_id)
        dialing = asyncio.ensure_future(self._spec.dial(self))
        try:
            failure = await self._failure(dialing)
            rest = self._rest(failure)
            self._spec.tell(self.camera_id, failure, rest)
        finally:
            self._give_turn_back()
            await _hung_up(dialing)
        return rest

    def _give_turn_back(self) -> None:
        if self._has_turn:
            self._has_turn = False
            self._dialing.give_back(self._spec.way)

    async def _failure(self, dialing: asyncio.Future[StreamFailure]) -> StreamFailure:
        """How it ends, by itself or because no frames come."""
        while not dialing.done():
            await asyncio.wait([dialing], timeout=LOOK_EVERY)
            stall = None if dialing.done() else self.stream.stall(self._clock.boot())
            if stall is LATE:
                self._spec.moved(self.camera_id)
                self.trouble(stall)
            elif stall is not None:
                return stall
        error = dialing.exception()
        return dialing.result() if error is None else _unforeseen(error)

    async def _may_log_in(self) -> bool:
        """Waits for a login that others try; a parked one is shown as such."""
        login = self._spec.login
        self._is_parked = login is not None and await self._logins.ask(self.camera_id, login) is Permission.PARKED
        if self._is_parked:
            self._lost(PARKED, substate=Substate.PARKED)
        return not self._is_parked

    def _rest(self, failure: StreamFailure) -> float:
        substate = Substate.STALLED if failure.code is StreamErrorCode.FRAME_STALL else None
        ran_for = self.stream.lost(failure, substate=substate)
        rest = self._rest_after(failure, ran_for)
        self.stream.retry(self._clock.boot() + rest)
        self._spec.moved(self.camera_id)
        return rest

    def _rest_after(self, failure: StreamFailure, ran_for: float) -> float:
        if not failure.is_login_open:  # of one that was not answered nobody knows: silence
            self._tell_login(LoginOutcome.REFUSED if failure.is_login_refused else LoginOutcome.GAVE_UP)
        if failure.is_unreachable and self._spec.way.host is not None:
            self._dialing.lost(self._spec.way, failure)
            self._knows_away = True
            return PROBE_EVERY
        if failure.is_change and ran_for >= AGAIN_AFTER:
            return 0.0
        longest = FULL_LONGEST if failure.code is StreamErrorCode.CAMERA_FULL else None
        return self._backoff.failed(after=ran_for, longest=longest)

    def _lost(self, failure: StreamFailure, *, retry_in: float | None = None, substate: Substate | None = None) -> None:
        self.stream.lost(failure, substate=substate)
        if retry_in is not None:
            self.stream.retry(self._clock.boot() + retry_in)
        self._spec.moved(self.camera_id)

    def _tell_login(self, outcome: LoginOutcome) -> None:
        if self._spec.login is not None:
            self._logins.told(self.camera_id, self._spec.login, outcome)


def _unforeseen(error: BaseException) -> StreamFailure:
    """A dial that broke down is tried again like any other; its words are not told, for they may quote a URL."""
    innermost = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{innermost.name}, line {innermost.lineno} of {PurePath(innermost.filename).name}"
    detail = f"{type(error).__name__} in {where}"
    return StreamFailure(code=StreamErrorCode.RTSP_REFUSED, detail=detail, is_login_open=True)


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
