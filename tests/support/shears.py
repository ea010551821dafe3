"""A way to a Redis server that is cut after so many bytes of what is asked, or of what is answered."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field


@dataclass
class Shears:
    """Counts what passes; cuts when no more may."""

    port: int = 0
    asked: int = 0  # bytes since the last look
    answered: int = 0
    most_asked: int | None = None  # None: everything passes
    most_answered: int | None = None
    _ways: set[asyncio.Task[None]] = field(default_factory=set)

    def set(self, *, asked: int | None = None, answered: int | None = None) -> None:
        """From now on so many bytes pass; whoever is cut off once may pass again."""
        self.asked = self.answered = 0
        self.most_asked, self.most_answered = asked, answered

    async def settled(self) -> None:
        """Waits until the server has done with everything that was cut."""
        while self._ways:
            await asyncio.wait(self._ways)

    @contextlib.asynccontextmanager
    async def held(self, to: int) -> AsyncIterator["Shears"]:
        """Leads to that port of this machine."""

        async def lead(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            way = asyncio.current_task()
            assert way is not None
            self._ways.add(way)
            try:
                await self._lead(reader, writer, to)
            finally:
                self._ways.discard(way)

        server = await asyncio.start_server(lead, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            await self.settled()

    async def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, to: int) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", to)
        answers = asyncio.create_task(self._answer(far_reader, writer))
        try:
            await self._ask(reader, far_writer)
            far_writer.write_eof()  # what came whole is done before the server hangs up
            await answers
        finally:
            for each in (writer, far_writer):
                each.close()
                with contextlib.suppress(OSError):
                    await each.wait_closed()

    async def _ask(self, reader: asyncio.StreamReader, far_writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65_536):
            piece = piece[: None if self.most_asked is None else max(0, self.most_asked - self.asked)]
            self.asked += len(piece)
            far_writer.write(piece)
            if self.asked == self.most_asked:
                return

    async def _answer(self, far_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Who was cut off while asking hears nothing more."""
        while piece := await far_reader.read(65_536):
            is_deaf = self.most_asked is not None and self.asked >= self.most_asked
            most = 0 if is_deaf else self.most_answered
            piece = piece[: None if most is None else max(0, most - self.answered)]
            self.answered += len(piece)
            writer.write(piece)
            if self.answered == most and not is_deaf:
                writer.close()
