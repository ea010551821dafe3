"""Two ways to the same broadcasts: an answer of server-sent events, and a WebSocket."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from streamward.control.api.hearing import SEND_WITHIN, Alive, Heard, Hearing, ListenerCut, hear
from streamward.control.feed import Feed, Interest, Listener
from streamward.protocol.listening import (
    ALIVE,
    HELLO,
    MEDIA_TYPE,
    SUBPROTOCOL,
    ListeningEnded,
    as_stream,
    as_text,
    notice_as_stream,
    notice_as_text,
)
from streamward.runtime.journal import Journal

CLOSED = {"time-over": 1000, "stopping": 1012}
_REFUSED = 1008  # the WebSocket's code for whoever may not listen any more
_HEADERS = [
    (b"content-type", MEDIA_TYPE.encode()),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # nginx would keep it back
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attendance:
    """Somebody who was let in to listen, and has a seat."""

    feed: Feed
    interest: Interest
    position: int
    bounds: Hearing
    subject: str
    address: str
    journal: Journal

    def seated(self) -> contextlib.AbstractAsyncContextManager[None]:
        """What has to be around all that is done for it: in the end its seat is free."""
        return self.feed.seated(self.interest.scope)

    async def told(self, tell: Callable[[Heard], Coroutine[Any, Any, None]]) -> None:
        """Tells everything, until it ends or a word is not taken in time; raises TimeoutError."""
        listener = Listener(self.feed, self.interest, position=self.position)
        hearing = hear(listener, self.bounds)
        try:
            async with contextlib.aclosing(hearing):
                async for heard in hearing:
                    await asyncio.wait_for(tell(heard), SEND_WITHIN)
        except TimeoutError:
            self.journal.record(ListenerCut(subject=self.subject, address=self.address, position=listener.position))
            raise


class EventStream(Response):
    """Server-sent events, until the client goes or the listening ends."""

    media_type = MEDIA_TYPE

    def __init__(self, attendance: Attendance) -> None:
        super().__init__()
        self._attendance = attendance

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's signature
        async def tell(heard: Heard) -> None:
            await send({"type": "http.response.body", "body": _stream(heard), "more_body": True})

        async def talk() -> None:
            await self._attendance.told(tell)
            await send({"type": "http.response.body", "body": b"", "more_body": False})

        async with self._attendance.seated():
            await send({"type": "http.response.start", "status": 200, "headers": list(_HEADERS)})
            await send({"type": "http.response.body", "body": HELLO, "more_body": True})
            with contextlib.suppress(TimeoutError):  # cut: there is no way to say so to somebody who does not read
                await _until_gone(talk(), _gone(receive))


async def serve_socket(socket: WebSocket, attendance: Attendance) -> None:
    """The same over a WebSocket; whatever the client says is not listened to."""

    async def tell(heard: Heard) -> None:
        if isinstance(heard, list):
            for each in heard:
                await socket.send_text(as_text(each))
        elif not isinstance(heard, Alive):  # the server's own pings do that
            await socket.send_text(notice_as_text(heard))
        if isinstance(heard, ListeningEnded):
            await socket.close(CLOSED.get(heard.reason, _REFUSED), heard.reason)

    async def gone() -> None:
        while (await socket.receive())["type"] != "websocket.disconnect":
            pass

    is_offered = SUBPROTOCOL in socket.scope.get("subprotocols", [])
    async with attendance.seated():
        with contextlib.suppress(WebSocketDisconnect, TimeoutError):
            await socket.accept(subprotocol=SUBPROTOCOL if is_offered else None)
            await _until_gone(attendance.told(tell), gone())


def _stream(heard: Heard) -> bytes:
    if isinstance(heard, list):
        return as_stream(heard)
    return ALIVE if isinstance(heard, Alive) else notice_as_stream(heard)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _until_gone(talk: Coroutine[Any, Any, None], gone: Coroutine[Any, Any, None]) -> None:
    """Talks until all is said or nobody is there."""
    talking, leaving = asyncio.ensure_future(talk), asyncio.ensure_future(gone)
    try:
        await asyncio.wait({talking, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        was_done = talking.done()
        talking.cancel()
        await asyncio.wait({talking, leaving})
    if was_done:
        talking.result()
