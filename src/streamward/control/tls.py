"""TLS of the control plane: a certificate that may be renewed while it serves, and clients that may have to show one.

Guaranteed: TLS 1.2 or newer; with a client CA named, nobody without a certificate of that CA comes as far as HTTP; a
renewed certificate is served to every connection that begins after it was taken up, and a renewal that does not fit
together changes nothing. Not guaranteed: that a change of the client CA is taken up; that needs a restart.
"""

import asyncio
import contextlib
import signal
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from streamward.control.file_stamp import stamp
from streamward.model.errors import StreamwardError
from streamward.runtime.journal import Journal
from streamward.runtime.service import Service

LOOK_EVERY = 60.0  # seconds; a hangup signal makes it look at once

_CERTIFICATE = "STREAMWARD_TLS_CERTIFICATE"
_KEY = "STREAMWARD_TLS_KEY"
_CLIENT_CA = "STREAMWARD_TLS_CLIENT_CA"


class TlsUnusable(StreamwardError):
    """Files that TLS cannot be spoken with."""

    def __init__(self, setting: str, path: Path, *, why: str) -> None:
        super().__init__(setting, path, why)
        self.setting = setting
        self.path = path
        self.why = why

    def __str__(self) -> str:
        return f"cannot serve TLS: {self.setting} {self.path} {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsFiles:
    """Where certificate and key lie, each in PEM form."""

    certificate: Path  # with those between it and its root, if there are any
    key: Path
    client_ca: Path | None = None  # whose certificates clients must show; None: they need none


class Tls:
    """What the server speaks TLS with; its tick takes up a renewed certificate."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._stamps = self._look()
        self.context = _context(files)

    async def tick(self) -> float:
        seen = self._look()
        if seen != self._stamps:
            # Tried apart first: a certificate loaded over the key of another leaves a context with neither.
            _load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), self._files)
            _load(self.context, self._files)
            self._stamps = seen
        return LOOK_EVERY

    @contextlib.asynccontextmanager
    async def followed(self, journal: Journal) -> AsyncIterator[None]:
        """Looks at the files for as long as this lasts."""
        loop = asyncio.get_running_loop()
        async with Service("tls", self, journal=journal) as service:
            loop.add_signal_handler(signal.SIGHUP, service.poke)
            try:
                yield
            finally:
                loop.remove_signal_handler(signal.SIGHUP)

    def _look(self) -> list[object]:
        return [stamp(self._files.certificate), stamp(self._files.key)]


def _context(files: TlsFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    _load(context, files)
    if files.client_ca is not None:
        _check_readable(_CLIENT_CA, files.client_ca)
        try:
            context.load_verify_locations(files.client_ca)
        except ssl.SSLError:
            raise TlsUnusable(_CLIENT_CA, files.client_ca, why="holds no certificate in PEM form") from None
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _load(context: ssl.SSLContext, files: TlsFiles) -> None:
    def refuse() -> NoReturn:  # asked for a password, OpenSSL would ask the terminal
        raise TlsUnusable(_KEY, files.key, why="is sealed with a password: store it without one, mode 0600")

    _check_readable(_CERTIFICATE, files.certificate)
    _check_readable(_KEY, files.key)
    try:
        context.load_cert_chain(files.certificate, files.key, password=refuse)
    except ssl.SSLError as err:
        if err.reason == "KEY_VALUES_MISMATCH":
            raise TlsUnusable(_KEY, files.key, why=f"is not the key of {_CERTIFICATE} {files.certificate}") from None
        raise TlsUnusable(
            _CERTIFICATE, files.certificate, why=f"or {_KEY} {files.key} is not what it should be, in PEM form"
        ) from None


def _check_readable(setting: str, path: Path) -> None:
    try:
        path.open("rb").close()
    except OSError as err:
        raise TlsUnusable(setting, path, why=f"cannot be read ({str(err.strerror).lower()})") from None
