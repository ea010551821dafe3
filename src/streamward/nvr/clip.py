"""A scene encoded once: access units that any number of cameras send, over and over."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av

from streamward.model.video import VideoCodec
from streamward.nvr.drawing import Canvas
from streamward.nvr.scene import Picture, Scene, make_scene

_ENCODERS = {VideoCodec.H264: "libx264", VideoCodec.H265: "libx265"}
_OPTIONS = {
    VideoCodec.H264: {"x264-params": "scenecut=0:repeat-headers=1"},
    VideoCodec.H265: {"x265-params": "scenecut=0:repeat-headers=1:log-level=0"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One frame as it is sent: Annex B, with parameter sets before each keyframe."""

    content: bytes
    is_keyframe: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """One loop of a scene."""

    scene: Scene
    codec: VideoCodec
    units: tuple[Unit, ...]

    @property
    def bytes_per_second(self) -> float:
        picture = self.scene.picture
        return sum(len(unit.content) for unit in self.units) * picture.fps / len(self.units)


def encode(
    scene: Scene, *, codec: VideoCodec = VideoCodec.H264, bit_rate: int = 2_000_000, gop: int | None = None
) -> Clip:
    """Draws and encodes a whole loop; a keyframe each second unless told otherwise."""
    picture, canvas = scene.picture, Canvas(scene)
    encoder = av.CodecContext.create(_ENCODERS[codec], "w")
    assert isinstance(encoder, av.VideoCodecContext)
    encoder.width, encoder.height, encoder.pix_fmt = picture.width, picture.height, "yuv420p"
    encoder.framerate, encoder.time_base = Fraction(picture.fps), Fraction(1, picture.fps)
    encoder.bit_rate, encoder.gop_size, encoder.max_b_frames = bit_rate, gop or picture.fps, 0
    encoder.thread_count = 1
    encoder.options = {"preset": "ultrafast", "tune": "zerolatency", **_OPTIONS[codec]}
    packets = []
    for number in range(picture.loop):
        frame = av.VideoFrame.from_ndarray(canvas.draw(number), format="rgb24").reformat(format="yuv420p")
        frame.pts = number
        packets += encoder.encode(frame)
    packets += encoder.encode(None)
    units = tuple(Unit(content=bytes(packet), is_keyframe=packet.is_keyframe) for packet in packets)
    return Clip(scene=scene, codec=codec, units=units)


def load(number: int, folder: Path, *, codec: VideoCodec = VideoCodec.H264, picture: Picture | None = None) -> Clip:
    """The clip of a scene, from the folder if it was made before."""
    scene = make_scene(number, picture)
    path = path_of(number, folder, codec=codec, picture=scene.picture)
    if path.exists():
        return Clip(scene=scene, codec=codec, units=_read(path))
    clip = encode(scene, codec=codec)
    folder.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_bytes(_written(clip.units))
    fresh.replace(path)
    return clip


def path_of(number: int, folder: Path, *, codec: VideoCodec, picture: Picture) -> Path:
    """Where a clip is kept."""
    return folder / f"scene-{number}-{codec}-{picture.width}x{picture.height}-{picture.fps}-{picture.loop}.clip"


def _written(units: tuple[Unit, ...]) -> bytes:
    """Each unit with its length, the top bit of which says whether it is a keyframe."""
    return b"".join((len(unit.content) | unit.is_keyframe << 31).to_bytes(4, "big") + unit.content for unit in units)


def _read(path: Path) -> tuple[Unit, ...]:
    content, place, units = path.read_bytes(), 0, []
    while place < len(content):
        head = int.from_bytes(content[place : place + 4], "big")
        size = head & 0x7FFFFFFF
        units.append(Unit(content=content[place + 4 : place + 4 + size], is_keyframe=bool(head >> 31)))
        place += 4 + size
    return tuple(units)
