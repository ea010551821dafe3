"""Simulated cameras that send given access units, encoded by PyAV: what encoders other than ours send."""

import random
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from streamward.model.video import PictureSize, VideoCodec
from streamward.nvr.clip import Clip, Unit
from streamward.nvr.reel import Library, Reel, cut
from streamward.nvr.scene import Picture
from streamward.nvr.server import Nvr
from streamward.nvr.spec import CameraSpec, NvrSpec
from streamward.protocol.rtp.nal import join, split
from tests.support.videos import a_giant

SIZE = PictureSize(320, 192)
FPS = 10


class _Clips(Library):
    """Scenes by number are clips by place."""

    def __init__(self, clips: list[Clip]) -> None:
        super().__init__(Path())
        self._clips = [cut(clip) for clip in clips]

    def reel(self, scene: int, codec: VideoCodec, picture: Picture) -> Reel:
        return self._clips[scene]


def an_nvr_of(clips: Mapping[str, Clip], *, is_prompt: bool = True) -> Nvr:
    """Cameras by name, each with its clip."""
    cameras = tuple(CameraSpec(name=name, scene=place) for place, name in enumerate(clips))
    return Nvr(NvrSpec(cameras=cameras, clips=Path(), is_prompt=is_prompt), library=_Clips(list(clips.values())))


def a_moving_clip(parameters: str = "", *, frames: int = 60, fps: float = FPS, b_frames: int = 0) -> Clip:
    """Moving pictures as H.264, with these parameters of x264."""
    encoder: Any = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height, encoder.pix_fmt = *SIZE, "yuv420p"
    encoder.framerate, encoder.time_base = Fraction(FPS), Fraction(1, FPS)
    encoder.gop_size, encoder.max_b_frames, encoder.thread_count = FPS, b_frames, 1
    more = f":{parameters}" if parameters else ""
    encoder.options = {"preset": "veryfast", "x264-params": f"scenecut=0:repeat-headers=1:log-level=none{more}"}
    ground = np.random.default_rng(1).integers(0, 255, (SIZE.height // 8, SIZE.width // 8, 3), dtype=np.uint8)
    ground = ground.repeat(8, axis=0).repeat(8, axis=1)
    packets = []
    for number in range(frames):
        frame = av.VideoFrame.from_ndarray(np.roll(ground, 8 * number, axis=1), format="rgb24")
        frame.pts, frame.time_base = number, encoder.time_base
        packets += encoder.encode(frame)
    packets += encoder.encode(None)
    units = tuple(Unit(content=bytes(packet), is_keyframe=packet.is_keyframe) for packet in packets)
    return Clip(codec=VideoCodec.H264, units=units, size=SIZE, fps=fps)


def with_random_slices(clip: Clip) -> Clip:
    """The same with nothing in its keyframes' slices that could be decoded."""
    dice = random.Random(1)

    def spoilt(nal: bytes) -> bytes:
        is_slice = nal[0] & 0x1F == 5
        return nal[:1] + dice.randbytes(len(nal) - 2) + b"\x80" if is_slice else nal

    def of(unit: Unit) -> Unit:
        return replace(unit, content=join([spoilt(bytes(nal)) for nal in split(unit.content)]))

    return replace(clip, units=tuple(of(unit) if unit.is_keyframe else unit for unit in clip.units))


def too_large(clip: Clip) -> Clip:
    """The same with parameter sets that announce pictures of 16384 × 16384 pixels."""
    giant = Unit(content=a_giant(VideoCodec.H264, PictureSize(16384, 16384)).content, is_keyframe=True)
    return replace(clip, units=tuple(giant if unit.is_keyframe else unit for unit in clip.units))


def without_idr(clip: Clip) -> Clip:
    """The same from its second parameter sets on, so that no picture of it is IDR."""
    kinds = [[nal[0] & 0x1F for nal in split(unit.content)] for unit in clip.units]
    first = next(place for place, kind in enumerate(kinds) if place and 7 in kind)
    assert not any(5 in kind for kind in kinds[first:])
    units = tuple(replace(unit, is_keyframe=place == 0) for place, unit in enumerate(clip.units[first:]))
    return replace(clip, units=units)


def without_messages(clip: Clip) -> Clip:
    """The same without supplemental information, such as recovery points."""

    def of(unit: Unit) -> Unit:
        return replace(unit, content=join([bytes(nal) for nal in split(unit.content) if nal[0] & 0x1F != 6]))

    return replace(clip, units=tuple(map(of, clip.units)))
