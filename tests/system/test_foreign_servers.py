"""The camera client against RTSP servers that we did not write, and the recorder against clients that we did not."""

import asyncio
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

import av
import pytest

from streamward.drivers import camera
from streamward.drivers.decoder import decoder_for
from streamward.model.stream_error import StreamErrorCode
from streamward.model.video import NAL_CODECS, VideoCodec
from streamward.runtime.clock import SystemClock
from tests.support.cameras import Ear, dial, watched
from tests.support.films import a_film
from tests.support.media_servers import PICTURE, go2rtc, gstreamer, write
from tests.support.plants import CameraPlant, at
from tests.support.recorders import ADA, WRONG, a_recorder


def decoded(ear: Ear) -> int:
    decoder = decoder_for(ear.codecs[0])
    whole = [unit for unit in ear.units if not unit.is_damaged]
    frames = sum(1 for unit in whole for _ in decoder.decode(unit.content, is_keyframe=unit.is_keyframe))
    assert decoder.corrupt == 0
    return frames


@pytest.mark.parametrize("codec", NAL_CODECS)
async def test_go2rtc_shows_what_it_gets_from_our_recorder(codec: VideoCodec, tmp_path: Path):
    async with a_recorder(codec=codec) as nvr:
        with go2rtc(tmp_path, {"front": nvr.url("cam-1")}) as server:
            ear = await watched(at(server.url("front")), 75)  # it begins wherever it is in 25 pictures
            assert nvr.recorder.sessions.count(0.0) <= 1
    assert ear.codecs == [codec]
    assert not ear.troubles
    assert decoded(ear) >= 40


async def test_pictures_that_are_not_sent_in_order_are_dated_as_they_are_shown(tmp_path: Path):
    is_over = threading.Event()
    options = {"preset": "fast"}
    film = a_film(tmp_path / "film.mp4", frames=600, gop_size=10, max_b_frames=2, options=options)

    def publish(url: str) -> None:
        with (
            av.open(str(film), "r") as source,
            av.open(url, "w", format="rtsp", options={"rtsp_transport": "tcp"}) as container,
        ):
            stream = container.add_stream_from_template(source.streams.video[0])
            for packet in source.demux(video=0):
                if not packet.size or is_over.wait(0.1):
                    return
                packet.stream = stream
                container.mux(packet)

    async def watch(url: str, ear: Ear) -> None:
        while not ear.units:  # nobody is there before it is published
            await camera.watch(at(url), ear, clock=SystemClock())

    with go2rtc(tmp_path, {"pushed": None}) as server:
        publishing = asyncio.ensure_future(asyncio.to_thread(publish, server.url("pushed")))
        watching = asyncio.ensure_future(watch(server.url("pushed"), ear := Ear()))
        await ear.until(lambda: len(ear.units) >= 40)
        watching.cancel()
        is_over.set()
        await asyncio.wait([watching, publishing])
    marks = [round(unit.shown_at or 0.0, 2) for unit in ear.units]
    assert marks != sorted(marks)
    assert {round(after - before, 2) for before, after in itertools.pairwise(sorted(marks)[4:-4])} == {0.1}


async def test_go2rtc_shows_what_ffmpeg_s_library_publishes(tmp_path: Path):
    is_over = threading.Event()

    def numbers() -> Iterator[int]:
        for number in itertools.count():
            if is_over.wait(1 / PICTURE.fps):
                return
            yield number

    def publish(url: str) -> None:
        with av.open(url, "w", format="rtsp", options={"rtsp_transport": "tcp"}) as container:
            write(container, VideoCodec.H264, numbers())

    with go2rtc(tmp_path, {"pushed": None}) as server:
        publishing = asyncio.ensure_future(asyncio.to_thread(publish, server.url("pushed")))
        async with CameraPlant({"cam-1": at(server.url("pushed"))}) as plant:
            await plant.streaming()
            assert "STREAMING" in {told.state for told in plant.told}
        is_over.set()
        await publishing


async def test_go2rtc_that_is_killed_and_started_again_is_watched_again(tmp_path: Path):
    async with a_recorder() as nvr:
        with go2rtc(tmp_path, {"front": nvr.url("cam-1")}) as server:
            async with CameraPlant({"cam-1": at(server.url("front"))}) as plant:
                await plant.streaming()
                server.kill()
                await plant.until(lambda: plant.errors("cam-1"))
                since = SystemClock().boot()
                server.start()
                await plant.streaming(since=since)
                assert plant.errors("cam-1")[0].code == StreamErrorCode.TCP_REFUSED


async def test_a_stream_that_go2rtc_does_not_have_is_not_found(tmp_path: Path):
    with go2rtc(tmp_path, {}) as server:
        assert (await dial(at(server.url("none")))).code is StreamErrorCode.RTSP_NOT_FOUND


@pytest.mark.parametrize("codec", NAL_CODECS)
async def test_gstreamer_shows_its_files(codec: VideoCodec, tmp_path: Path):
    with gstreamer(tmp_path) as server:
        ear = await watched(at(f"{server}/{codec}"), 40)
    assert ear.codecs == [codec]
    assert not ear.troubles
    assert decoded(ear) >= 30


@pytest.mark.parametrize("method", ["basic", "digest"])
async def test_gstreamer_lets_in_who_has_a_login(method: str, tmp_path: Path):
    with gstreamer(tmp_path, method=method) as server:
        assert (await watched(at(f"{server}/h264", credential=ADA), 5)).units
        wrong = await dial(at(f"{server}/h264", credential=WRONG))
        nobody = await dial(at(f"{server}/h264"))
    assert (wrong.code, wrong.is_login_refused) == (StreamErrorCode.RTSP_AUTH_FAILED, True)
    assert (nobody.code, nobody.is_login_refused) == (StreamErrorCode.RTSP_AUTH_FAILED, False)


async def test_a_path_that_gstreamer_does_not_have_is_not_found(tmp_path: Path):
    with gstreamer(tmp_path) as server:
        assert (await dial(at(f"{server}/none"))).code is StreamErrorCode.RTSP_NOT_FOUND


@pytest.mark.parametrize("codec", NAL_CODECS)
async def test_ffmpeg_s_library_reads_our_recorder(codec: VideoCodec):
    def read(url: str) -> int:
        with av.open(url, options={"rtsp_transport": "tcp"}, timeout=60) as container:
            return sum(1 for _ in itertools.islice(container.decode(video=0), 30))

    async with a_recorder(codec=codec) as nvr:
        assert await asyncio.to_thread(read, nvr.url("cam-1")) == 30
