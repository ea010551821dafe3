"""Files of somebody's own as cameras: shown as they are where that will do, else encoded once."""

import wave
from pathlib import Path
from typing import Any

import httpx
import pytest

from streamward.model.video import PictureSize, VideoCodec
from streamward.nvr import footage
from streamward.nvr.control import ControlApi
from streamward.nvr.faults import Reencode
from streamward.nvr.footage import FootageUnusable
from streamward.nvr.server import Nvr
from streamward.nvr.spec import NvrSpec, clip_cameras
from streamward.protocol.rtp.reader import PictureSizeChanged
from tests.support.films import a_film
from tests.support.pictures import decoded
from tests.support.watching import watching

H265 = {"options": {"preset": "ultrafast", "x265-params": "log-level=none:bframes=0"}}


def a_recorder(*files: Path) -> Nvr:
    return Nvr(NvrSpec(cameras=clip_cameras(files), clips=files[0].parent / "clips"))


@pytest.mark.parametrize(
    ("name", "codec", "more", "shown"),
    [
        ("a.mp4", "libx264", {}, VideoCodec.H264),
        ("a.ts", "libx264", {}, VideoCodec.H264),
        ("a.h264", "libx264", {}, VideoCodec.H264),
        ("a.mkv", "libx265", H265, VideoCodec.H265),
    ],
)
def test_what_will_do_is_shown_as_it_is(tmp_path: Path, name: str, codec: str, more: dict[str, Any], shown: VideoCodec):
    looked = footage.look(a_film(tmp_path / name, codec, **more))
    clip = looked.clip(tmp_path / "clips")
    assert looked.is_ready(tmp_path / "clips")
    assert not (tmp_path / "clips").exists()
    assert (clip.codec, clip.size, clip.scene) == (shown, PictureSize(320, 192), None)
    assert [place for place, unit in enumerate(clip.units) if unit.is_keyframe] == [0, 5, 10, 15]
    assert decoded(shown, [unit.content for unit in clip.units]) == 20


@pytest.mark.parametrize(
    ("name", "codec", "more"),
    [
        ("out-of-order.mp4", "libx264", {"max_b_frames": 2, "options": {"preset": "veryfast"}}),
        ("one-keyframe.mp4", "libx264", {"gop_size": 1000, "frames": 150}),
        ("another-codec.mp4", "mpeg4", {"options": {}}),
        ("odd.avi", "mpeg4", {"options": {}, "size": (322, 194)}),
    ],
)
def test_what_will_not_do_is_encoded_once(tmp_path: Path, name: str, codec: str, more: dict[str, Any]):
    file, folder = a_film(tmp_path / name, codec, **more), tmp_path / "clips"
    assert not footage.look(file).is_ready(folder)
    clip = footage.look(file).clip(folder)
    (kept,) = folder.iterdir()
    made_at = kept.stat().st_mtime_ns
    again = footage.look(file)
    assert again.is_ready(folder)
    assert again.clip(folder) == clip
    assert kept.stat().st_mtime_ns == made_at
    assert (clip.codec, clip.fps, len(clip.units)) == (VideoCodec.H264, 10, more.get("frames", 20))
    assert [place for place, unit in enumerate(clip.units) if unit.is_keyframe] == list(range(0, len(clip.units), 10))


async def test_a_file_is_looped_with_running_numbers_and_nobody_knows_its_truth(tmp_path: Path):
    async with a_recorder(a_film(tmp_path / "a.mp4")) as nvr, watching(nvr.url("clip-1")) as seen:
        units = await seen.pictures(45)  # twice round, and some
        notes = [seen.note(unit) for unit in units]
        assert not any(unit.is_damaged for unit in units)
        assert [note.number for note in notes] == list(range(notes[0].number, notes[0].number + 45))
        assert {note.camera for note in notes} == {"clip-1"}
        api = ControlApi(nvr)
        async with httpx.AsyncClient(base_url=await api.start(), timeout=60) as client:
            (told,) = (await client.get("/cameras")).json()
            truth = await client.get("/truth", params={"camera": "clip-1", "frame": notes[1].number})
        await api.stop()
    assert (told["scene"], told["codec"], told["width"], told["fps"], told["loop"]) == (None, "h264", 320, 10, 20)
    assert truth.json() == {
        "scene": None, "loop_frame": notes[1].number % 20, "is_known": False, "objects": None
    }  # fmt: skip


async def test_a_file_is_encoded_anew_when_a_fault_says_so(tmp_path: Path):
    async with a_recorder(a_film(tmp_path / "a.mp4")) as nvr, watching(nvr.url("clip-1")) as seen:
        await seen.pictures(1)
        await nvr.set(Reencode(width=384, height=224), camera="clip-1")
        grown = PictureSizeChanged(PictureSize(320, 192), PictureSize(384, 224))
        await seen.until(lambda watch: grown in watch.facts)
        assert not any(unit.is_damaged for unit in await seen.pictures(20))


def laid(folder: Path) -> dict[str, Path]:
    """Files that are no video, by what is wrong with them."""
    files = {name: folder / name for name in ("text.mp4", "empty.mp4", "sound.wav", "cut.mp4", "nowhere.mp4", "folder")}
    files["text.mp4"].write_text("a letter to my mother " * 100)
    files["empty.mp4"].touch()
    files["cut.mp4"].write_bytes(a_film(folder / "whole.mp4").read_bytes()[:2000])
    files["folder"].mkdir()
    with wave.open(str(files["sound.wav"]), "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", "not compressed"))
        sound.writeframes(bytes(16_000))
    return files


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("text.mp4", "it is no video that can be read"),
        ("empty.mp4", "it is no video that can be read"),
        ("cut.mp4", "it is no video that can be read"),
        ("sound.wav", "it has no video track"),
        ("nowhere.mp4", "no such file or directory"),
        ("folder", "is a directory"),
    ],
)
def test_what_is_no_video_is_one_sentence(tmp_path: Path, name: str, why: str):
    file = laid(tmp_path)[name]
    with pytest.raises(FootageUnusable) as refused:
        footage.look(file)
    assert str(refused.value) == f"cannot show {file}: {why}"
