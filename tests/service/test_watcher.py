"""A camera that is kept running, on virtual time: its dial is a script."""

import asyncio
from itertools import pairwise
from random import Random

import pytest

from streamward.leases.redialing import Pace
from streamward.model.status import StreamState
from streamward.model.stream_error import StreamErrorCode, StreamFailure
from streamward.model.video import VideoCodec
from streamward.protocol.rtp.reader import AccessUnit, Found, ReaderSpec, RtpReader
from streamward.runner.dialing import FIRST_DIAL_WITHIN, Dialing, Host, Way
from streamward.runner.watcher import Watcher
from streamward.runtime import virtual_time
from streamward.vision.hosts import HostKey
from tests.support.clocks import LoopClock
from tests.support.pictures import keyframe_h264, packets, picture_h264
from tests.support.watchers import REFUSED, SITE, Story, mute, refused

UNREACHABLE = StreamFailure(code=StreamErrorCode.TCP_TIMEOUT, detail="nothing answers there", is_unreachable=True)
CHANGED = StreamFailure(code=StreamErrorCode.CODEC_UNSUPPORTED, detail="it changed", is_change=True)
LOSS = StreamFailure(code=StreamErrorCode.CORRUPT_STREAM, detail="3 packets were lost")


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


def test_a_camera_without_a_free_session_is_dialed_within_ten_seconds_of_one_being_free():
    async def story() -> None:
        async def full(_watcher: Watcher) -> StreamFailure:
            return StreamFailure(code=StreamErrorCode.CAMERA_FULL, detail="453")

        told = Story(full)
        await told.run(600)
        rests = [later - sooner for sooner, later in pairwise(told.dials)]
        assert rests[0] <= 1.0
        assert all(5 <= rest <= 10 for rest in rests[4:])

    virtual_time.run(story())


def test_a_dial_that_breaks_down_is_told_without_its_words_and_tried_again():
    async def story() -> None:
        async def script(_watcher: Watcher) -> StreamFailure:
            raise ValueError("rtsp://user:hunter2@camera")

        told = Story(script)
        await told.run(10)
        assert len(told.dials) >= 3
        assert {code for code, _ in told.told} == {StreamErrorCode.RTSP_REFUSED}

    virtual_time.run(story())


def test_each_change_is_told_when_it_happens_however_short_it_lasts():
    async def story() -> None:
        told = Story(refused)
        await told.run(10)
        assert len(told.dials) >= 3
        assert told.states[: 2 * len(told.dials)] == [
            (state, at) for at in told.dials for state in (StreamState.CONNECTING, StreamState.DISCONNECTED)
        ]

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


@pytest.mark.parametrize("interval", [5.0, 10.0])
def test_a_slow_camera_is_not_dialed_again_once_its_interval_is_known(interval: float):
    async def story() -> None:
        async def script(watcher: Watcher) -> StreamFailure:
            watcher.connected()
            while True:
                now = LoopClock().boot()
                await asyncio.sleep(interval - now % interval)  # a new client waits for the next frame
                hear_frame(watcher)

        told = Story(script)
        await told.run(600)
        assert len(told.dials) <= 3
        assert told.dials[-1] < 60
        assert told.watcher.stream.condition(600).state is StreamState.STREAMING

    virtual_time.run(story())


@pytest.mark.parametrize("is_prompt", [True, False])
def test_a_camera_that_pauses_between_bursts_is_not_dialed_again_once_its_pauses_are_known(is_prompt: bool):
    async def story() -> None:
        async def script(watcher: Watcher) -> StreamFailure:
            watcher.connected()
            if is_prompt:
                hear_frame(watcher)  # as servers send the latest frame to a new client
            while True:
                await asyncio.sleep(1 / 30)
                if LoopClock().boot() % 20 < 10:
                    hear_frame(watcher)

        told = Story(script)
        await told.run(600)
        assert len(told.dials) <= 6
        assert told.dials[-1] < 90
        assert told.watcher.stream.condition(600).state is StreamState.STREAMING

    virtual_time.run(story())


def hear_frame(watcher: Watcher) -> None:
    now = LoopClock().boot()
    watcher.stream.unit(now)
    watcher.stream.frame(now, now)


def test_pictures_that_none_can_begin_with_are_told_as_such():
    async def story() -> None:
        async def script(watcher: Watcher) -> StreamFailure:
            watcher.connected()
            while True:
                watcher.stream.unit(LoopClock().boot())
                await asyncio.sleep(0.1)

        told = Story(script)
        await told.run(31)
        assert [code for code, _ in told.told] == [StreamErrorCode.NO_KEYFRAME] * 2
        assert told.told[0][1] is None  # the first is no failure: nothing is dialed again
        assert told.told_at[0] <= 5
        assert told.told_at[1] >= 30

    virtual_time.run(story())


def test_a_camera_is_seen_that_sends_a_keyframe_every_twenty_seconds_and_does_not_begin_with_it():
    async def story() -> None:
        units = [picture_h264()] * 38 + ([keyframe_h264()] + [picture_h264()] * 39) * 2

        async def script(watcher: Watcher) -> StreamFailure:
            watcher.connected()
            reader = RtpReader(ReaderSpec(codec=VideoCodec.H264, payload_type=96))
            for packet in packets(units):
                for found in reader.receive(memoryview(packet)):
                    hear(watcher, found)
                await asyncio.sleep(0.5)
            raise AssertionError

        told = Story(script)
        await told.run(58)
        assert len(told.dials) == 1
        assert told.watcher.stream.condition(58).state is StreamState.STREAMING

    virtual_time.run(story())


def hear(watcher: Watcher, found: Found) -> None:
    """As a line does, with a decoder that can decode whatever is whole."""
    if isinstance(found, AccessUnit):
        now = LoopClock().boot()
        watcher.stream.unit(now)
        if not found.is_damaged:
            watcher.stream.frame(now, now)


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
        assert all(rest for _, rest in told.told[1:])

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
        assert told.told == [(StreamErrorCode.CORRUPT_STREAM, None)]
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
        assert (told.told[4][1] or 0.0) > 8
        assert (told.told[5][1] or 0.0) <= 1.0

    virtual_time.run(story())


def test_a_watcher_that_ends_leaves_no_dial_behind():
    async def story() -> None:
        before = asyncio.all_tasks()
        told = Story(mute)
        await told.run(1)
        assert asyncio.all_tasks() == before

    virtual_time.run(story())


class Recorder:
    """A host that is away for a while, and its cameras' way there."""

    def __init__(self, *, back_at: float, answers_after: float = 0.0) -> None:
        self.probes: list[float] = []
        self._back_at = back_at
        self._answers_after = answers_after

    @property
    def way(self) -> Way:
        return Way(site_id=SITE, host=Host(key=HostKey("192.0.2.7", 554), probe=self._probe))

    @property
    def is_back(self) -> bool:
        return LoopClock().boot() >= self._back_at

    async def dialed(self, watcher: Watcher) -> StreamFailure:
        if not self.is_back:
            return UNREACHABLE
        await frames(watcher, 1000)
        raise AssertionError

    async def _probe(self) -> bool:
        self.probes.append(LoopClock().boot())
        is_back = self.is_back
        await asyncio.sleep(self._answers_after)
        return is_back


def gaps(instants: list[float]) -> list[float]:
    return [later - sooner for sooner, later in pairwise(instants)]


def test_one_probe_a_second_stands_for_all_cameras_of_a_host_that_is_away():
    async def story() -> None:
        recorder, dialing = Recorder(back_at=300), Dialing(clock=LoopClock(), random=Random(1))
        many = [Story(recorder.dialed, way=recorder.way, dialing=dialing) for _ in range(8)]
        await asyncio.gather(*(each.run(310) for each in many))
        assert all(0.99 <= gap <= 1.5 for gap in gaps(recorder.probes))
        assert 290 <= len(recorder.probes) <= 301
        assert all(each.dials[-1] < 302 for each in many)
        assert all(each.watcher.stream.condition(310).state is StreamState.STREAMING for each in many)

    virtual_time.run(story())


def test_a_camera_whose_host_is_away_tells_so_once():
    async def story() -> None:
        recorder, dialing = Recorder(back_at=300), Dialing(clock=LoopClock(), random=Random(1))
        many = [Story(recorder.dialed, way=recorder.way, dialing=dialing) for _ in range(3)]
        await asyncio.gather(*(each.run(200) for each in many))
        assert [each.told for each in many] == [[(StreamErrorCode.TCP_TIMEOUT, 1.0)]] * 3
        assert all(each.watcher.stream.condition(200).state is StreamState.DISCONNECTED for each in many)

    virtual_time.run(story())


def test_probes_that_take_long_do_not_delay_the_next():
    async def story() -> None:
        recorder = Recorder(back_at=30, answers_after=4.0)
        told = Story(recorder.dialed, way=recorder.way)
        await told.run(40)
        assert all(0.99 <= gap <= 1.5 for gap in gaps(recorder.probes))
        assert 30 <= told.dials[-1] <= 36

    virtual_time.run(story())


def test_nobody_is_probed_for_whom_no_camera_waits():
    async def story() -> None:
        before = asyncio.all_tasks()
        recorder, dialing = Recorder(back_at=300), Dialing(clock=LoopClock(), random=Random(1))
        told = Story(recorder.dialed, way=recorder.way, dialing=dialing)
        await told.run(10)
        count = len(recorder.probes)
        await asyncio.sleep(10)
        assert len(recorder.probes) == count
        assert asyncio.all_tasks() == before
        assert dialing.why_away(recorder.way) is None

    virtual_time.run(story())


def test_cameras_that_come_back_together_are_dialed_at_the_site_s_pace():
    async def story() -> None:
        recorder, dialing = Recorder(back_at=30), Dialing(clock=LoopClock(), random=Random(1))
        many = [Story(recorder.dialed, way=recorder.way, dialing=dialing) for _ in range(30)]
        await asyncio.gather(*(each.run(60) for each in many))
        dials = sorted(each.dials[-1] for each in many)
        assert sum(dial < 32 for dial in dials) in range(9, 15)
        assert 39 <= dials[-1] < 55

    virtual_time.run(story())


def test_first_dials_that_were_paid_for_wait_for_no_turn_and_later_ones_do():
    async def story() -> None:
        dialing = Dialing(clock=LoopClock(), random=Random(1))
        many = [Story(refused, dialing=dialing, is_paid=True) for _ in range(30)]
        await asyncio.gather(*(each.run(2) for each in many))
        assert max(each.dials[0] for each in many) <= FIRST_DIAL_WITHIN + 0.001
        assert sum(len(each.dials) - 1 for each in many) in range(10, 15)

    virtual_time.run(story())


def test_a_first_dial_that_had_to_wait_for_its_host_waits_for_its_turn_too():
    async def story() -> None:
        recorder, dialing = Recorder(back_at=30), Dialing(clock=LoopClock(), random=Random(1))
        dialing.lost(recorder.way, UNREACHABLE)
        many = [Story(recorder.dialed, way=recorder.way, dialing=dialing, is_paid=True) for _ in range(30)]
        await asyncio.gather(*(each.run(33) for each in many))
        assert sum(len(each.dials) for each in many) in range(10, 17)

    virtual_time.run(story())


def test_a_dial_that_takes_long_keeps_its_place():
    async def story() -> None:
        under_way: list[int] = [0, 0]

        async def slow(_watcher: Watcher) -> StreamFailure:
            under_way[0] += 1
            under_way[1] = max(under_way)
            await asyncio.sleep(7)
            under_way[0] -= 1
            return REFUSED

        dialing = Dialing(clock=LoopClock(), random=Random(1), pace=Pace(per_minute=6000, burst=4))
        many = [Story(slow, dialing=dialing) for _ in range(20)]
        await asyncio.gather(*(each.run(60) for each in many))
        assert under_way[1] == 4
        assert all(each.dials for each in many)

    virtual_time.run(story())


def test_a_pace_that_is_told_counts():
    async def story() -> None:
        recorder, dialing = Recorder(back_at=30), Dialing(clock=LoopClock(), random=Random(1))
        dialing.set_pace(recorder.way.site_id, Pace(per_minute=60, burst=2))
        many = [Story(recorder.dialed, way=recorder.way, dialing=dialing) for _ in range(12)]
        await asyncio.gather(*(each.run(90) for each in many))
        assert 39 <= max(each.dials[-1] for each in many) < 60

    virtual_time.run(story())


def test_first_dials_that_were_allowed_together_are_spread():
    async def story() -> None:
        dialing = Dialing(clock=LoopClock(), random=Random(1))
        many = [Story(mute, dialing=dialing, is_paid=True) for _ in range(30)]
        await asyncio.gather(*(each.run(2) for each in many))
        dials = sorted(each.dials[0] for each in many)
        assert dials[-1] <= FIRST_DIAL_WITHIN + 0.001
        assert len({round(each, 3) for each in dials}) > 20
        assert dials[15] > 0.05, "they do not go in one burst"

    virtual_time.run(story())
