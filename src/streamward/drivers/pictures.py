"""One picture out of a file, as a camera's is: to try detectors on."""

from pathlib import Path

import av
from av.error import FFmpegError
from av.video.reformatter import VideoReformatter

from streamward.drivers.decoder import DecodedFrame
from streamward.model.errors import StreamwardError

LARGEST = 64 << 20  # bytes


class PictureUnusable(StreamwardError):
    """A file that shows nothing."""

    def __init__(self, file: Path, why: str) -> None:
        super().__init__(file, why)
        self.file = file
        self.why = why

    def __str__(self) -> str:
        return f"cannot show {self.file}: {self.why}"


def read_picture(file: Path) -> DecodedFrame:
    """The picture, or the first of a clip; the file is opened by us, so that nothing in it can name another."""
    try:
        if file.stat().st_size > LARGEST:
            raise PictureUnusable(file, f"it has more than {LARGEST >> 20} MiB")
        with file.open("rb") as content, av.open(content, "r") as container:
            frame = next(iter(container.decode(video=0)), None)
    except (FFmpegError, IndexError, StopIteration) as error:
        raise PictureUnusable(file, "it is no picture that can be read") from error
    except OSError as error:
        raise PictureUnusable(file, (error.strerror or str(error)).lower()) from error
    if frame is None:
        raise PictureUnusable(file, "it is no picture that can be read")
    return DecodedFrame(frame, VideoReformatter())
