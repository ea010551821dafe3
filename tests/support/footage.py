"""What cameras send, for those who keep and cut it."""

from typing import Any

from streamward.model.video import VideoCodec
from streamward.nvr.clip import encode
from streamward.nvr.scene import Picture, make_scene
from streamward.vision.lane import ArrivedUnit

PICTURE = Picture(width=320, height=180, fps=10, loop=40)
SCENE = make_scene(1, PICTURE)


class Deaf:
    """A listener."""

    def playing(self, codec: Any) -> None: ...
    def unit(self, unit: Any) -> None: ...
    def trouble(self, trouble: Any) -> None: ...


def filmed(codec: VideoCodec = VideoCodec.H264) -> tuple[ArrivedUnit, ...]:
    """Four seconds of a scene, a keyframe in each."""
    return tuple(
        ArrivedUnit(content=unit.content, is_keyframe=unit.is_keyframe, arrived_at=number / PICTURE.fps)
        for number, unit in enumerate(encode(SCENE, codec=codec).units)
    )
