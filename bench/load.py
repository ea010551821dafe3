"""Load with as little client as can be: prepared bytes over kept connections, or one statement over and over."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

Call = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Rate:
    """What a stretch of load measured."""

    per_second: float
    p50_ms: float
    p99_ms: float


async def measure(callers: Sequence[Call], *, seconds: float) -> Rate:
    """Lets all callers call without rest for so long."""
    took: list[float] = []
    end = time.perf_counter() + seconds

    async def caller(call: Call) -> None:
        while (began := time.perf_counter()) < end:
            await call()
            took.append(time.perf_counter() - began)

    began = time.perf_counter()
    await asyncio.gather(*map(caller, callers))
    elapsed = time.perf_counter() - began
    took.sort()
    return Rate(len(took) / elapsed, took[len(took) // 2] * 1e3, took[int(len(took) * 0.99)] * 1e3)


class HttpCaller:
    """One kept connection."""

    def __init__(self, url: str, token: str) -> None:
        self._at = urlsplit(url)
        self._token = token

    async def connect(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(self._at.hostname, self._at.port)

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def post(self, path: str, body: bytes) -> bytes:
        """Sends one request; anything but 200 is an error."""
        head = (
            f"POST {path} HTTP/1.1\r\nHost: control\r\nAuthorization: Bearer {self._token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        content = await self._reader.readexactly(length)
        if not answer.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(content.decode())
        return content
