"""Each fault shows the behaviour that it claims, to the protocol's own client over real sockets."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from itertools import pairwise

import pytest

from streamward.model.stream_error import StreamErrorCode
from streamward.model.video import PictureSize, VideoCodec
from streamward.nvr import faults
from streamward.nvr.faults import Step
from streamward.nvr.server import Nvr
from streamward.nvr.tally import Deed
from streamward.protocol.rtp import nal
from streamward.protocol.rtp.reader import PacketsLost, PayloadTypeChanged, PictureSizeChanged, TimestampJumped
from streamward.protocol.rtsp.client import ClientState, Failed, Playing
from streamward.protocol.rtsp.framing import Skipped
from tests.support.recorders import PICTURE, a_recorder
from tests.support.watching import Watch, played, watching

SOON = 0.8  # seconds in which nothing comes


async def back(nvr: Nvr, camera: str) -> None:
    """Dials until a camera shows something."""
    async with asyncio.timeout(60):
        while not await is_shown(nvr, camera):
            pass


async def is_shown(nvr: Nvr, camera: str, until: Callable[[Watch], object] = lambda _: True) -> bool:
    """Whether a dial leads to pictures; those who want more watch on until it is so."""
    await asyncio.sleep(0)  # a refused dial alone lets nobody else run
    with contextlib.suppress(ConnectionRefusedError):
        async with watching(nvr.url(camera)) as seen:
            await seen.until(lambda watch: watch.is_over or (watch.units and until(watch)))
            return bool(seen.units)
    return False


async def test_a_recorder_that_refuses_has_nobody_at_its_port_until_it_is_over():
    async with a_recorder() as nvr:
        await nvr.set(faults.Refuse())
        with pytest.raises(ConnectionRefusedError):
            async with watching(nvr.url("cam-1")):
                pass
        await nvr.clear()
        await back(nvr, "cam-1")


async def test_a_slow_recorder_hears_each_request_later():
    async with a_recorder() as nvr:
        await nvr.set(faults.Slow(seconds=0.1))
        began = asyncio.get_running_loop().time()
        async with watching(nvr.url("cam-1")) as seen:
            await played(seen)
        assert asyncio.get_running_loop().time() - began >= 0.3  # it heard three requests at least


async def test_one_camera_that_refuses_cuts_whoever_names_it_and_no_other():
    async with a_recorder() as nvr:
        await nvr.set(faults.Refuse(), camera="cam-1")
        async with watching(nvr.url("cam-1")) as seen, watching(nvr.url("cam-2")) as other:
            await seen.until(lambda watch: watch.is_cut)
            await played(other)
            assert not seen.effects


@pytest.mark.parametrize(
    ("after", "camera", "waits_for"),
    [
        (Step.CONNECT, None, ClientState.OPTIONS),
        (Step.CONNECT, "cam-1", ClientState.OPTIONS),
        (Step.OPTIONS, "cam-1", ClientState.DESCRIBE),
        (Step.DESCRIBE, "cam-1", ClientState.SETUP),
        (Step.SETUP, "cam-1", ClientState.PLAY),
    ],
)
async def test_a_mute_camera_answers_nothing_after_its_step(after, camera, waits_for):
    async with a_recorder() as nvr:
        await nvr.set(faults.Mute(after=after), camera=camera)
        async with watching(nvr.url("cam-1")) as seen:
            await seen.until(lambda watch: watch.client.state is waits_for)
            with pytest.raises(TimeoutError):
                await seen.until(lambda watch: watch.client.state is not waits_for or watch.is_over, within=SOON)
            assert not seen.units


async def test_a_camera_that_is_mute_after_play_shows_nothing():
    async with a_recorder() as nvr:
        await nvr.set(faults.Mute(after=Step.PLAY), camera="cam-1")
        async with watching(nvr.url("cam-1")) as seen:
            await seen.first(Playing)
            with pytest.raises(TimeoutError):
                await seen.pictures(1, within=SOON)


async def test_a_trickling_camera_sends_byte_by_byte():
    async with a_recorder() as nvr:
        await nvr.set(faults.Trickle(every=0.01), camera="cam-1")
        async with watching(nvr.url("cam-1")) as seen:
            await seen.until(lambda watch: len(watch.chunks) >= 20)
            assert max(seen.chunks) < 50  # a busy machine may read several at once, but never the whole answer
            assert seen.client.state is ClientState.OPTIONS


async def test_a_camera_can_begin_to_trickle_in_the_middle_of_its_pictures():
    async with a_recorder() as nvr, watching(nvr.url("cam-1")) as seen:
        await played(seen)
        await nvr.set(faults.Trickle(every=0.01, after=Step.PLAY))
        await seen.until(lambda watch: max(watch.chunks[-5:]) < 50)
        await nvr.clear()
        assert not any(unit.is_damaged for unit in await seen.pictures(10))


async def test_a_camera_that_sends_only_reports_shows_nothing():
    async with a_recorder() as nvr:
        await nvr.set(faults.RtcpOnly(every=0.1), camera="cam-1")
        async with watching(nvr.url("cam-1")) as seen:
            await seen.until(lambda watch: len(watch.reports) >= 3)
            assert not seen.units
            await nvr.clear()
            await seen.pictures(3)


async def test_a_frozen_picture_is_the_same_again_and_again_with_time_going_on():
    async with a_recorder() as nvr, watching(nvr.url("cam-1")) as seen:
        await played(seen)
        await nvr.set(faults.Frozen(), camera="cam-1")
        before = nvr.recorder.cameras["cam-1"].number
        await seen.until(lambda watch: watch.note(watch.units[-1]).number > before)
        frozen = await seen.pictures(10)
        notes = [seen.note(unit) for unit in frozen]
        pictures = {max(nal.split(unit.content), key=len).tobytes() for unit in frozen}
        places = {nvr.recorder.moment("cam-1", note.number) for note in notes}
        assert len(pictures) == len(places) == 1
        assert [after.number - before.number for before, after in pairwise(notes)] == [1] * 9
        assert frozen[1].timestamp - frozen[0].timestamp == 90_000 // PICTURE.fps
        await nvr.clear()
        assert not any(unit.is_damaged for unit in await seen.pictures(30))


async def test_a_peer_that_vanished_says_nothing_and_is_cut_when_it_is_back():
    async with a_recorder() as nvr, watching(nvr.url("cam-1")) as seen, watching(nvr.url("cam-2")) as other:
        await played(seen)
        await played(other)
        await nvr.set(faults.HalfOpen(), camera="cam-1")
        seen.give_back()
        await other.pictures(10)
        count = len(seen.units)
        await other.pictures(10)
        assert (len(seen.units), seen.is_cut, nvr.recorder.sessions.count(0.0)) == (count, False, 2)
        await nvr.clear()
        await seen.until(lambda watch: watch.is_over)


async def test_a_recorder_that_vanished_answers_no_new_client_either():
    async with a_recorder() as nvr:
        await nvr.set(faults.HalfOpen())
        async with watching(nvr.url("cam-1"), answer_within=SOON) as seen:
            assert (await seen.first(Failed)).code is StreamErrorCode.TCP_TIMEOUT


@pytest.mark.parametrize(
    ("fault", "code", "status"),
    [
        (faults.Missing(), StreamErrorCode.RTSP_NOT_FOUND, 404),
        (faults.Full(), StreamErrorCode.CAMERA_FULL, 453),
        (faults.Full(status=503), StreamErrorCode.CAMERA_FULL, 503),
        (faults.SessionLimit(most=0, status=503), StreamErrorCode.CAMERA_FULL, 503),
        (faults.Redirect(to="rtsp://192.0.2.1/cam-1"), StreamErrorCode.URL_FORBIDDEN, 302),
        (faults.Redirect(to="rtsp://192.0.2.1/cam-1", at="options"), StreamErrorCode.URL_FORBIDDEN, 302),
    ],
)
async def test_a_camera_answers_with_the_status_of_its_fault(fault, code, status):
    async with a_recorder() as nvr:
        await nvr.set(fault, camera="cam-1")
        async with watching(nvr.url("cam-1")) as seen, watching(nvr.url("cam-2")) as other:
            failed = await seen.first(Failed)
            assert (failed.code, failed.status) == (code, status)
            await played(other)


async def test_a_session_that_was_not_given_back_takes_up_room_for_a_while():
    async with a_recorder() as nvr:
        await nvr.set(faults.SessionLimit(most=1, stale_for=600.0), camera="cam-1")
        async with watching(nvr.url("cam-1")) as first:
            await played(first)
        async with watching(nvr.url("cam-1")) as second:
            assert (await second.first(Failed)).code is StreamErrorCode.CAMERA_FULL
        now = asyncio.get_running_loop().time()
        assert [nvr.recorder.sessions.count(now + later) for later in (500, 600)] == [1, 0]
        await back(nvr, "cam-1")


@pytest.mark.parametrize("camera", ["cam-1", None])
async def test_a_reboot_cuts_everybody_and_is_over_after_a_while(camera):
    async with a_recorder() as nvr, watching(nvr.url("cam-1")) as seen:
        await played(seen)
        await nvr.set(faults.Reboot(down_for=0.3), camera=camera)
        await seen.until(lambda watch: watch.is_cut)
        assert nvr.tally.total(Deed.SESSION_LOST) == 1
        await back(nvr, "cam-1")


async def test_a_reboot_cycle_comes_again():
    async with a_recorder() as nvr:
        await nvr.set(faults.Reboot(down_for=0.1, up_for=2))
        cuts = 0
        async with asyncio.timeout(60):
            while cuts < 2:
                cuts += await is_shown(nvr, "cam-1", until=lambda watch: watch.is_cut)
        assert nvr.tally.total(Deed.SESSION_LOST) >= 2


async def test_another_codec_in_mid_stream_has_another_payload_type():
    async with a_recorder() as nvr:
        async with watching(nvr.url("cam-1")) as seen:
            await played(seen)
            await nvr.set(faults.Reencode(codec=VideoCodec.H265), camera="cam-1")
            await seen.first(PayloadTypeChanged)
        async with watching(nvr.url("cam-1")) as again:
            assert not (await again.pictures(1))[0].is_damaged


async def test_another_size_in_mid_stream_begins_with_a_keyframe():
    async with a_recorder() as nvr, watching(nvr.url("cam-1")) as seen:
        await played(seen)
        await nvr.set(faults.Reencode(width=384, height=224), camera="cam-1")
        await seen.until(lambda watch: PictureSizeChanged(PictureSize(320, 192), PictureSize(384, 224)) in watch.facts)
        assert not any(unit.is_damaged for unit in await seen.pictures(30))


async def test_lost_packets_are_missing():
    async with a_recorder() as nvr, watching(nvr.url("cam-1")) as seen:
        await played(seen)
        await nvr.set(faults.Loss(share=0.2), camera="cam-1")
        assert (await seen.first(PacketsLost)).count > 0


async def test_corrupt_packets_are_not_what_was_encoded():
    async with a_recorder() as nvr, watching(nvr.url("cam-1")) as seen:
        whole = {piece for unit in await seen.pictures(PICTURE.loop) for piece in _slices(unit.content)}
        await nvr.set(faults.Corrupt(share=1.0), camera="cam-1")
        shown = await seen.until(lambda watch: _slices(watch.units[-1].content) - whole)
        await nvr.clear()
        again = await seen.until(lambda watch: _slices(watch.units[-1].content) & whole)
        assert shown.isdisjoint(whole)
        assert again <= whole


async def test_a_wrong_length_makes_a_client_search_for_the_next_frame():
    async with a_recorder() as nvr, watching(nvr.url("cam-1")) as seen:
        await played(seen)
        await nvr.set(faults.Corrupt(share=0.3, target="length"), camera="cam-1")
        assert (await seen.first(Skipped)).count > 0


async def test_timestamps_jump_there_and_back():
    async with a_recorder() as nvr, watching(nvr.url("cam-1")) as seen:
        await played(seen)
        await nvr.set(faults.TimestampJump(seconds=100), camera="cam-1")
        assert abs((await seen.first(TimestampJumped)).seconds - 100) < 1
        await nvr.clear(kind="timestamp_jump")
        await seen.until(lambda watch: [f for f in watch.facts if isinstance(f, TimestampJumped) and f.seconds < 0])


async def test_a_clock_can_be_hours_off():
    async with a_recorder() as nvr:
        await nvr.set(faults.ClockOff(seconds=7200), camera="cam-1")
        async with watching(nvr.url("cam-1")) as seen:
            report = (await seen.until(lambda watch: watch.reports))[0]
            assert 7100 < report.wall_time - time.time() < 7201


async def test_the_frame_rate_can_change():
    async with a_recorder() as nvr, watching(nvr.url("cam-1")) as seen:
        await played(seen)
        await nvr.set(faults.FpsChange(fps=50), camera="cam-1")
        last = (await seen.pictures(30))[-2:]
        assert last[1].timestamp - last[0].timestamp == 1800


async def test_faults_of_several_kinds_count_together():
    async with a_recorder() as nvr, watching(nvr.url("cam-1")) as seen:
        await played(seen)
        await nvr.set(faults.Loss(share=0.2), camera="cam-1")
        await nvr.set(faults.TimestampJump(seconds=50))
        assert (await seen.first(PacketsLost)).count > 0
        assert abs((await seen.first(TimestampJumped)).seconds - 50) < 1


def _slices(content: bytes) -> set[bytes]:
    return {bytes(each) for each in nal.split(content) if len(each) > 100}
