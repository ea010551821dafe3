"""What cameras send that is out of the ordinary, encoded by PyAV: depths, colours and sizes of every kind."""

from fractions import Fraction
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from streamward.model.video import VideoCodec
from streamward.vision.lane import ArrivedUnit

LEFT, RIGHT = (200, 60, 40), (30, 70, 200)  # red, green and blue of a picture's halves
FPS = 10

_ENCODERS = {
    VideoCodec.H264: ("libx264", {"x264-params": "scenecut=0:repeat-headers=1:log-level=none"}),
    VideoCodec.H265: ("libx265", {"x265-params": "scenecut=0:repeat-headers=1:log-level=none"}),
}


def halves(width: int, height: int) -> NDArray[np.uint8]:
    """One colour on the left and one on the right; of what has no left, only that on the right."""
    picture = np.full((height, width, 3), RIGHT, dtype=np.uint8)
    picture[:, : width // 2] = LEFT
    return picture


def a_video(
    pictures: list[NDArray[np.uint8]],
    *,
    codec: VideoCodec = VideoCodec.H264,
    form: str = "yuv420p",
    gop: int = 5,
    preset: str = "ultrafast",
    begins_at: float = 0.0,
) -> list[ArrivedUnit]:
    """Pictures of one size, red, green and blue, encoded one after the other in that pixel format."""
    name, options = _ENCODERS[codec]
    encoder: Any = av.CodecContext.create(name, "w")
    encoder.height, encoder.width = pictures[0].shape[:2]
    encoder.pix_fmt, encoder.framerate, encoder.time_base = form, Fraction(FPS), Fraction(1, FPS)
    encoder.gop_size, encoder.max_b_frames, encoder.thread_count = gop, 0, 1
    encoder.options = {"preset": preset, "tune": "zerolatency", **options}
    packets = []
    for number, picture in enumerate(pictures):
        frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format=form)
        frame.pts, frame.time_base = number, encoder.time_base
        packets += encoder.encode(frame)
    packets += encoder.encode(None)
    return [
        ArrivedUnit(content=bytes(packet), is_keyframe=packet.is_keyframe, arrived_at=begins_at + number / FPS)
        for number, packet in enumerate(packets)
    ]
