"""Video files as people have them, made by PyAV."""

from pathlib import Path
from typing import Any

import av
import numpy as np
from av.video.frame import PictureType


def a_film(
    path: Path, codec: str = "libx264", *, frames: int = 20, size: tuple[int, int] = (320, 192), **more: Any
) -> Path:
    """Ten moving pictures a second; `more` are attributes of the encoder."""
    width, height = size
    ground = np.random.default_rng(1).integers(0, 64, (height, width, 3), dtype=np.uint8)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=10)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        coder = stream.codec_context
        for name, value in {"gop_size": 5, "max_b_frames": 0, "options": {"preset": "ultrafast"}, **more}.items():
            setattr(coder, name, value)
        for number in range(frames):
            picture = np.roll(ground, 4 * number, axis=1)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
    return path


def a_cut(path: Path, source: Path, *, first: int, last: int) -> Path:
    """Some pictures of a film, as a camera would send them: H.264 with a keyframe each second, none out of order."""
    with av.open(str(source)) as film, av.open(str(path), "w") as container:
        rate = film.streams.video[0].average_rate
        stream = container.add_stream("libx264", rate=rate)
        assert isinstance(stream, av.VideoStream)
        stream.pix_fmt, stream.bit_rate = "yuv420p", 6_000_000
        stream.codec_context.gop_size, stream.codec_context.max_b_frames = 10, 0
        for number, frame in enumerate(film.decode(video=0)):
            if number >= last:
                break
            if number == first:
                stream.width, stream.height = frame.width, frame.height
            if number >= first:
                frame.pts, frame.pict_type = None, PictureType.NONE
                container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path
