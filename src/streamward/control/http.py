"""How HTTP and WebSockets are parsed: by uvicorn's protocols, with an end to heads, and refusals as problem details."""

from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from streamward.protocol.codec import encode
from streamward.protocol.problem import MEDIA_TYPE, Problem

MAX_HEAD = 64 * 1024  # bytes of request line and headers; the parser knows no limit of its own
LINGER = 1.0  # seconds in which a refused client can read why


class BoundedHttp(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._is_refused = False
        self._is_in_head = False
        self._head_size = 0

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        super().data_received(data)
        if not self._is_in_head or self._is_refused:
            return
        self._head_size += len(data)
        if self._head_size > MAX_HEAD:
            self._refuse(431, f"request line and headers are longer than {MAX_HEAD} bytes", reason="head-too-large")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_in_head, self._head_size = True, 0

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the library's words are plain text
        self._refuse(400, "this is not HTTP/1.1", reason="malformed-http")

    def _refuse(self, status: int, detail: str, *, reason: str) -> None:
        phrase = HTTPStatus(status).phrase
        body = encode(Problem(title=phrase, status=status, detail=detail, reason=reason))
        head = (
            f"HTTP/1.1 {status} {phrase}\r\nContent-Type: {MEDIA_TYPE}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self._is_refused = True
        # Closing at once, with data of the client still unread, would take the answer back from it.
        self.loop.call_later(LINGER, self.transport.close)


class QuietSocket(WebSocketsSansIOProtocol):
    """One WebSocket; uvicorn's own would log each refusal that was answered in full as a failure of ours."""

    async def send(self, message: Any) -> None:
        await super().send(message)
        self.handshake_complete = self.handshake_complete or self.close_sent
