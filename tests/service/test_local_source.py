"""Files as cameras, with clips that PyAV wrote: played at their own pace, over and over, until told to end."""

import os
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest

from streamward.drivers.addresses import CameraAddress, HostLimits
from streamward.drivers.decoder import decoder_for
from streamward.model.address_policy import AddressPolicy
from streamward.model.source_url import NETWORK, SourceKind, parse
from streamward.model.stream_error import StreamErrorCode
from streamward.model.video import VideoCodec
from streamward.nvr.drawing import Canvas
from streamward.nvr.scene import Picture, make_scene
from tests.support.cameras import dial, watched

PICTURE = Picture(width=320, height=192, fps=25, loop=15)
LOCAL = AddressPolicy(kinds=NETWORK | {SourceKind.FILE, SourceKind.DEVICE})


def a_clip(path: Path, encoder: str, *, pix_fmt: str = "yuv420p", **options: str) -> Path:
    """Fifteen pictures, 0.6 s."""
    canvas = Canvas(make_scene(1, PICTURE))
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream(encoder, rate=Fraction(PICTURE.fps), options=options)
        stream.width, stream.height, stream.pix_fmt = PICTURE.width, PICTURE.height, pix_fmt
        for number in range(PICTURE.loop):
            frame = av.VideoFrame.from_ndarray(canvas.draw(number), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def at(
    path: Path | str,
    *,
    kind: SourceKind = SourceKind.FILE,
    addresses: AddressPolicy = LOCAL,
    limits: HostLimits | None = None,
) -> CameraAddress:
    """A file as a camera, on a host that opens files of its folder if not told otherwise."""
    url = parse(f"{kind}://{path}", kinds=set(SourceKind)).url
    here = HostLimits(addresses=LOCAL, folders=(str(Path(path).parent),))
    return CameraAddress(url=url, credential=None, addresses=addresses, limits=limits or here)


def decoded(ear: Any) -> int:
    decoder = decoder_for(ear.codecs[0])
    frames = (frame for unit in ear.units for frame in decoder.decode(unit.content, is_keyframe=unit.is_keyframe))
    return sum(1 for _ in frames)


@pytest.mark.parametrize(
    ("name", "encoder", "codec"),
    [
        ("clip.mp4", "libx264", VideoCodec.H264),
        ("clip.mkv", "libx264", VideoCodec.H264),
        ("clip.ts", "libx264", VideoCodec.H264),
        ("clip.h264", "libx264", VideoCodec.H264),
        ("clip.mp4", "libx265", VideoCodec.H265),
        ("clip.avi", "mpeg4", VideoCodec.H264),
        ("clip.webm", "libvpx", VideoCodec.H264),
    ],
)
async def test_a_file_is_shown_over_and_over(tmp_path: Path, name: str, encoder: str, codec: VideoCodec):
    ear = await watched(at(a_clip(tmp_path / name, encoder)), 3 * PICTURE.loop)
    assert ear.codecs == [codec]
    assert ear.units[0].is_keyframe
    assert decoded(ear) >= 2 * PICTURE.loop


async def test_a_file_is_played_at_its_own_pace(tmp_path: Path):
    ear = await watched(at(a_clip(tmp_path / "clip.mp4", "libx264")), 2 * PICTURE.loop)
    assert ear.units[-1].arrived_at - ear.units[0].arrived_at >= 0.9 * (2 * PICTURE.loop - 2) / PICTURE.fps


async def test_its_thread_ends_when_told(tmp_path: Path):
    before = set(threading.enumerate())
    await watched(at(a_clip(tmp_path / "clip.mp4", "libx264")), 2)
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=60)
        assert not thread.is_alive()


async def test_a_site_that_allows_no_files_has_none_read(tmp_path: Path):
    failure = await dial(at(a_clip(tmp_path / "clip.mp4", "libx264"), addresses=AddressPolicy()))
    assert failure.code is StreamErrorCode.URL_FORBIDDEN


@pytest.mark.parametrize("kind", [SourceKind.FILE, SourceKind.DEVICE])
async def test_a_runner_without_settings_opens_no_files_and_no_devices(tmp_path: Path, kind: SourceKind):
    path = a_clip(tmp_path / "clip.mp4", "libx264") if kind is SourceKind.FILE else "/dev/null"
    failure = await dial(at(path, kind=kind, limits=HostLimits()))
    assert failure.code is StreamErrorCode.SOURCE_NOT_PERMITTED


async def test_a_file_is_opened_only_below_a_folder_of_the_runner(tmp_path: Path):
    (tmp_path / "films").mkdir()
    (tmp_path / "films-of-others").mkdir()
    limits = HostLimits(addresses=LOCAL, folders=(str(tmp_path / "films"),))
    outside = a_clip(tmp_path / "films-of-others" / "clip.mp4", "libx264")
    inside = a_clip(tmp_path / "films" / "clip.mp4", "libx264")
    (tmp_path / "films" / "link.mp4").symlink_to(outside)
    (tmp_path / "films" / "out").symlink_to(tmp_path / "films-of-others")
    (tmp_path / "in").symlink_to(tmp_path / "films")
    refused = [
        outside,
        tmp_path / "films-of-others" / "not-there.mp4",  # the answer does not tell what exists elsewhere
        tmp_path / "films" / "link.mp4",
        tmp_path / "films" / "out" / "clip.mp4",
        tmp_path / "films",
    ]
    failures = [await dial(at(path, limits=limits)) for path in refused]
    assert {failure.code for failure in failures} == {StreamErrorCode.SOURCE_NOT_PERMITTED}
    for path in (inside, tmp_path / "in" / "clip.mp4"):
        assert (await watched(at(path, limits=limits), 2)).codecs == [VideoCodec.H264]


@pytest.mark.parametrize("kind", [SourceKind.FILE, SourceKind.DEVICE])
async def test_what_is_not_there_is_told(kind: SourceKind):
    failure = await dial(at("/dev/video-that-is-not-there", kind=kind))
    assert failure.code is StreamErrorCode.RTSP_NOT_FOUND


async def test_what_is_no_file_or_no_device_is_not_read(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    assert (await dial(at(tmp_path / "pipe"))).code is StreamErrorCode.RTSP_NOT_FOUND
    assert (await dial(at("/dev/null"))).code is StreamErrorCode.RTSP_NOT_FOUND
    (tmp_path / "folder").mkdir()
    assert (await dial(at(tmp_path / "folder"))).code is StreamErrorCode.RTSP_NOT_FOUND
    failure = await dial(at("/dev/null", kind=SourceKind.DEVICE))  # there, but it shows nothing
    assert failure.code in {StreamErrorCode.CORRUPT_STREAM, StreamErrorCode.RTSP_NOT_FOUND}


async def test_a_file_without_pictures_or_sense_is_told(tmp_path: Path):
    (tmp_path / "noise.mp4").write_bytes(bytes(range(256)) * 64)
    (tmp_path / "empty.mp4").write_bytes(b"")
    failures = [await dial(at(tmp_path / name)) for name in ("noise.mp4", "empty.mp4")]
    assert {failure.code for failure in failures} == {StreamErrorCode.CORRUPT_STREAM}


async def test_a_file_that_names_others_opens_none_of_them(tmp_path: Path):
    clip = a_clip(tmp_path / "clip.ts", "libx264")
    (tmp_path / "list.m3u8").write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{clip}\n#EXT-X-ENDLIST\n")
    (tmp_path / "list.ffconcat").write_text(f"ffconcat version 1.0\nfile {clip.name}\n")
    failures = [await dial(at(tmp_path / name)) for name in ("list.m3u8", "list.ffconcat")]
    assert {failure.code for failure in failures} == {StreamErrorCode.CORRUPT_STREAM}
