"""A TCP proxy on loopback that passes on at once what a client says, and what the server answers so much later."""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Iterator

HOST = "127.0.0.1"


@contextlib.contextmanager
def late_answers(port: int, *, late: float) -> Iterator[int]:
    """The port of a proxy before that one, which runs in a thread of its own."""
    told: queue.Queue[tuple[int, Callable[[], object]]] = queue.Queue()

    async def serve() -> None:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(lambda *ends: _joined(*ends, port=port, late=late), HOST, 0)
        told.put((server.sockets[0].getsockname()[1], lambda: loop.call_soon_threadsafe(ended.set)))
        async with server:
            await ended.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="late answers")
    thread.start()
    bound, end = told.get(timeout=60)
    try:
        yield bound
    finally:
        end()
        thread.join()


async def _joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, port: int, late: float) -> None:
    with contextlib.suppress(OSError, asyncio.CancelledError):
        their_reader, their_writer = await asyncio.open_connection(HOST, port)
        there = asyncio.ensure_future(_passed(reader, their_writer))
        try:
            loop = asyncio.get_running_loop()
            while said := await their_reader.read(65_536):
                loop.call_later(late, writer.write, said)
            loop.call_later(late, writer.close)
        finally:
            await asyncio.wait([there])
    writer.close()


async def _passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until the client closes; then the server sees that."""
    with contextlib.suppress(OSError):
        while said := await reader.read(65_536):
            writer.write(said)
    writer.close()
