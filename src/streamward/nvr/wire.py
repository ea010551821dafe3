"""The way to one client: at once, byte by byte, or not at all, and never with more waiting than a bound."""

import asyncio

LARGEST_TRICKLE = 65536  # bytes that wait for their turn; what comes after them is lost


class Wire:
    """Sends to one client."""

    def __init__(self, transport: asyncio.Transport, *, largest_backlog: int) -> None:
        self._transport = transport
        self._largest = largest_backlog
        self._drops = bytearray()  # what goes out byte by byte
        self._timer: asyncio.TimerHandle | None = None

    def send(self, pieces: list[bytes], *, trickle_every: float | None = None) -> bool:
        """Sends, or puts in line; False: the client does not read, and nothing more was sent."""
        if self._transport.is_closing():
            return True  # the loop will tell of the end in a moment
        if trickle_every is not None or self._drops:
            self._trickle(pieces, trickle_every)
            return True
        if self._transport.get_write_buffer_size() > self._largest:
            return False
        self._transport.writelines(pieces)
        return True

    def stop(self) -> None:
        """Nothing goes out any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._drops.clear()

    def _trickle(self, pieces: list[bytes], every: float | None) -> None:
        if len(self._drops) < LARGEST_TRICKLE:
            self._drops += b"".join(pieces)
        if every is None:
            self._transport.write(bytes(self._drops))
            self.stop()
        elif self._timer is None:
            self._drip(every)

    def _drip(self, every: float) -> None:
        self._timer = None
        if self._drops:
            self._transport.write(bytes(self._drops[:1]))
            del self._drops[:1]
            self._timer = asyncio.get_running_loop().call_later(every, self._drip, every)
