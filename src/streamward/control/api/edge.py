"""The outermost layer of every call: its id, its duration, and the answer to what nobody expected.

The catch in here is the HTTP process's entry: whatever a call meets, the client sees a bare 500 and the log has the
stack.
"""

import logging
import re
import secrets
from typing import Protocol

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streamward import __version__
from streamward.control.api.problems import INTERNAL, problem_response
from streamward.protocol.listening import MEDIA_TYPE as EVENTS
from streamward.runtime.clock import Clock

REQUEST_ID = "X-Request-Id"
VERSION = "Streamward-Version"

_log = logging.getLogger("streamward.control.http")
_NAME = "streamward.request_id"  # in the scope
_SENT_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def request_id(request: HTTPConnection) -> str:
    """How the log and the answer name this call."""
    name: str = request.scope.get(_NAME, "-")
    return name


class Meter(Protocol):
    """Where durations go."""

    def begin(self) -> None: ...
    def observe(self, route: str, *, status: int, seconds: float) -> None: ...


class Edge:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, *, clock: Clock, meter: Meter) -> None:
        self._app = app
        self._clock = clock
        self._meter = meter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._meter.begin()
        began = self._clock.boot()
        call = _Call(scope, send, self._clock)
        scope[_NAME] = call.request_id
        try:
            await self._app(scope, receive, call.send)
        except Exception:  # noqa: BLE001 see above
            _log.exception("request failed", extra=call.told(self._clock.boot() - began))
            if call.status == 0:
                await problem_response(INTERNAL)(scope, receive, call.send)
        ended = self._clock.boot() if call.streams_since is None else call.streams_since
        seconds = ended - began
        self._meter.observe(call.route, status=call.status, seconds=seconds)
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("request answered", extra=call.told(seconds))


class _Call:
    """One call under way."""

    def __init__(self, scope: Scope, send: Send, clock: Clock) -> None:
        sent = Headers(scope=scope).get(REQUEST_ID, "")
        self.request_id = sent if _SENT_ID.fullmatch(sent) else secrets.token_hex(8)
        self.status = 0  # nothing was answered yet
        self.streams_since: float | None = None  # boot-time from which it is answered, with events without end
        self._clock = clock
        self._scope = scope
        self._send = send

    @property
    def route(self) -> str:
        """The path as it was declared: one label for all cameras."""
        return getattr(self._scope.get("route"), "path", "none")

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers[REQUEST_ID] = self.request_id
            headers[VERSION] = __version__
            if headers.get("content-type") == EVENTS:
                self.streams_since = self._clock.boot()
        await self._send(message)

    def told(self, seconds: float) -> dict[str, object]:
        """What a log line says of it: never the query, which may hold more than a log should."""
        return {
            "request_id": self.request_id,
            "method": self._scope["method"],
            "route": self.route,
            "status": self.status,
            "duration_ms": round(seconds * 1000, 1),
        }
