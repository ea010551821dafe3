"""HTTP on loopback, for a Worker and for the simulated recorder: small enough to be read whole, and no web framework.

    connection ─_read→ head, body ─LocalApi→ Route ─answer(Asked)→ Reply ─→ connection, closed

One request to a connection; heads, bodies and a client's slowness are bounded. Every user of the host can reach its
loopback, so whatever changes something may be guarded by a secret; without one, guarded routes refuse everybody. Pages
of a browser are refused (they send `Origin`), and so is every request whose `Host` is not a loopback name: a page whose
name was rebound to 127.0.0.1 sends no `Origin` to its own name, but its name as `Host`.
"""

import asyncio
import contextlib
import hmac
import ipaddress
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qsl

from streamward.model.errors import StreamwardError
from streamward.model.secret import Secret

HOST = "127.0.0.1"
LARGEST_HEAD = 8192  # bytes
LARGEST_BODY = 65536
PATIENCE = 5.0  # seconds for a whole request, and again for its answer


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer."""

    status: int
    body: bytes = b""
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a route gets to see of a request."""

    query: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Route:
    """What a path does; it may raise `Refused`."""

    answer: Callable[[Asked], Awaitable[Reply]]
    is_guarded: bool = False


class Refused(StreamwardError):
    """A request that is not carried out."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(status, why)
        self.status = status
        self.why = why

    def __str__(self) -> str:
        return self.why


@dataclass(frozen=True, slots=True)
class _Head:
    method: str
    path: str
    query: Mapping[str, str]
    fields: Mapping[str, str]  # by lower-case name


class LocalApi:
    """Serves until it is stopped."""

    def __init__(self, routes: Mapping[tuple[str, str], Route], *, secret: Secret | None = None) -> None:
        self.routes = routes
        self._secret = secret
        self._server: asyncio.Server | None = None

    async def start(self, port: int = 0) -> int:
        """Listens on loopback only; returns the port."""
        self._server = await asyncio.start_server(self._serve, HOST, port, limit=LARGEST_HEAD)
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def stop(self) -> None:
        """Listens no more."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, TimeoutError):
                writer.write(_written(await self._reply(reader)))
                async with asyncio.timeout(PATIENCE):
                    await writer.drain()
        finally:
            writer.close()

    async def _reply(self, reader: asyncio.StreamReader) -> Reply:
        try:
            route, asked = await self._read(reader)
            return await route.answer(asked)
        except Refused as err:
            return Reply(err.status, json.dumps({"error": err.why}).encode())

    async def _read(self, reader: asyncio.StreamReader) -> tuple[Route, Asked]:
        """Whoever may not ask is refused before the body is read."""
        try:
            async with asyncio.timeout(PATIENCE):
                head = _parsed(await reader.readuntil(b"\r\n\r\n"))
                route = self._route(head)
                return route, Asked(head.query, await reader.readexactly(_size(head)))
        except TimeoutError as err:
            raise Refused(HTTPStatus.REQUEST_TIMEOUT, "the request took too long") from err
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as err:
            raise Refused(HTTPStatus.BAD_REQUEST, "this is no whole request") from err

    def _route(self, head: _Head) -> Route:
        if not _is_loopback(head.fields.get("host", HOST)):  # only programs leave it out
            why = "only requests to a loopback name are served here: localhost, 127.0.0.0/8 or [::1]"
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST, why)
        if "origin" in head.fields:
            raise Refused(HTTPStatus.FORBIDDEN, "pages of a browser are not served here")
        route = self.routes.get((head.method, head.path))
        if route is None:
            is_known = any(head.path == known for _, known in self.routes)
            status = HTTPStatus.METHOD_NOT_ALLOWED if is_known else HTTPStatus.NOT_FOUND
            raise Refused(status, f"{head.method} {head.path} is not served here")
        if route.is_guarded and not self._is_let_in(head.fields.get("authorization", "")):
            raise Refused(HTTPStatus.UNAUTHORIZED, "this needs the secret, as Authorization: Bearer")
        return route

    def _is_let_in(self, shown: str) -> bool:
        if self._secret is None or not self._secret.reveal():
            return False
        wanted = f"Bearer {self._secret.reveal()}"
        return hmac.compare_digest(shown.encode("latin-1"), wanted.encode())


def _is_loopback(host: str) -> bool:
    """Whether a `Host` names this host's loopback, with any port or none."""
    found = re.fullmatch(r"(?:\[(?P<six>[^]]+)]|(?P<name>[^:]+))(?::\d*)?", host)
    if found is None:
        return False
    if found["name"] is not None and found["name"].lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(found["six"] or found["name"]).is_loopback
    except ValueError:
        return False


def _parsed(head: bytes) -> _Head:
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3:
        raise Refused(HTTPStatus.BAD_REQUEST, "this is no request")
    method, target, _ = words
    path, _, query = target.partition("?")
    pairs = (line.partition(":") for line in lines)
    fields = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return _Head(method, path, dict(parse_qsl(query)), fields)


def _size(head: _Head) -> int:
    size = head.fields.get("content-length", "0")
    if not (size.isascii() and size.isdigit()):
        raise Refused(HTTPStatus.BAD_REQUEST, "Content-Length must be a number")
    if len(size) > len(str(LARGEST_BODY)) or int(size) > LARGEST_BODY:
        raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {LARGEST_BODY} bytes")
    return int(size)


def _written(reply: Reply) -> bytes:
    more = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
    head = (
        f"HTTP/1.1 {int(reply.status)} {HTTPStatus(reply.status).phrase}\r\nContent-Type: {reply.kind}\r\n"
        f"Content-Length: {len(reply.body)}\r\n{more}Connection: close\r\n\r\n"
    )
    return head.encode() + reply.body
