"""Reading in rounds over real sockets: nothing is lost, ends are noticed, and nobody is kept waiting."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import pytest

from streamward.drivers.rounds import MOST_AT_ONCE, Rounds, Seat
from tests.support.news import News

OFTEN = 0.01  # seconds
NEVER = 1e6


class Ear(asyncio.Protocol):
    """Keeps what it hears, and when somebody else had a turn."""

    def __init__(self) -> None:
        self.heard = b""
        self.turns: list[int] = []  # bytes that were read, or 0 for somebody else's
        self.is_lost = False
        self.news = News()

    def data_received(self, data: bytes) -> None:
        self.heard += data
        self.turns.append(len(data))
        asyncio.get_running_loop().call_soon(self.turns.append, 0)
        self.news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        self.news.set()


@dataclass(eq=False)
class Line:
    """A connection that is read in rounds, and its other end."""

    ear: Ear
    seat: Seat
    transport: asyncio.Transport
    other: socket.socket
    end: socket.socket

    async def hears(self, said: bytes) -> None:
        await self.ear.news.until(lambda: self.ear.heard.endswith(said))


Lay = Callable[[float], Awaitable[Line]]


@pytest.fixture
async def lay() -> AsyncIterator[Lay]:
    lines: list[Line] = []

    async def lay(every: float) -> Line:
        with socket.create_server(("127.0.0.1", 0)) as server:
            end = socket.create_connection(server.getsockname())
            other, _ = server.accept()
        transport, ear = await asyncio.get_running_loop().create_connection(Ear, sock=end)
        seat = Seat(Rounds(every=every), transport, end, ear.data_received)
        lines.append(Line(ear, seat, transport, other, end))
        seat.take()
        return lines[-1]

    yield lay
    for line in lines:
        line.seat.leave()
        line.transport.abort()
        line.other.close()


async def test_all_that_was_sent_is_heard_in_order(lay: Lay):
    line = await lay(OFTEN)
    for piece in (b"one ", b"two ", b"three"):
        line.other.sendall(piece)
        await line.hears(piece)
    assert line.ear.heard == b"one two three"


async def test_what_comes_between_two_rounds_waits_and_is_read_when_it_leaves(lay: Lay):
    line = await lay(NEVER)
    line.other.sendall(b"hello")
    for _ in range(10):
        await asyncio.sleep(0)
    assert not line.ear.heard
    line.seat.leave()
    await line.hears(b"hello")


async def test_the_end_of_a_connection_is_noticed(lay: Lay):
    line = await lay(OFTEN)
    line.other.sendall(b"goodbye")
    line.other.close()
    await line.ear.news.until(lambda: line.ear.is_lost)
    assert line.ear.heard == b"goodbye"


async def test_a_connection_that_is_reset_is_noticed(lay: Lay):
    line = await lay(OFTEN)
    line.other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    line.other.close()
    await line.ear.news.until(lambda: line.ear.is_lost)
    assert not line.ear.heard


async def test_one_who_sends_much_is_read_on_but_others_have_their_turn(lay: Lay):
    line = await lay(OFTEN)
    line.other.setblocking(False)
    await asyncio.get_running_loop().sock_sendall(line.other, b"." * 100 * MOST_AT_ONCE + b"the end")
    await line.hears(b"the end")
    turns = line.ear.turns
    assert max(turns) == MOST_AT_ONCE
    assert not any(one and two and three for one, two, three in zip(turns, turns[1:], turns[2:], strict=False))


async def test_one_who_cannot_be_read_keeps_no_other_from_its_turn(lay: Lay):
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    rounds = Rounds(every=OFTEN)
    lines = [await lay(NEVER) for _ in range(8)]
    for line in lines:
        line.seat.leave()

    def fail(line: Line) -> None:
        line.other.sendall(b"again")
        raise RuntimeError

    failing, good = lines[::2], lines[1::2]
    for line in lines:
        heard = (lambda _, line=line: fail(line)) if line in failing else line.ear.data_received
        line.seat = Seat(rounds, line.transport, line.end, heard)
        line.seat.take()
        line.other.sendall(b"hello")
    for line in good:
        await line.hears(b"hello")
