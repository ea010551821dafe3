"""An endpoint of OpenAI's kind that says what a test wants, whole, late, broken or never."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

Reply = tuple[int, bytes] | tuple[int, bytes, dict[str, str]]


@dataclass(slots=True)
class FakeEndpoint:
    """Where it listens, and what it was asked."""

    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    is_asked: asyncio.Event = field(default_factory=asyncio.Event)


def verdict(**fields: Any) -> bytes:
    """A model's verdict in a chat's answer."""
    return said(json.dumps({"summary": "a person came by", "risk": 40, "reasons": ["at night"], **fields}))


def said(content: str | None) -> bytes:
    """Whatever a model wrote in a chat's answer, with fields that we do not know."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return json.dumps({"id": "chat-1", "object": "chat.completion", "choices": [choice], "usage": {}}).encode()


@contextlib.asynccontextmanager
async def answering(*replies: Reply | None, claims: int = 0) -> AsyncIterator[FakeEndpoint]:
    """Gives these answers in turn, the last one again and again; None: none, and the line stays open.

    An answer claims to be so many bytes longer than it is.
    """
    fake = FakeEndpoint()
    waits = asyncio.Event()
    serving: set[asyncio.Task[None] | None] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError), contextlib.closing(writer):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next(int(line[15:]) for line in head.lower().splitlines() if line.startswith("content-length:"))
            reply = replies[min(len(fake.asked), len(replies) - 1)]
            fake.heads.append(head)
            fake.asked.append(json.loads(await reader.readexactly(length)))
            fake.is_asked.set()
            if reply is None:
                await waits.wait()
            else:
                await _write(writer, reply, claims)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    fake.url = f"http://{host}:{port}/v1"
    try:
        async with server:
            yield fake
    finally:
        waits.set()
        await asyncio.gather(*filter(None, serving))


async def _write(writer: asyncio.StreamWriter, reply: Reply, claims: int) -> None:
    status, body, *more = reply
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body) + claims), **dict(*more)}
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    writer.write("\r\n".join(lines).encode() + body)
    await writer.drain()
