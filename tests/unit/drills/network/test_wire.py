"""A wire that is cut and mended while others dial over it."""

import contextlib
import socket
import threading
from collections.abc import Iterator

from streamward.drills.network.wire import HERE, Wire

TURNS = 30


@contextlib.contextmanager
def echoing() -> Iterator[int]:
    """The port of a server that answers each connection with the first byte that it sends."""
    with socket.create_server((HERE, 0)) as server:
        thread = threading.Thread(target=_echo, args=(server,))
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def _echo(server: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the server is shut down
        while True:
            peer, _ = server.accept()
            with peer, contextlib.suppress(OSError):
                peer.sendall(peer.recv(1))


def answers(port: int, *, within: float) -> bool:
    """Whether somebody answers there in so many seconds."""
    try:
        with socket.create_connection((HERE, port), timeout=within) as dialed:
            dialed.settimeout(within)
            dialed.sendall(b"!")
            return dialed.recv(1) == b"!"
    except OSError:
        return False


def test_a_wire_that_is_cut_answers_nobody_and_answers_again_when_it_is_mended() -> None:
    with echoing() as port, contextlib.closing(Wire(port)) as wire:
        assert answers(wire.port, within=60)
        wire.cut()
        assert not answers(wire.port, within=0.2)
        wire.mend()
        assert answers(wire.port, within=60)


def test_clients_that_dial_all_the_time_do_not_keep_it_from_being_cut_and_mended() -> None:
    is_over = threading.Event()

    def dial(port: int) -> None:
        while not is_over.is_set():
            answers(port, within=0.01)

    with echoing() as port, contextlib.closing(Wire(port)) as wire:
        dialing = [threading.Thread(target=dial, args=(wire.port,)) for _ in range(4)]
        for each in dialing:
            each.start()
        try:
            for _ in range(TURNS):
                wire.cut()
                is_over.wait(0.02)
                wire.mend()
        finally:
            is_over.set()
            for each in dialing:
                each.join()
        assert answers(wire.port, within=60)
