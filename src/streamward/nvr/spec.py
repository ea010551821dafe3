"""What a simulated recorder is made of."""

import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from streamward.model.errors import StreamwardError
from streamward.model.source_url import Credential
from streamward.model.video import VideoCodec
from streamward.nvr.scene import Picture
from streamward.protocol.rtsp.authentication import Algorithm

HOST = "127.0.0.1"
LARGEST_BACKLOG = 2 * 1024 * 1024  # bytes that may wait for a client: about ten seconds of 2 Mbit/s


class UnknownCamera(StreamwardError):
    """A name that no camera of this recorder has."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"there is no camera {self.name!r} here"


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraSpec:
    """One camera: its name stands in its URL."""

    name: str
    file: Path | None = None  # a clip of somebody's own, shown instead of a scene
    scene: int = 1
    codec: VideoCodec = VideoCodec.H264
    picture: Picture = field(default_factory=Picture)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Who is let in, and how many at once; None: everybody, and as many as come."""

    credential: Credential | None = None
    algorithms: tuple[Algorithm, ...] = (Algorithm.MD5,)
    allows_basic: bool = False
    has_qop: bool = False
    max_sessions: int | None = None  # of all cameras together
    max_sessions_per_camera: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NvrSpec:
    """A recorder. Port 0: any that is free."""

    cameras: tuple[CameraSpec, ...]
    clips: Path  # where encoded scenes are kept
    host: str = HOST
    port: int = 0
    tls: ssl.SSLContext | None = None
    access: Access = field(default_factory=Access)
    session_timeout: float = 60.0
    largest_backlog: int = LARGEST_BACKLOG
    is_prompt: bool = True  # a new client gets everything since the latest keyframe, and else waits for the next one


def clip_cameras(files: Iterable[Path]) -> tuple[CameraSpec, ...]:
    """`clip-1`, `clip-2`, …: a camera for each file."""
    return tuple(CameraSpec(name=f"clip-{place}", file=file) for place, file in enumerate(files, start=1))


def number_cameras(count: int, *, scenes: int, codec: VideoCodec, picture: Picture) -> tuple[CameraSpec, ...]:
    """`cam-1` to `cam-<count>`, taking turns with the scenes."""
    return tuple(
        CameraSpec(name=f"cam-{place + 1}", scene=place % scenes + 1, codec=codec, picture=picture)
        for place in range(count)
    )
