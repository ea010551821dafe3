"""Simulated recorders with small pictures, in this process."""

import atexit
import functools
import tempfile
from pathlib import Path

from streamward.model.secret import Secret
from streamward.model.source_url import Credential
from streamward.model.video import VideoCodec
from streamward.nvr.reel import Library
from streamward.nvr.scene import Picture
from streamward.nvr.server import Nvr
from streamward.nvr.spec import Access, CameraSpec, NvrSpec

PICTURE = Picture(width=320, height=192, fps=25, loop=50)
ADA = Credential(user=Secret("ada"), password=Secret("lovelace"))
WRONG = Credential(user=Secret("ada"), password=Secret("byron"))


@functools.cache
def library() -> Library:
    """Clips are made once for all tests of a process."""
    folder = tempfile.TemporaryDirectory(prefix="streamward-clips-")
    atexit.register(folder.cleanup)
    return Library(Path(folder.name))


def a_recorder(*, codec: VideoCodec = VideoCodec.H264, access: Access | None = None, **rest: object) -> Nvr:
    """Two cameras, `cam-1` and `cam-2`."""
    spec = NvrSpec(
        cameras=tuple(
            CameraSpec(name=f"cam-{number}", scene=number, codec=codec, picture=PICTURE) for number in (1, 2)
        ),
        clips=Path(),
        access=access or Access(),
        **rest,  # type: ignore[arg-type]
    )
    return Nvr(spec, library=library())
