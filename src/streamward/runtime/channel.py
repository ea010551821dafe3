"""A channel between two processes of one host: whole messages over a socket that one of them inherited.

Guaranteed: `send` never waits; what was sent before `close` arrives, unless the other end dies. A reader that falls
`MOST_BEHIND` bytes behind is as good as dead, and its channel is ended. No message is longer than `LONGEST`.
"""

import asyncio
import socket
import struct
from typing import Self

LONGEST = 4 << 20  # bytes of one message: a shard of 64 cameras has some kilobytes
MOST_BEHIND = 16 << 20

_LENGTH = struct.Struct("!I")


class Channel:
    """One end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, end: socket.socket) -> Self:
        """The channel over a connected socket, which belongs to it from now on."""
        end.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=end, limit=LONGEST)
        return cls(reader, writer)

    def send(self, content: bytes) -> None:
        """Sends one message, if anybody is still there."""
        if len(content) > LONGEST:
            raise ValueError(f"a message of {len(content)} bytes is too long for a channel")
        if self._writer.is_closing():
            return
        self._writer.write(_LENGTH.pack(len(content)) + content)
        if self._writer.transport.get_write_buffer_size() > MOST_BEHIND:
            self._writer.transport.abort()

    async def receive(self) -> bytes | None:
        """The next message; None: the other end is gone."""
        try:
            (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
            return await self._reader.readexactly(length) if length <= LONGEST else None
        except (asyncio.IncompleteReadError, OSError):
            return None

    def cut(self) -> None:
        """Ends it now: nobody is there any more. The end of a stream alone would leave its descriptor open."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """Ends it; what was sent goes out first, for a second at most."""
        self._writer.close()
        try:
            async with asyncio.timeout(1.0):
                await self._writer.wait_closed()
        except (OSError, TimeoutError):
            self._writer.transport.abort()


def pair() -> tuple[socket.socket, socket.socket]:
    """Two connected ends; the second is for the process that is started."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
