"""The control plane over HTTP, for processes that ask it now and then: one kept connection, a thread for each call.

A call that is not answered in time is given up together with its connection, and the next one goes on a fresh one.
"""

import asyncio
import contextlib
import http.client
import ssl
import threading
from typing import Any
from urllib.parse import urlsplit

from streamward.model.secret import Secret
from streamward.protocol.codec import MalformedMessage, decode, encode
from streamward.protocol.problem import MEDIA_TYPE, Problem

LARGEST_ANSWER = 1 << 24  # bytes


class ControlPlane:
    """One control plane, as one caller sees it."""

    def __init__(self, url: str, *, tls: ssl.SSLContext | None = None) -> None:
        self._place = urlsplit(url)
        self._tls = tls
        self._lock = threading.Lock()
        self._kept: http.client.HTTPConnection | None = None

    async def post(
        self, path: str, message: Any, kind: type[Any], *, within: float, token: Secret | None = None
    ) -> Any | Problem | None:
        """The answer, a refusal, or None if there was none in time."""
        calling = asyncio.to_thread(self._post, path, encode(message), kind, within, token)
        try:
            return await asyncio.wait_for(calling, within + 0.5)
        except TimeoutError:
            return None

    def close(self) -> None:
        """Hangs up."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.close()

    def _post(
        self, path: str, body: bytes, kind: type[Any], within: float, token: Secret | None
    ) -> Any | Problem | None:
        with self._lock:
            connection, self._kept = self._kept or self._connection(within), None
        try:
            if connection.sock is not None:
                connection.sock.settimeout(within)
            connection.request("POST", self._place.path.rstrip("/") + path, body=body, headers=_headers(token))
            answer = connection.getresponse()
            content = answer.read(LARGEST_ANSWER)
        except (OSError, http.client.HTTPException):
            connection.close()
            return None
        with self._lock:
            spare, self._kept = self._kept, connection
        if spare is not None:
            spare.close()
        with contextlib.suppress(MalformedMessage):
            is_problem = answer.headers.get_content_type() == MEDIA_TYPE
            return decode(content, Problem if is_problem else kind)
        return None

    def _connection(self, within: float) -> http.client.HTTPConnection:
        host = self._place.hostname or ""
        if self._place.scheme == "https":
            return http.client.HTTPSConnection(host, self._place.port, timeout=within, context=self._tls)
        return http.client.HTTPConnection(host, self._place.port, timeout=within)


def _headers(token: Secret | None) -> dict[str, str]:
    shown = {} if token is None else {"Authorization": f"Bearer {token.reveal()}"}
    return {"Content-Type": "application/json", **shown}
