"""Pictures encoded once: access units that any number of cameras send, over and over."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
from av.video.frame import PictureType

from streamward.model.video import PictureSize, VideoCodec
from streamward.nvr.drawing import Canvas
from streamward.nvr.scene import Picture, Scene, make_scene

_ENCODERS = {VideoCodec.H264: "libx264", VideoCodec.H265: "libx265"}
_OPTIONS = {
    VideoCodec.H264: {"x264-params": "scenecut=0:repeat-headers=1"},
    VideoCodec.H265: {"x265-params": "scenecut=0:repeat-headers=1:log-level=0"},
}
_QUALITY = "26"  # of 51, which is the worst


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One frame as it is sent: Annex B, with parameter sets before each keyframe."""

    content: bytes
    is_keyframe: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How pictures are to be encoded."""

    codec: VideoCodec
    size: PictureSize
    fps: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """One loop of pictures."""

    codec: VideoCodec
    units: tuple[Unit, ...]
    size: PictureSize
    fps: float
    scene: Scene | None = None  # None: it is a file of somebody's, and nobody knows what is true of it


def encode(
    scene: Scene, *, codec: VideoCodec = VideoCodec.H264, bit_rate: int | None = 2_000_000, gop: int | None = None
) -> Clip:
    """Draws and encodes a whole loop, with keyframes as the picture has them unless told otherwise.

    A scene that is still for a time is encoded like a camera with a variable rate does it.
    """
    picture, canvas = scene.picture, Canvas(scene)
    bit_rate = None if picture.still_for else bit_rate
    drawn = (av.VideoFrame.from_ndarray(canvas.draw(number), format="rgb24") for number in range(picture.loop))
    shape = Shape(codec=codec, size=PictureSize(picture.width, picture.height), fps=Fraction(picture.fps))
    return _clip(
        scene, codec, encode_frames(drawn, shape, bit_rate=bit_rate, gop=gop or picture.fps * picture.key_every)
    )


def encode_frames(
    frames: Iterable[av.VideoFrame], shape: Shape, *, bit_rate: int | None = 2_000_000, gop: int
) -> tuple[Unit, ...]:
    """Encodes pictures one after the other, each `gop`-th as a keyframe, in the order in which they are shown.

    Without a rate each picture is as large as it needs to be.
    """
    encoder = av.CodecContext.create(_ENCODERS[shape.codec], "w")
    assert isinstance(encoder, av.VideoCodecContext)
    encoder.width, encoder.height, encoder.pix_fmt = *shape.size, "yuv420p"
    encoder.framerate, encoder.time_base = shape.fps, 1 / shape.fps
    encoder.bit_rate, encoder.gop_size, encoder.max_b_frames = bit_rate or 0, gop, 0
    encoder.thread_count = 1
    rate = {"qp": _QUALITY} if bit_rate is None else {}
    encoder.options = {"preset": "ultrafast", "tune": "zerolatency", **rate, **_OPTIONS[shape.codec]}
    packets = []
    for number, frame in enumerate(frames):
        shown = frame.reformat(width=encoder.width, height=encoder.height, format="yuv420p")
        shown.pts, shown.time_base, shown.pict_type = number, encoder.time_base, PictureType.NONE
        packets += encoder.encode(shown)
    packets += encoder.encode(None)
    return tuple(Unit(content=bytes(packet), is_keyframe=packet.is_keyframe) for packet in packets)


def load(number: int, folder: Path, *, codec: VideoCodec = VideoCodec.H264, picture: Picture | None = None) -> Clip:
    """The clip of a scene, from the folder if it was made before."""
    scene = make_scene(number, picture)
    path = path_of(number, folder, codec=codec, picture=scene.picture)
    if path.exists():
        return _clip(scene, codec, read_kept(path))
    clip = encode(scene, codec=codec)
    keep(path, clip.units)
    return clip


def path_of(number: int, folder: Path, *, codec: VideoCodec, picture: Picture) -> Path:
    """Where a clip is kept."""
    keys = "" if picture.key_every == 1 else f"-{picture.key_every}"
    still = f"-still-{picture.still_for}" if picture.still_for else ""
    shape = f"{picture.width}x{picture.height}-{picture.fps}-{picture.loop}{keys}{still}"
    return folder / f"scene-{number}-{codec}-{shape}.clip"


def keep(path: Path, units: tuple[Unit, ...]) -> None:
    """Writes units down for the next time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_bytes(_written(units))
    fresh.replace(path)


def _clip(scene: Scene, codec: VideoCodec, units: tuple[Unit, ...]) -> Clip:
    picture = scene.picture
    size = PictureSize(picture.width, picture.height)
    return Clip(codec=codec, units=units, size=size, fps=picture.fps, scene=scene)


def _written(units: tuple[Unit, ...]) -> bytes:
    """Each unit with its length, the top bit of which says whether it is a keyframe."""
    return b"".join((len(unit.content) | unit.is_keyframe << 31).to_bytes(4, "big") + unit.content for unit in units)


def read_kept(path: Path) -> tuple[Unit, ...]:
    """What was kept."""
    content, place, units = path.read_bytes(), 0, []
    while place < len(content):
        head = int.from_bytes(content[place : place + 4], "big")
        size = head & 0x7FFFFFFF
        units.append(Unit(content=content[place + 4 : place + 4 + size], is_keyframe=bool(head >> 31)))
        place += 4 + size
    return tuple(units)
