"""One picture out of a file, as a camera's is: to try detectors on."""

import io
from pathlib import Path

import av
from av.error import FFmpegError
from av.video.reformatter import VideoReformatter

from streamward.drivers.decoder import DecodedFrame
from streamward.model.errors import StreamwardError

LARGEST = 64 << 20  # bytes


class PictureUnusable(StreamwardError):
    """Something that shows nothing."""

    def __init__(self, why: str, file: Path | None = None) -> None:
        super().__init__(why, file)
        self.why = why
        self.file = file

    def __str__(self) -> str:
        return f"cannot show {self.file or 'the picture'}: {self.why}"


def read_picture(file: Path) -> DecodedFrame:
    """The picture in a file, or the first of a clip; raises PictureUnusable."""
    try:
        if file.stat().st_size > LARGEST:
            raise PictureUnusable(f"it has more than {LARGEST >> 20} MiB", file)
        return picture_in(file.read_bytes())
    except PictureUnusable as error:
        raise PictureUnusable(error.why, file) from error
    except OSError as error:
        raise PictureUnusable((error.strerror or str(error)).lower(), file) from error


def picture_in(content: bytes) -> DecodedFrame:
    """The same out of a file's content, so that nothing in it can name another file; raises PictureUnusable."""
    try:
        with av.open(io.BytesIO(content), "r") as container:
            frame = next(iter(container.decode(video=0)), None)
    except (FFmpegError, IndexError) as error:
        raise PictureUnusable("it is no picture that can be read") from error
    if frame is None:
        raise PictureUnusable("it is no picture that can be read")
    return DecodedFrame(frame, VideoReformatter())
