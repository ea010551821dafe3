"""The process of `streamward nvr`: makes the clips, serves, and ends when it is told to."""

import asyncio
import gc
import signal
import ssl
from collections.abc import Callable
from pathlib import Path

from streamward.model.errors import StreamwardError
from streamward.nvr.control import ControlApi
from streamward.nvr.reel import Library
from streamward.nvr.server import Nvr
from streamward.nvr.spec import NvrSpec

Announce = Callable[[list[str], str], None]
Progress = Callable[[str], None]  # what is being encoded


class TlsUnusable(StreamwardError):
    """Files that TLS cannot be spoken with."""

    def __init__(self, certificate: Path, why: str) -> None:
        super().__init__(certificate, why)
        self.certificate = certificate
        self.why = why

    def __str__(self) -> str:
        return f"cannot serve TLS with {self.certificate}: {self.why}"


class CannotListen(StreamwardError):
    """A port that somebody else has, or that this user may not have."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return f"cannot listen: {self.why}; --port and --control-port choose others"


def load_tls(certificate: Path, key: Path | None) -> ssl.SSLContext:
    """What RTSPS is spoken with."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key)
    except OSError as err:
        raise TlsUnusable(certificate, err.strerror or str(err)) from err
    return context


async def serve(spec: NvrSpec, *, control_port: int, announce: Announce, progress: Progress) -> None:
    """Serves until SIGTERM or SIGINT."""
    told = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, told.set)
    nvr = Nvr(spec, library=prepare(spec, progress))
    gc.collect()
    gc.freeze()  # clips and packets are for ever: no collection has to look at them again
    control = ControlApi(nvr)
    try:
        await nvr.start()
        address = await control.start(control_port)
        announce([nvr.url(camera.name) for camera in spec.cameras], address)
        await told.wait()
    except OSError as err:
        raise CannotListen(err.strerror or str(err)) from err
    finally:
        await control.stop()
        await nvr.stop()


def prepare(spec: NvrSpec, progress: Progress) -> Library:
    """A library with all that the cameras show; tells of each clip that has to be made first."""
    library = Library(spec.clips)
    for file in dict.fromkeys(camera.file for camera in spec.cameras if camera.file is not None):
        if not library.has_footage(file):
            progress(file.name)
        library.reel_of(file)
    shown = dict.fromkeys((each.scene, each.codec, each.picture) for each in spec.cameras if each.file is None)
    for place, (scene, codec, picture) in enumerate(shown, start=1):
        if not library.has(scene, codec, picture):
            progress(f"scene {place} of {len(shown)}")
        library.reel(scene, codec, picture)
    return library
