"""A port that leads to another one of this machine and delays what that one answers."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

HERE = "127.0.0.1"


@dataclass
class SlowProxy:
    """Everything that the server sends arrives `delay` seconds later; what clients send arrives at once."""

    to: int
    delay: float = 0.0
    port: int = 0
    _connections: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://{HERE}:{self.port}"

    async def serve(self, ready: threading.Event, stop: asyncio.Event) -> None:
        server = await asyncio.start_server(self._connected, HERE, 0)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        async with server:
            await stop.wait()
            for each in self._connections:
                each.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            far_reader, far_writer = await asyncio.open_connection(HERE, self.to)
            ways = (self._carry(reader, far_writer, is_answer=False), self._carry(far_reader, writer, is_answer=True))
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await asyncio.gather(*ways)
            far_writer.transport.abort()
        finally:
            writer.transport.abort()
            self._connections.discard(task)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool) -> None:
        loop = asyncio.get_running_loop()
        while data := await reader.read(65_536):
            if is_answer and self.delay:
                loop.call_later(self.delay, _write, writer, data)
            else:
                writer.write(data)
        if is_answer and self.delay:
            ended = loop.create_future()
            loop.call_later(self.delay, ended.set_result, None)
            await ended
        writer.close()


def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    if not writer.is_closing():
        writer.write(data)


@contextlib.contextmanager
def slow_proxy(to: int, *, delay: float = 0.0) -> Iterator[SlowProxy]:
    """A proxy in a thread of its own; its `delay` may be changed at any time."""
    proxy, ready = SlowProxy(to, delay), threading.Event()
    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(proxy.serve(ready, stop),), name="slow proxy")
    thread.start()
    try:
        ready.wait()
        yield proxy
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
