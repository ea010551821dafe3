"""The recorder's port: open, or shut while it is away; and everybody who came in."""

import asyncio

from streamward.nvr.connection import Connection, OpenConnections
from streamward.nvr.recorder import Recorder

LOOK_EVERY = 0.05  # seconds


class Door:
    """Lets clients in, and cuts them off when their time is over or the recorder reboots."""

    def __init__(self, recorder: Recorder) -> None:
        self.port = recorder.spec.port
        self._recorder = recorder
        self._connections = OpenConnections()
        self._listener: asyncio.Server | None = None
        self._listening = asyncio.Lock()

    async def tick(self) -> float:
        """What time brings about: reboots, and sessions whose clients are silent."""
        now = asyncio.get_running_loop().time()
        board = self._recorder.board
        for connection in tuple(self._connections):
            if board.is_rebooting(connection.camera, now):
                connection.cut()
            else:
                connection.tick(now)
        await self._listen()
        return LOOK_EVERY

    async def look(self) -> None:
        """Faults have changed."""
        for connection in tuple(self._connections):
            connection.look()
        await self.tick()

    async def stop(self) -> None:
        """Shuts it and cuts everybody off."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()
        await self._connections.end()
        if listener is not None:
            await listener.wait_closed()

    async def _listen(self) -> None:
        """Opens or shuts it; the caretaker and a new fault may come here together."""
        loop, spec = asyncio.get_running_loop(), self._recorder.spec
        async with self._listening:
            is_away = self._recorder.board.is_away(None, loop.time())
            if is_away and self._listener is not None:
                self._listener.close()
                self._listener = None
            elif not is_away and self._listener is None:
                self._listener = await loop.create_server(
                    lambda: Connection(self._recorder, self._connections),
                    spec.host,
                    self.port,
                    ssl=spec.tls,
                    backlog=1024,
                )
                self.port = self._listener.sockets[0].getsockname()[1]
