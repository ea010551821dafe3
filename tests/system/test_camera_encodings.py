"""What real encoders send, over real sockets: it streams, or its state says why it does not."""

import contextlib
from pathlib import Path

from streamward.drivers.cutting import PyAvCutter
from streamward.model.ids import CameraId
from streamward.model.status import StreamState
from streamward.model.stream_error import StreamErrorCode
from streamward.model.video import VideoCodec
from streamward.nvr.faults import Reboot
from streamward.runtime.clock import SystemClock
from streamward.vision.lane import ArrivedUnit
from tests.support.encodings import (
    FPS,
    a_moving_clip,
    an_nvr_of,
    too_large,
    with_random_slices,
    without_idr,
    without_messages,
)
from tests.support.films import a_film
from tests.support.media_servers import go2rtc, gstreamer
from tests.support.plants import CameraPlant, at

SLOW = CameraId("gstreamer-jpeg-slow")  # a frame every 5 s


async def test_a_camera_of_which_nothing_can_be_decoded_does_not_stream():
    good = a_moving_clip()
    clips = {"good": good, "too-large": too_large(good), "random-slices": with_random_slices(good)}
    bad = set(clips) - {"good"}
    async with (
        an_nvr_of(clips) as nvr,
        CameraPlant({name: at(nvr.url(name)) for name in clips}, max_fps=2.0) as plant,
    ):
        await plant.streaming("good")
        await plant.until(lambda: all(plant.reports[name].error_code == StreamErrorCode.CORRUPT_STREAM for name in bad))
        conditions = plant.worker.conditions
        metrics = plant.worker.metrics.render().decode()
    assert not [told for told in plant.told if told.camera in bad and told.state == "STREAMING"]
    assert {conditions[CameraId(name)].fps for name in bad} == {0.0}
    assert 'stream_up{camera_uuid="good"} 1.0' in metrics
    assert {name for name in bad if f'stream_up{{camera_uuid="{name}"}} 0.0' in metrics} == bad


async def test_a_camera_that_sends_no_idr_picture_streams_wherever_it_is_joined():
    open_gop = without_idr(a_moving_clip("open-gop=1:keyint=10", frames=150, b_frames=2))
    clips = {
        "open-gop": open_gop,
        "i-pictures": without_messages(open_gop),
        "intra-refresh": without_idr(a_moving_clip("intra-refresh=1:keyint=10", frames=150)),
    }
    async with (
        an_nvr_of(clips, is_prompt=False) as nvr,
        CameraPlant({name: at(nvr.url(name)) for name in clips}, max_fps=2.0) as plant,
    ):
        await plant.streaming()
        assert not [told for told in plant.told if told.code]
        for name in clips:
            await nvr.set(Reboot(down_for=0.1), camera=name)
        await plant.until(lambda: all(plant.errors(name) for name in clips))
        since = SystemClock().boot()
        await plant.streaming(since=since)
    assert {told.code for told in plant.told if told.code} == {StreamErrorCode.TCP_REFUSED}


async def test_what_other_servers_and_encoders_send_streams_or_is_named(tmp_path: Path):
    open_gop = without_idr(a_moving_clip("open-gop=1:keyint=10", frames=300, b_frames=2))
    refreshed = without_idr(a_moving_clip("intra-refresh=1:keyint=10", frames=300))
    for name, clip in {"open-gop": open_gop, "intra-refresh": refreshed}.items():
        units = [
            ArrivedUnit(content=unit.content, is_keyframe=place == 0, arrived_at=place / FPS)
            for place, unit in enumerate(clip.units)
        ]
        (tmp_path / f"{name}.mp4").write_bytes(PyAvCutter().clip(VideoCodec.H264, tuple(units)))
    a_film(tmp_path / "mpeg4.mp4", "mpeg4", options={})
    paths = ["jpeg-420", "jpeg-422", "jpeg-slow", "open-gop", "intra-refresh", "udp-only", "mpeg4"]
    clips = {"open-gop": open_gop, "intra-refresh": refreshed}
    unsupported = {
        "gstreamer-udp-only": StreamErrorCode.TRANSPORT_UNSUPPORTED,
        "gstreamer-mpeg4": StreamErrorCode.CODEC_UNSUPPORTED,
    }
    with contextlib.ExitStack() as servers:
        server = servers.enter_context(gstreamer(tmp_path))
        async with an_nvr_of(clips, is_prompt=False) as nvr:
            sources = {name: nvr.url(name) for name in clips} | {"jpeg-420": f"{server}/jpeg-420"}
            restreamer = servers.enter_context(go2rtc(tmp_path, sources))
            cameras = {f"gstreamer-{path}": at(f"{server}/{path}") for path in paths}
            cameras |= {f"go2rtc-{name}": at(restreamer.url(name)) for name in sources}
            async with CameraPlant(cameras, max_fps=2.0) as plant:
                await plant.streaming(*(cameras.keys() - unsupported))
                await plant.until(lambda: all(plant.errors(name) for name in unsupported))
                since, conditions = SystemClock().boot(), plant.worker.conditions
                await plant.until(lambda: last_frame_at(plant, SLOW) >= (conditions[SLOW].last_frame_at or 0.0) + 9)
    assert {name: plant.errors(name)[0].code for name in unsupported} == unsupported
    assert "over UDP only" in plant.errors("gstreamer-udp-only")[0].detail
    assert "the camera sends MP4V-ES: set it to H.264" in plant.errors("gstreamer-mpeg4")[0].detail
    for name in cameras.keys() - unsupported:
        condition = conditions[CameraId(name)]
        assert (name, condition.state, condition.error_code) == (name, StreamState.STREAMING, None)
    assert not plant.errors(SLOW, since=since)  # before, its first frame may have been too late


def last_frame_at(plant: CameraPlant, camera_id: CameraId) -> float:
    return plant.worker.conditions[camera_id].last_frame_at or 0.0
