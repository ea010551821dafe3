"""The control plane over HTTP, for processes that ask it now and then: one kept connection, a thread for each call.

A call that is not answered in time is given up together with its connection, and the next one goes on a fresh one, as
it does when the control plane hung up meanwhile. Nothing is sent twice.
"""

import asyncio
import contextlib
import http.client
import select
import socket
import ssl
import threading
from http import HTTPStatus
from typing import Any

from streamward.model.secret import Secret
from streamward.protocol.codec import MalformedMessage, decode, encode, problem_in
from streamward.protocol.problem import Problem
from streamward.runtime import http_client
from streamward.runtime.http_client import Raw


class ControlPlane:
    """One control plane, as one caller sees it; its methods are called from one loop."""

    def __init__(self, url: str, *, tls: ssl.SSLContext | None = None) -> None:
        self._url = url
        self._tls = tls
        self._kept: http.client.HTTPConnection | None = None

    async def post(
        self, path: str, message: Any, kind: type[Any], *, within: float, token: Secret | None = None
    ) -> Any | Problem | None:
        """The answer, a refusal, or None if there was none in time that could be read."""
        return _read(await self._exchange("POST", path, encode(message), within=within, token=token), kind)

    async def get(
        self, path: str, kind: type[Any], *, within: float, token: Secret | None = None
    ) -> Any | Problem | None:
        """Likewise, and changes nothing."""
        return _read(await self._exchange("GET", path, None, within=within, token=token), kind)

    def close(self) -> None:
        """Hangs up."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.close()

    async def _exchange(
        self, method: str, path: str, body: bytes | None, *, within: float, token: Secret | None
    ) -> Raw | None:
        call = _Call(self._line(within), self._url, {} if token is None else http_client.bearing(token.reveal()))
        try:
            async with asyncio.timeout(within):
                raw = await asyncio.to_thread(call.run, method, path, body)
        except (OSError, http.client.HTTPException):  # TimeoutError is one
            call.give_up()
            return None
        except asyncio.CancelledError:
            call.give_up()
            raise
        self.close()
        self._kept = call.line
        return raw

    def _line(self, within: float) -> http.client.HTTPConnection:
        """The kept connection, if nobody hung up; a call that another one is using it for gets a fresh one."""
        kept, self._kept = self._kept, None
        if kept is not None and not _has_hung_up(kept):
            kept.timeout = within
            return kept
        if kept is not None:
            kept.close()
        return http_client.connection(self._url, tls=self._tls, timeout=within)


class _Call:
    """One call in a thread of its own, which the loop can give up."""

    def __init__(self, line: http.client.HTTPConnection, url: str, headers: dict[str, str]) -> None:
        self.line = line
        self._url = url
        self._headers = headers
        self._lock = threading.Lock()
        self._is_given_up = False
        self._is_done = False

    def run(self, method: str, path: str, body: bytes | None) -> Raw:
        """Asks and reads, in the thread."""
        try:
            return self._answer(method, path, body)
        except (OSError, http.client.HTTPException):
            self.line.close()
            raise
        finally:
            with self._lock:
                self._is_done = True
                if self._is_given_up:
                    self.line.close()

    def give_up(self) -> None:
        """Ends it: closing alone would not wake its thread, and a slow talker could hold it for ever."""
        with self._lock:
            self._is_given_up = True
            opened = self.line.sock  # looked at once: the thread may just be closing it
            if self._is_done:
                self.line.close()
            elif opened is not None:
                with contextlib.suppress(OSError):
                    socket.socket.shutdown(opened, socket.SHUT_RDWR)

    def _answer(self, method: str, path: str, body: bytes | None) -> Raw:
        if self.line.sock is None:
            self.line.connect()
        if self._is_given_up:  # a name may take its time to be found
            raise TimeoutError
        self.line.sock.settimeout(self.line.timeout)
        return http_client.read(http_client.ask(self.line, self._url, method, path, headers=self._headers, body=body))


def _read(raw: Raw | None, kind: type[Any]) -> Any | Problem | None:
    if raw is None or raw.status >= HTTPStatus.MULTIPLE_CHOICES:
        return None if raw is None else problem_in(raw.kind, raw.body)
    with contextlib.suppress(MalformedMessage):
        return decode(raw.body, kind)
    return None


def _has_hung_up(line: http.client.HTTPConnection) -> bool:
    """Whether the other side closed an idle connection; anything else that it says unasked is no better."""
    if line.sock is None:
        return False  # it will be opened anew
    looking = select.poll()
    looking.register(line.sock, select.POLLIN)
    return bool(looking.poll(0))
