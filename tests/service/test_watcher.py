"""A camera that is kept running, on virtual time: its dial is a script."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

from streamward.leases.logins import PARKED_FOR, login_id
from streamward.model.ids import CameraId
from streamward.model.secret import Secret
from streamward.model.status import StreamState, Substate
from streamward.model.stream_error import StreamErrorCode, StreamFailure
from streamward.runner.logins import LocalLogins
from streamward.runner.watcher import Watcher, WatcherSpec
from streamward.runtime import virtual_time
from streamward.runtime.backoff import Backoff, BackoffSpec
from tests.support.clocks import LoopClock

LOGIN = login_id("192.0.2.7", 554, Secret("ada"), version=1)
REFUSED = StreamFailure(code=StreamErrorCode.TCP_REFUSED, detail="nobody listens")
CHANGED = StreamFailure(code=StreamErrorCode.CODEC_UNSUPPORTED, detail="it changed", is_change=True)
LOSS = StreamFailure(code=StreamErrorCode.CORRUPT_STREAM, detail="3 packets were lost")
BAD_LOGIN = StreamFailure(code=StreamErrorCode.RTSP_AUTH_FAILED, detail="401", is_login_refused=True)

Script = Callable[[Watcher], Awaitable[StreamFailure]]


class Story:
    """A watcher whose dials follow a script, and what it told."""

    def __init__(self, script: Script, *, name: str = "cam-1", logins: LocalLogins | None = None) -> None:
        self.dials: list[float] = []
        self.told: list[tuple[StreamErrorCode, float]] = []
        self.told_at: list[float] = []
        self._script = script
        spec = WatcherSpec(camera_id=CameraId(name), login=LOGIN, dial=self._dial, tell=self._tell)
        backoff = Backoff(BackoffSpec(first=1.0, longest=60.0, steady=30.0), Random(1))
        shared = logins or LocalLogins(clock=LoopClock())
        self.watcher = Watcher(spec, clock=LoopClock(), backoff=backoff, logins=shared)

    async def _dial(self, watcher: Watcher) -> StreamFailure:
        self.dials.append(LoopClock().boot())
        return await self._script(watcher)

    def _tell(self, _camera_id: CameraId, failure: StreamFailure, retry_in: float) -> None:
        self.told.append((failure.code, retry_in))
        self.told_at.append(LoopClock().boot())

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


async def frames(watcher: Watcher, seconds: float) -> None:
    watcher.connected()
    for _ in range(int(seconds * 10)):
        now = LoopClock().boot()
        watcher.stream.unit(now)
        watcher.stream.frame(now, now)
        await asyncio.sleep(0.1)


def test_a_camera_that_refuses_is_dialed_ever_less_often():
    async def story() -> None:
        told = Story(refused)
        await told.run(600)
        rests = [later - sooner for sooner, later in zip(told.dials, told.dials[1:], strict=False)]
        assert len(told.dials) < 25
        assert rests[0] <= 1.0
        assert all(30 <= rest <= 60 for rest in rests[6:])
        assert told.watcher.stream.condition(600).state is StreamState.DISCONNECTED

    virtual_time.run(story())


def test_frames_that_stop_are_noticed_within_five_seconds():
    async def story() -> None:
        async def script(watcher: Watcher) -> StreamFailure:
            await frames(watcher, 10)
            await asyncio.Event().wait()
            raise AssertionError

        told = Story(script)
        await told.run(15.2)
        assert told.told[0][0] is StreamErrorCode.FRAME_STALL

    virtual_time.run(story())


def test_a_camera_that_plays_nothing_is_dialed_again():
    async def story() -> None:
        told = Story(mute)
        await told.run(30)
        assert told.told[0][0] is StreamErrorCode.FRAME_STALL
        assert told.told_at[0] <= 5
        assert len(told.dials) >= 2

    virtual_time.run(story())


def test_pictures_that_none_can_begin_with_are_told_as_such():
    async def story() -> None:
        async def script(watcher: Watcher) -> StreamFailure:
            watcher.connected()
            while True:
                watcher.stream.unit(LoopClock().boot())
                await asyncio.sleep(0.1)

        told = Story(script)
        await told.run(12)
        assert [code for code, _ in told.told] == [StreamErrorCode.NO_KEYFRAME]

    virtual_time.run(story())


def test_a_stall_is_told_before_the_session_is_given_back():
    async def story() -> None:
        async def script(watcher: Watcher) -> StreamFailure:
            watcher.connected()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(1)  # as long as a camera may take to answer
            raise AssertionError

        told = Story(script)
        await told.run(8)
        assert told.told_at[0] <= 5

    virtual_time.run(story())


def test_a_watcher_that_ends_while_a_session_is_given_back_waits_for_that():
    async def story() -> None:
        async def script(watcher: Watcher) -> StreamFailure:
            watcher.connected()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(1)
            raise AssertionError

        before = asyncio.all_tasks()
        await Story(script).run(4.5)
        assert asyncio.all_tasks() == before

    virtual_time.run(story())


def test_a_camera_that_changed_is_dialed_again_at_once_if_it_ran():
    async def story() -> None:
        async def script(watcher: Watcher) -> StreamFailure:
            if len(told.dials) == 1:
                await frames(watcher, 10)
            return CHANGED

        told = Story(script)
        await told.run(60)
        assert told.told[0][1] == 0.0
        assert all(rest > 0 for _, rest in told.told[1:])

    virtual_time.run(story())


def test_trouble_is_told_and_the_stream_goes_on():
    async def story() -> None:
        async def script(watcher: Watcher) -> StreamFailure:
            await frames(watcher, 5)
            for _ in range(3):
                watcher.trouble(LOSS)
            await frames(watcher, 20)
            raise AssertionError

        told = Story(script)
        await told.run(10)
        assert told.told == [(StreamErrorCode.CORRUPT_STREAM, 0.0)]
        assert told.watcher.stream.condition(10).state is StreamState.STREAMING

    virtual_time.run(story())


def test_steady_frames_begin_the_waits_anew():
    async def story() -> None:
        async def script(watcher: Watcher) -> StreamFailure:
            if len(told.dials) == 6:
                await frames(watcher, 40)
            return REFUSED

        told = Story(script)
        await told.run(200)
        assert told.told[4][1] > 8
        assert told.told[5][1] <= 1.0

    virtual_time.run(story())


def test_a_login_is_refused_twice_and_then_parked():
    async def story() -> None:
        told = Story(bad_login)
        await told.run(PARKED_FOR - 60)
        assert len(told.dials) == 2
        condition = told.watcher.stream.condition(LoopClock().boot())
        assert (condition.state, condition.substate) == (StreamState.DISCONNECTED, Substate.PARKED)

    virtual_time.run(story())


def test_cameras_with_one_credential_share_its_two_tries():
    async def story() -> None:
        logins = LocalLogins(clock=LoopClock())
        many = [Story(bad_login, name=f"cam-{number}", logins=logins) for number in range(5)]
        await asyncio.gather(*(each.run(300) for each in many))
        assert sum(len(each.dials) for each in many) == 2

    virtual_time.run(story())


def test_a_watcher_that_ends_leaves_no_dial_behind():
    async def story() -> None:
        before = asyncio.all_tasks()
        told = Story(mute)
        await told.run(1)
        assert asyncio.all_tasks() == before

    virtual_time.run(story())
