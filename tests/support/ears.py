"""Whoever listens to a control plane in this process: over server-sent events and over a WebSocket."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, MutableMapping
from typing import Any
from urllib.parse import urlencode

from streamward.protocol.listening import BEARER, SUBPROTOCOL
from tests.support.app import ControlUnderTest

Sent = MutableMapping[str, Any]


class Ear:
    """One connection, as the application sees it."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.is_deaf = False  # takes nothing any more
        self.is_gone = asyncio.Event()
        self._came = asyncio.Event()

    async def send(self, message: Sent) -> None:
        if self.is_deaf:
            await asyncio.Event().wait()
        self.sent.append(message)
        self._came.set()

    async def more(self) -> None:
        """Waits until something is sent."""
        self._came.clear()
        await self._came.wait()

    @property
    def text(self) -> str:
        """All that a stream said."""
        return b"".join(each.get("body", b"") for each in self.sent).decode()

    @property
    def events(self) -> list[tuple[str, dict[str, Any]]]:
        """What it heard as server-sent events, without the notices that it lives."""
        blocks = [dict(line.split(": ", 1) for line in block.split("\n")) for block in self.text.split("\n\n") if block]
        return [(each["event"], json.loads(each["data"])) for each in blocks if "event" in each]

    @property
    def ids(self) -> list[int]:
        return [int(line[4:]) for line in self.text.split("\n") if line.startswith("id: ")]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What it heard over a WebSocket."""
        return [json.loads(each["text"]) for each in self.sent if each["type"] == "websocket.send"]

    async def until(self, count: int) -> None:
        """Waits until it heard so many events."""
        async with asyncio.timeout(100):
            while len(self.events) + len(self.messages) < count:
                await self.more()


@contextlib.asynccontextmanager
async def streaming(
    control: ControlUnderTest, *, token: str, headers: dict[str, str] | None = None, **query: Any
) -> AsyncIterator[Ear]:
    """Somebody who listens as `curl -N` does."""
    ear = Ear()
    named = {"authorization": f"Bearer {token}", **(headers or {})}
    scope = _scope("http", "/v1/events/stream", query, named) | {"method": "GET"}

    async def receive() -> Sent:
        await ear.is_gone.wait()
        return {"type": "http.disconnect"}

    async with _connected(control.app(scope, receive, ear.send), ear):
        yield ear


@contextlib.asynccontextmanager
async def socketed(
    control: ControlUnderTest, *, token: str | None, in_header: bool = True, **query: Any
) -> AsyncIterator[Ear]:
    """Somebody who listens over a WebSocket; a browser names its token as a subprotocol."""
    ear = Ear()
    headers = {"authorization": f"Bearer {token}"} if token is not None and in_header else {}
    offered = [SUBPROTOCOL] if in_header else [SUBPROTOCOL, f"{BEARER}{token}"]
    scope = _scope("websocket", "/v1/events/socket", query, headers)
    scope |= {"subprotocols": offered, "extensions": {"websocket.http.response": {}}}
    said = iter(["websocket.connect", "websocket.receive"])

    async def receive() -> Sent:
        if (kind := next(said, None)) is not None:
            return {"type": kind, "text": "anything"}
        await ear.is_gone.wait()
        return {"type": "websocket.disconnect", "code": 1006}

    async with _connected(control.app(scope, receive, ear.send), ear):
        yield ear


@contextlib.asynccontextmanager
async def _connected(serving: Any, ear: Ear) -> AsyncIterator[None]:
    """In the end the client goes, and the application lets it."""
    task = asyncio.ensure_future(serving)
    try:
        async with asyncio.timeout(100):
            await ear.more()
        yield
    finally:
        ear.is_gone.set()
        async with asyncio.timeout(1000):
            await task


def _scope(kind: str, path: str, query: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
    return {
        "type": kind,
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": kind,
        "path": path,
        "raw_path": path.encode(),
        "query_string": urlencode(query).encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("192.0.2.9", 50_000),
        "server": ("control", 80),
    }
