"""Clips cut into packets, once for all cameras that show them."""

from dataclasses import dataclass
from pathlib import Path

from streamward.model.video import PictureSize, VideoCodec
from streamward.nvr.clip import Clip, load, path_of
from streamward.nvr.footage import Footage, look
from streamward.nvr.scene import Picture, Scene
from streamward.protocol.rtp import nal
from streamward.protocol.rtp.parameter_sets import ParameterSets
from streamward.protocol.rtp.writer import Packets, packetize
from streamward.protocol.rtsp.sdp import Description, Track

_PAYLOAD_TYPES = {VideoCodec.H264: 96, VideoCodec.H265: 97}
_TRACK = "trackID=0"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reel:
    """One loop of pictures, ready to be sent."""

    scene: Scene | None  # None: it is a file of somebody's
    codec: VideoCodec
    size: PictureSize
    fps: float
    units: tuple[Packets, ...]
    keyframes: frozenset[int]  # places in `units`
    description: Description

    @property
    def payload_type(self) -> int:
        """By which packets say what they are; each codec has its own."""
        return _PAYLOAD_TYPES[self.codec]

    def keyframe_before(self, place: int) -> int:
        """The latest keyframe up to a place."""
        return max(each for each in self.keyframes if each <= place)


class Library:
    """Reels by what they show; each is encoded and cut once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._reels: dict[tuple[int, VideoCodec, Picture], Reel] = {}
        self._footage: dict[Path, Footage] = {}
        self._shown: dict[tuple[Path, VideoCodec | None, PictureSize | None], Reel] = {}

    def has(self, scene: int, codec: VideoCodec, picture: Picture) -> bool:
        """Whether a reel's clip was made before."""
        return path_of(scene, self._folder, codec=codec, picture=picture).exists()

    def reel(self, scene: int, codec: VideoCodec, picture: Picture) -> Reel:
        """The reel; takes seconds if its clip was never made before."""
        key = (scene, codec, picture)
        if key not in self._reels:
            self._reels[key] = cut(load(scene, self._folder, codec=codec, picture=picture))
        return self._reels[key]

    def footage(self, file: Path) -> Footage:
        """What there is of a file of somebody's."""
        if file not in self._footage:
            self._footage[file] = look(file)
        return self._footage[file]

    def has_footage(self, file: Path) -> bool:
        """Whether a file can be shown without encoding it first."""
        return self.footage(file).is_ready(self._folder)

    def reel_of(self, file: Path, *, codec: VideoCodec | None = None, size: PictureSize | None = None) -> Reel:
        """A file as a reel, as it is or in this form; takes as long as it is if it has to be encoded."""
        key = (file, codec, size)
        if key not in self._shown:
            self._shown[key] = cut(self.footage(file).clip(self._folder, codec=codec, size=size))
        return self._shown[key]


def cut(clip: Clip) -> Reel:
    """A clip as packets."""
    codec = VideoCodec(clip.codec)
    return Reel(
        scene=clip.scene,
        codec=codec,
        size=clip.size,
        fps=clip.fps,
        units=tuple(packetize(codec, unit.content) for unit in clip.units),
        keyframes=frozenset(place for place, unit in enumerate(clip.units) if unit.is_keyframe),
        description=_description(codec, clip.units[0].content),
    )


def _description(codec: VideoCodec, keyframe: bytes) -> Description:
    known = ParameterSets(codec)
    for each in nal.split(keyframe):
        known.learn(bytes(each))
    track = Track(
        media="video",
        payload_type=_PAYLOAD_TYPES[codec],
        encoding=codec.upper(),
        codec=codec,
        control=_TRACK,
        packetization_mode=1,
        parameter_sets=tuple(bytes(each) for each in nal.split(known.content)),
    )
    return Description(tracks=(track,), control="*", name="streamward")
