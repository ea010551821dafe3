"""Serves the application over HTTP, and ends well: those who wait are answered, then the process exits with 0."""

import asyncio
import contextlib
import signal
import socket
import ssl
from collections.abc import Callable, Iterator

import uvicorn
from starlette.types import ASGIApp

from streamward.control.http import BoundedHttp, QuietSocket
from streamward.runtime.listening import CannotListen

MAX_MESSAGE = 4096  # bytes that a client may say over a WebSocket, where nobody listens to it
GRACE = 3  # seconds for calls under way when a stop is asked for


def listen(host: str, port: int) -> socket.socket:
    """A listening socket: taken before anything else starts, so that a port in use ends the process at once."""
    try:
        family, *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as err:
        raise CannotListen.because(err, host, port, remedy="set STREAMWARD_HOST or STREAMWARD_PORT") from None


class HttpServer(uvicorn.Server):
    """uvicorn, except for its signals: it would end the process by the signal that stopped it."""

    def __init__(self, app: ASGIApp, *, on_stop: Callable[[], None], tls: ssl.SSLContext | None = None) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=BoundedHttp,
                loop="none",
                ws=QuietSocket,
                ws_max_size=MAX_MESSAGE,
                lifespan="off",
                access_log=False,
                log_config=None,
                server_header=False,
                timeout_graceful_shutdown=GRACE,
            )
        )
        self.config.load()
        self.config.ssl = tls  # ours: uvicorn makes its own from files, once
        self._on_stop = on_stop

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, self._stop)
        try:
            yield
        finally:
            for each in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(each)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_stop()
        await super().shutdown(sockets)

    def _stop(self) -> None:
        self.force_exit = self.should_exit  # asked twice: now
        self.should_exit = True
