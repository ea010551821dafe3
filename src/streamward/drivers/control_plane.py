"""The control plane over HTTP/1.1, for processes that run an event loop and load no web framework.

Each call has a connection of its own for as long as it is outstanding. A call is not cancelled because its answer is
slow: it waits until its own time limit is over, while other calls go on on other connections. Cancelling a call, or
reaching its limit, closes its connection and no other. Nothing is sent twice.

One idle connection is kept for the next call. It has always delivered an answer since the oldest outstanding call was
sent: that call would otherwise have taken it. A connection whose answer took longer than `SLOW` is not kept, so while
answers are slow each call goes on a fresh connection, and a dead one costs one call only.

No redirect is followed and no proxy is asked.
"""

import asyncio
import contextlib
import http.client
import io
import select
import ssl
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from streamward import __version__
from streamward.model.secret import Secret
from streamward.protocol.codec import MalformedMessage, decode, encode, problem_in
from streamward.protocol.problem import Problem
from streamward.runtime import http_client
from streamward.runtime.http_client import LARGEST_ANSWER, Raw

SLOW = 1.0  # seconds; after a slower answer the connection is not used again
_RESOLVED_NEXT = 0.25  # seconds until the next address of a host name is tried beside one that does not answer

_NO_ANSWER = (OSError, EOFError, ValueError, http.client.HTTPException, asyncio.LimitOverrunError)


class ControlPlane:
    """One control plane; all methods are called from one event loop."""

    def __init__(self, url: str, *, tls: ssl.SSLContext | None = None) -> None:
        self._url = url
        self._tls = tls
        self._idle: _Connection | None = None

    async def post(
        self, path: str, message: Any, kind: type[Any], *, within: float, token: Secret | None = None
    ) -> Any | Problem | None:
        """The answer, a refusal, or None if no readable answer came within so many seconds."""
        return _read(await self._exchange("POST", path, encode(message), within=within, token=token), kind)

    async def get(
        self, path: str, kind: type[Any], *, within: float, token: Secret | None = None
    ) -> Any | Problem | None:
        """Likewise, and changes nothing."""
        return _read(await self._exchange("GET", path, None, within=within, token=token), kind)

    def close(self) -> None:
        """Closes the idle connection; outstanding calls end with the tasks that wait for them."""
        idle, self._idle = self._idle, None
        if idle is not None:
            idle.close()

    async def _exchange(
        self, method: str, path: str, body: bytes | None, *, within: float, token: Secret | None
    ) -> Raw | None:
        request = _request(self._url, method, path, body, token=token)
        connection, self._idle = self._idle, None
        if connection is not None and not connection.is_usable():
            connection.close()
            connection = None
        loop = asyncio.get_running_loop()
        sent = loop.time()
        try:
            async with asyncio.timeout(within):
                if connection is None:
                    connection = await _Connection.open(self._url, tls=self._tls)
                raw = await connection.exchange(request)
        except BaseException as err:
            if connection is not None:
                connection.close()
            if isinstance(err, _NO_ANSWER):  # TimeoutError is an OSError
                return None
            raise
        if loop.time() - sent > SLOW or not connection.is_usable():
            connection.close()
        else:
            self.close()
            self._idle = connection
        return raw


class _Connection:
    """One connection, for one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._is_reusable = True  # by what the server said

    @classmethod
    async def open(cls, url: str, *, tls: ssl.SSLContext | None) -> "_Connection":
        place = urlsplit(url)
        is_secure = place.scheme == "https"
        return cls(
            *await asyncio.open_connection(
                place.hostname or "",
                place.port or (443 if is_secure else 80),
                ssl=(tls or ssl.create_default_context()) if is_secure else None,
                happy_eyeballs_delay=_RESOLVED_NEXT,
            )
        )

    def close(self) -> None:
        """At once: nothing that is still to be sent matters."""
        self._writer.transport.abort()

    def is_usable(self) -> bool:
        """Whether the server will take another request, as far as is known.

        The socket is asked directly: the event loop may not have read yet that the server closed it.
        """
        if not self._is_reusable or self._reader.at_eof() or self._writer.is_closing():
            return False
        readable = select.poll()
        readable.register(self._writer.get_extra_info("socket"), select.POLLIN)
        return not readable.poll(0)

    async def exchange(self, request: bytes) -> Raw:
        """Raises one of `_NO_ANSWER` if the answer is cut short, too large or not HTTP."""
        self._writer.write(request)
        await self._writer.drain()
        status = 0
        while status < HTTPStatus.OK:  # 1xx announces another answer
            line, _, rest = (await self._reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")
            version, said, *_ = line.decode("latin-1").split(" ", 2)
            if not version.startswith("HTTP/1.") or len(said) != 3:
                raise http.client.BadStatusLine(version)
            status = int(said)
        headers = {name.lower(): value for name, value in http.client.parse_headers(io.BytesIO(rest)).items()}
        self._is_reusable = version == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
        return Raw(status=status, headers=headers, body=await self._body(status, headers))

    async def _body(self, status: int, headers: dict[str, str]) -> bytes:
        if status in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
            return b""
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return await self._chunks()
        if "content-length" in headers:
            return await self._reader.readexactly(_checked(int(headers["content-length"])))
        self._is_reusable = False
        body = bytearray()
        while part := await self._reader.read(65_536):
            body += part
            _checked(len(body))
        return bytes(body)

    async def _chunks(self) -> bytes:
        body = bytearray()
        while size := int((await self._reader.readuntil(b"\r\n")).partition(b";")[0], 16):
            _checked(len(body) + size)
            body += (await self._reader.readexactly(size + 2))[:size]
        while await self._reader.readuntil(b"\r\n") != b"\r\n":
            continue  # trailers
        return bytes(body)


def _checked(length: int) -> int:
    if not 0 <= length <= LARGEST_ANSWER:
        raise http.client.IncompleteRead(b"", length)
    return length


def _request(url: str, method: str, path: str, body: bytes | None, *, token: Secret | None) -> bytes:
    place = urlsplit(url)
    headers = {"Host": place.netloc.rpartition("@")[2], "Accept": "*/*", "User-Agent": f"streamward/{__version__}"}
    if body is not None:
        headers |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    if token is not None:
        headers |= http_client.bearing(token.reveal())
    lines = [
        f"{method} {place.path.rstrip('/')}{path} HTTP/1.1",
        *(f"{name}: {each}" for name, each in headers.items()),
    ]
    if any(mark in line for line in lines for mark in "\r\n"):
        raise ValueError(f"a line break in the request for {path!r}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b"")


def _read(raw: Raw | None, kind: type[Any]) -> Any | Problem | None:
    if raw is None or raw.status >= HTTPStatus.MULTIPLE_CHOICES:
        return None if raw is None else problem_in(raw.kind, raw.body)
    with contextlib.suppress(MalformedMessage):
        return decode(raw.body, kind)
    return None
