"""Clips of what cameras really send: out of order, with other sizes, lost packets and gaps; each has to play."""

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil
from pathlib import Path

import av
import pytest

from streamward.drivers import camera
from streamward.drivers.addresses import CameraAddress, HostLimits
from streamward.drivers.cutting import PyAvCutter
from streamward.drivers.rounds import Rounds
from streamward.model.address_policy import AddressPolicy
from streamward.model.ids import CameraId
from streamward.model.source_url import SourceKind, parse
from streamward.model.video import NAL_CODECS
from streamward.nvr.faults import Corrupt, Fault, FpsChange, Frozen, Loss, Reencode, TimestampJump
from streamward.runner.recent import Recent
from streamward.runtime.clock import SystemClock
from streamward.vision.ring import Ring
from streamward.vision.sampling import READ_EVERY
from tests.support.cameras import Ear, watched
from tests.support.films import a_film
from tests.support.plants import at
from tests.support.recorders import PICTURE, a_recorder

CAMERA = CameraId("cam-1")


@dataclass(frozen=True)
class Played:
    """A clip as a player sees it."""

    sizes: set[tuple[int, int]]
    moments: list[float]  # seconds
    is_whole: bool

    @property
    def is_rising(self) -> bool:
        return all(before < after for before, after in pairwise(self.moments))


def played(clip: bytes) -> Played:
    """Decodes all of it, as players do: what cannot be read is passed over."""
    frames, count = [], 0
    with av.open(io.BytesIO(clip), "r") as read:
        for packet in read.demux(video=0):
            assert count or packet.is_keyframe
            count += packet.size > 0
            with contextlib.suppress(av.error.InvalidDataError):
                frames += packet.decode()
    sizes = {(frame.width, frame.height) for frame in frames}
    moments = [float(frame.time) for frame in frames if frame.time is not None]
    assert moments[0] == 0
    is_whole = len(frames) == count and not any(frame.is_corrupt for frame in frames)
    return Played(sizes, moments, is_whole)


def nothing_yet() -> Recent:
    return Recent(lambda: Ring(seconds=30, most_bytes=4 << 20), PyAvCutter())


@contextlib.asynccontextmanager
async def connected(address: CameraAddress, recent: Recent) -> AsyncIterator[Ear]:
    """One connection, of which somebody keeps the last seconds."""
    ear = Ear()
    heard = recent.hearing(CAMERA, ear)
    task = asyncio.ensure_future(camera.watch(address, heard, clock=SystemClock(), rounds=Rounds(every=READ_EVERY)))
    yield ear
    task.cancel()
    await asyncio.wait([task])


async def more(ear: Ear, units: int = 60) -> None:
    """So many units more than until now."""
    last = len(ear.units) + units
    await ear.until(lambda: len(ear.units) >= last)


async def in_rounds(address: CameraAddress, pictures: int) -> Recent:
    """What a camera sent, kept as if it had been read twenty times a second, however busy this machine is."""
    ear = await watched(address, pictures)
    recent = nothing_yet()
    heard = recent.hearing(CAMERA, ear)
    heard.playing(ear.codecs[0])
    first, arrived_at = ear.units[0].shown_at or 0.0, 0.0
    for unit in ear.units[:pictures]:
        rounds = ceil(((unit.shown_at or 0.0) - first) / READ_EVERY)
        arrived_at = max(arrived_at, rounds * READ_EVERY)
        heard.unit(replace(unit, arrived_at=arrived_at))
    return recent


@pytest.mark.parametrize("codec", NAL_CODECS)
async def test_a_clip_has_every_picture_at_the_pace_at_which_it_was_taken(codec):
    async with a_recorder(codec=codec) as nvr:
        recent = await in_rounds(at(nvr.url(CAMERA)), 60)
    shown = played((await recent.clip(CAMERA, seconds=30)).content)
    assert (shown.is_whole, len(shown.moments)) == (True, 60)
    assert {round(after - before, 3) for before, after in pairwise(shown.moments)} == {1 / PICTURE.fps}


@pytest.mark.parametrize(
    ("fault", "is_whole"),
    [
        (Loss(share=0.02), True),  # what needs a lost picture is left out
        (Corrupt(share=0.05), False),
        (TimestampJump(seconds=3600), True),
        (TimestampJump(seconds=-3600), True),
        (FpsChange(fps=10), True),
        (Frozen(), True),
    ],
)
async def test_whatever_a_camera_does_its_clip_plays_with_rising_times(fault: Fault, is_whole: bool):
    recent = nothing_yet()
    async with a_recorder() as nvr, connected(at(nvr.url(CAMERA)), recent) as ear:
        await more(ear, 30)
        await nvr.set(fault)
        await more(ear, 40)
        await nvr.clear()
        await more(ear, 30)
        shown = played((await recent.clip(CAMERA, seconds=30)).content)
    assert shown.is_rising
    assert shown.is_whole or not is_whole
    assert 2 < shown.moments[-1] - shown.moments[0] < 60  # and not hours


async def test_after_another_size_a_clip_begins_with_that():
    recent = nothing_yet()
    async with a_recorder() as nvr, connected(at(nvr.url(CAMERA)), recent) as ear:
        await more(ear, 30)
        await nvr.set(Reencode(width=480, height=288))
        await more(ear, 30)
        shown = played((await recent.clip(CAMERA, seconds=30)).content)
    assert (shown.sizes, shown.is_rising, shown.is_whole) == ({(480, 288)}, True, True)


async def test_a_clip_goes_on_over_a_new_connection():
    recent = nothing_yet()
    async with a_recorder() as nvr:
        for _ in range(2):
            async with connected(at(nvr.url(CAMERA)), recent) as ear:
                await more(ear, 30)
        shown = played((await recent.clip(CAMERA, seconds=30)).content)
    assert (len(shown.moments) >= 60, shown.is_rising, shown.is_whole) == (True, True, True)


async def test_a_clip_of_a_camera_that_came_back_with_another_codec_is_of_that_codec():
    recent = nothing_yet()
    for codec in NAL_CODECS:
        async with a_recorder(codec=codec) as nvr, connected(at(nvr.url(CAMERA)), recent) as ear:
            await more(ear, 30)
            clip = (await recent.clip(CAMERA, seconds=30)).content
            with av.open(io.BytesIO(clip), "r") as read:
                assert read.streams.video[0].codec_context.name == {"h264": "h264", "h265": "hevc"}[codec]
            assert (played(clip).is_rising, played(clip).is_whole) == (True, True)


def out_of_order(path: Path, encoder: str) -> CameraAddress:
    """A film whose pictures are not sent in the order in which they are shown, ten a second, as a camera."""
    options = {"preset": "fast", "x265-params": "log-level=0"} if encoder == "libx265" else {"preset": "fast"}
    film = a_film(path / "film.mp4", encoder, frames=40, gop_size=20, max_b_frames=2, options=options)
    url = parse(f"file://{film}", kinds=set(SourceKind)).url
    policy = AddressPolicy(kinds=frozenset(SourceKind))
    limits = HostLimits(addresses=policy, folders=(str(path),))
    return CameraAddress(url=url, credential=None, addresses=policy, limits=limits)


@pytest.mark.parametrize("encoder", ["libx264", "libx265"])
async def test_pictures_that_were_not_sent_in_order_are_shown_in_order(tmp_path: Path, encoder: str):
    recent = await in_rounds(out_of_order(tmp_path, encoder), 35)
    shown = played((await recent.clip(CAMERA, seconds=30)).content)
    assert (shown.is_whole, shown.is_rising, len(shown.moments)) == (True, True, 35)
    assert {round(after - before, 2) for before, after in pairwise(shown.moments[:-4])} == {0.1}  # the end is cut


@pytest.mark.parametrize("encoder", ["libx264", "libx265"])
async def test_a_picture_that_a_decoder_still_holds_back_can_be_shown(tmp_path: Path, encoder: str):
    ear = await watched(out_of_order(tmp_path, encoder), 2)
    recent = nothing_yet()
    heard = recent.hearing(CAMERA, ear)
    heard.playing(ear.codecs[0])
    for unit in ear.units[:2]:
        heard.unit(unit)
        assert (await recent.snapshot(CAMERA, has_boxes=False)).startswith(b"\xff\xd8")
