"""The process of `streamward nvr`: makes the clips, serves, and ends when it is told to."""

import asyncio
import gc
import os
import signal
import ssl
from collections.abc import Callable
from pathlib import Path

from streamward.model.errors import StreamwardError
from streamward.nvr.control import ControlApi
from streamward.nvr.reel import Library
from streamward.nvr.server import Nvr
from streamward.nvr.spec import NvrSpec
from streamward.protocol.readiness import NvrReady
from streamward.runtime.listening import CannotListen
from streamward.runtime.local_http import HOST

Announce = Callable[[NvrReady], None]
Progress = Callable[[str], None]  # what is being encoded


class TlsUnusable(StreamwardError):
    """Files that TLS cannot be spoken with."""

    def __init__(self, certificate: Path, why: str) -> None:
        super().__init__(certificate, why)
        self.certificate = certificate
        self.why = why

    def __str__(self) -> str:
        return f"cannot serve TLS with {self.certificate}: {self.why}"


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
        try:
            await nvr.start()
        except OSError as err:
            raise CannotListen.because(err, spec.host, spec.port, remedy="choose another with --port") from err
        try:
            address = await control.start(control_port)
        except OSError as err:
            raise CannotListen.because(err, HOST, control_port, remedy="choose another with --control-port") from err
        urls = [nvr.url(camera.name) for camera in spec.cameras]
        announce(NvrReady(pid=os.getpid(), camera_urls=urls, control_url=address))
        await told.wait()
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
