"""HTTP on loopback for one Worker: small enough to be read whole, so that a Worker needs no web framework.

One request to a connection, heads of a few kilobytes, no bodies. Whatever changes something wants the secret that the
Worker was started with: every user of the host can reach its loopback.
"""

import asyncio
import contextlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from streamward.model.secret import Secret

LARGEST_HEAD = 8192  # bytes
PATIENCE = 5.0  # seconds for a whole request


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer."""

    status: int
    body: bytes = b""
    kind: str = "application/json"


@dataclass(frozen=True, slots=True)
class Route:
    """What a path does."""

    answer: Callable[[], Reply]
    is_guarded: bool = False


class LocalApi:
    """Serves until it is stopped."""

    def __init__(self, routes: Mapping[tuple[str, str], Route], *, secret: Secret | None) -> None:
        self._routes = routes
        self._secret = secret
        self._server: asyncio.Server | None = None

    async def start(self, port: int = 0) -> int:
        """Listens on loopback only; returns the port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port, limit=LARGEST_HEAD)
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            try:
                async with asyncio.timeout(PATIENCE):
                    head = await reader.readuntil(b"\r\n\r\n")
                    reply = self._reply(head)
            except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
                reply = Reply(HTTPStatus.BAD_REQUEST)
            writer.write(_written(reply))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await writer.drain()
            writer.close()

    def _reply(self, head: bytes) -> Reply:
        first, *lines = head.decode("latin-1").split("\r\n")
        words = first.split(" ")
        if len(words) != 3:
            return Reply(HTTPStatus.BAD_REQUEST)
        method, target, _ = words
        path = target.partition("?")[0]
        route = self._routes.get((method, path))
        if route is None:
            is_known = any(path == known for _, known in self._routes)
            return Reply(HTTPStatus.METHOD_NOT_ALLOWED if is_known else HTTPStatus.NOT_FOUND)
        if route.is_guarded and not self._is_let_in(lines):
            return Reply(HTTPStatus.UNAUTHORIZED)
        return route.answer()

    def _is_let_in(self, lines: list[str]) -> bool:
        shown = (line.partition(":")[2].strip() for line in lines if line.lower().startswith("authorization:"))
        given = next(shown, "")
        wanted = "" if self._secret is None else f"Bearer {self._secret.reveal()}"
        return bool(wanted) and hmac.compare_digest(given.encode(), wanted.encode())


def _written(reply: Reply) -> bytes:
    head = (
        f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}\r\nContent-Type: {reply.kind}\r\n"
        f"Content-Length: {len(reply.body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + reply.body
