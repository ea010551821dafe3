"""A way between two programs that can be cut: a port on this machine that leads to another one."""

import selectors
import socket
import threading
from enum import Enum, auto

HERE = "127.0.0.1"
BACKLOG = 100  # connections that wait to be accepted


class Passage(Enum):
    """What a wire lets through."""

    ALL = auto()
    NO_ANSWERS = auto()  # what a client sends arrives, and it hears nothing
    NOTHING = auto()


class Wire:
    """A way to a port that can be cut: then nothing passes, and nobody answers whoever dials."""

    def __init__(self, port: int, *, to: str = HERE, at: str = HERE) -> None:
        self._to = (to, port)
        self._at = at
        self._listener = _listening(at)
        self.port: int = self._listener.getsockname()[1]
        self._ways: dict[socket.socket, socket.socket] = {}  # both ends of each, by the other one
        self._fars: set[socket.socket] = set()
        self._wake, self._woken = socket.socketpair()
        self._is_open, self._passage = True, Passage.ALL
        self._changed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="wire")
        self._thread.start()

    def cut(self) -> None:
        """From now on it swallows everything."""
        self._turn(Passage.NOTHING)

    def deafen(self) -> None:
        """From now on clients hear nothing; what they say is heard."""
        self._turn(Passage.NO_ANSWERS)

    def mend(self) -> None:
        """It carries again, also what was under way."""
        self._turn(Passage.ALL)

    def close(self) -> None:
        """Ends it and all that goes over it."""
        self._is_open = False
        self._wake.send(b"!")
        self._thread.join()
        for each in (*self._ways, self._listener, self._wake, self._woken):
            each.close()

    def _turn(self, passage: Passage) -> None:
        self._changed.clear()
        self._passage = passage
        self._wake.send(b"!")
        self._changed.wait()

    def _run(self) -> None:
        filler: socket.socket | None = None
        while self._is_open:
            if self._passage is Passage.NOTHING and filler is None:
                self._listener.listen(0)  # room for one that waits; SYNs of all others are dropped
                filler = _dialing(self._listener)
            elif self._passage is not Passage.NOTHING and filler is not None:
                filler.close()
                filler = None
                self._listener.listen(BACKLOG)
            self._changed.set()
            self._carry()
        if filler is not None:
            filler.close()

    def _carry(self) -> None:
        """Moves bytes until somebody has something to say to this thread."""
        with selectors.DefaultSelector() as ready:
            ready.register(self._woken, selectors.EVENT_READ)
            for each in self._heard():
                ready.register(each, selectors.EVENT_READ)
            for key, _ in ready.select():
                if key.fileobj is self._woken:
                    self._woken.recv(1)
                elif key.fileobj is self._listener:
                    self._accept()
                elif isinstance(key.fileobj, socket.socket) and key.fileobj in self._ways:
                    self._pass_on(key.fileobj)

    def _heard(self) -> list[socket.socket]:
        match self._passage:
            case Passage.ALL:
                return [self._listener, *self._ways]
            case Passage.NO_ANSWERS:
                return [self._listener, *(self._ways.keys() - self._fars)]
            case Passage.NOTHING:
                return []

    def _accept(self) -> None:
        try:
            near, _ = self._listener.accept()
        except OSError:  # whoever dialed has given up
            return
        near.setblocking(True)
        try:
            far = socket.create_connection(self._to)
        except OSError:
            near.close()
        else:
            self._ways |= {near: far, far: near}
            self._fars.add(far)

    def _pass_on(self, source: socket.socket) -> None:
        other = self._ways[source]
        try:
            piece = source.recv(65_536)
            other.sendall(piece)
        except OSError:
            piece = b""
        if not piece:
            for each in (source, other):
                del self._ways[each]
                self._fars.discard(each)
                each.close()


def _listening(host: str) -> socket.socket:
    listener = socket.socket()
    listener.setblocking(False)
    listener.bind((host, 0))
    listener.listen(BACKLOG)
    return listener


def _dialing(listener: socket.socket) -> socket.socket:
    """A connection that waits in a listener's queue, unless another one does: nobody waits for its answer."""
    dialing = socket.socket()
    dialing.setblocking(False)
    dialing.connect_ex(listener.getsockname())
    return dialing
