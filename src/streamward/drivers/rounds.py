"""Reads sockets in rounds: all of a process at the same few moments of a second, not whenever a packet comes.

To be woken for what a camera sends costs more than to read it, and most of it waits for the next look anyway. Between
two rounds the kernel keeps what comes: it makes room for twice what was fetched at a time, and then the camera waits.

Guaranteed: the end of a connection is noticed in the next round; one who sends as fast as he can is read on and on, but
others have their turn in between. Not guaranteed: that a picture is heard of before the next round.
"""

import asyncio
import socket
from collections.abc import Callable

MOST_AT_ONCE = 65_536  # bytes of one socket before another has its turn


class Rounds:
    """The connections of one event loop that are read together."""

    def __init__(self, *, every: float) -> None:
        self._every = every  # seconds
        self._seats: set[Seat] = set()
        self._next: asyncio.TimerHandle | None = None

    def join(self, seat: "Seat") -> None:
        """From the next round on it is read."""
        self._seats.add(seat)
        if self._next is None:
            self._next = asyncio.get_running_loop().call_later(self._every, self._go_round)

    def leave(self, seat: "Seat") -> None:
        """It is read no more."""
        self._seats.discard(seat)
        if not self._seats and self._next is not None:
            self._next.cancel()
            self._next = None

    def _go_round(self) -> None:
        """Each has a turn of its own in the event loop: one that fails keeps no other from being read."""
        loop = asyncio.get_running_loop()
        self._next = loop.call_later(self._every, self._go_round)
        for seat in self._seats:
            loop.call_soon(seat.visit)


class Seat:
    """One connection's place in the rounds; its transport still writes, and closes the socket."""

    def __init__(
        self, rounds: Rounds, transport: asyncio.Transport, end: socket.socket, received: Callable[[bytes], None]
    ) -> None:
        self._rounds = rounds
        self._transport = transport
        self._end = end
        self._received = received
        self._is_taken = False
        self._more: asyncio.Handle | None = None  # the rest of what it was sent is read before the next round

    def take(self) -> None:
        """From now on the transport does not read."""
        self._is_taken = True
        self._transport.pause_reading()
        self._rounds.join(self)

    def leave(self) -> None:
        """The transport reads again, if it is still there."""
        if not self._is_taken:
            return
        self._is_taken = False
        self._rounds.leave(self)
        if self._more is not None:
            self._more.cancel()
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def visit(self) -> None:
        """It is this one's turn in the round."""
        if self._is_taken and self._more is None:
            self._read()

    def _read(self) -> None:
        self._more = None
        try:
            chunk = self._end.recv(MOST_AT_ONCE)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._transport.abort()
            return
        if len(chunk) == MOST_AT_ONCE:
            self._more = asyncio.get_running_loop().call_soon(self._read)
        self._received(chunk)
