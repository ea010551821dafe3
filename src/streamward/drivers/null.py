"""A source that shows nothing, and a detector that sees nothing: for measuring everything that is not video.

Empty pictures come at an even pace; nothing is opened, read or decoded, and what is made of them takes the way of all
others: lane, detector, lease, event, spool, bus. So many cameras fit on a small machine, and what they cost is what
leases, control plane and events cost.
"""

import asyncio
import zlib
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamward.model.source_url import SourceUrl
from streamward.model.stream_error import StreamFailure
from streamward.runtime.clock import Clock
from streamward.vision.camera import CameraListener
from streamward.vision.detections import NOTHING, Detections
from streamward.vision.detector import Size
from streamward.vision.lane import ArrivedUnit

EVERY = 2.0  # seconds between two pictures: half of those after which a stream counts as stalled
_NUMBERED = 3  # bytes of a picture's number: one pixel


async def watch(url: SourceUrl, listener: CameraListener, *, clock: Clock) -> StreamFailure:
    """Shows empty pictures until it is cancelled: the first at once, the others at this source's own moments."""
    listener.playing(None)
    phase = EVERY * zlib.crc32(url.path.encode()) / 2**32  # cameras that begin together do not go on together
    for number in count():
        content = (number % 256**_NUMBERED).to_bytes(_NUMBERED, "big")
        listener.unit(ArrivedUnit(content=content, is_keyframe=True, arrived_at=clock.boot()))
        await asyncio.sleep(phase if number == 0 else EVERY)
    raise AssertionError("numbers do not end")


class NullFrame:
    """A black picture, with its number in the first pixel: two that are the same would be a camera that is frozen."""

    size = Size(1, 1)

    def __init__(self, content: bytes) -> None:
        self._content = content

    def fitted(self, size: Size) -> NDArray[Any]:
        image = np.zeros((size.height, size.width, _NUMBERED), np.uint8)
        image[0, 0] = np.frombuffer(self._content, np.uint8)
        return image


class NullDecoder:
    """Has nothing to do."""

    corrupt = 0
    holds_back = False

    def decode(self, content: bytes, *, is_keyframe: bool) -> Iterator[NullFrame]:  # noqa: ARG002 - as for others
        yield NullFrame(content)

    def rest(self) -> Iterator[NullFrame]:
        yield from ()


class NullDetector:
    """Detects nothing, in no time.

    Frames are scaled for it all the same, so that a stream whose frames do not change is noticed: large enough that
    movement changes them, and of more than one line, into which interlaced frames cannot be scaled.
    """

    size = Size(160, 90)
    keeps_shape = False

    def detect(self, _image: Any) -> Detections:
        return NOTHING
