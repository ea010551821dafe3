"""The starter's end of `--ready-fd`: a pipe over which a role sends its readiness message.

    pipe = ReadyPipe(ControlReady)
    process = Popen([..., "control", *pipe.option], pass_fds=[pipe.writer])
    pipe.close_writer()
    ready = pipe.receive(within=60)

The role has the only writing end, so its death before the message is the end of the pipe, whatever its log says.
"""

import os
import select
import time
from typing import Generic, TypeVar

from streamward.model.errors import StreamwardError
from streamward.protocol.codec import decode

R = TypeVar("R")

_PIECE = 65_536  # bytes


class EndedBeforeReady(StreamwardError):
    """The role ended before it sent its readiness message."""

    def __str__(self) -> str:
        return "it ended before it was ready"


class ReadyPipe(Generic[R]):
    """One pipe for one start of a role."""

    def __init__(self, kind: type[R]) -> None:
        self._kind = kind
        self._reader, self.writer = os.pipe()
        self._open = {self._reader, self.writer}
        self._received = b""
        self._message: R | None = None

    @property
    def option(self) -> tuple[str, str]:
        """What the role's command line gets."""
        return "--ready-fd", str(self.writer)

    def close_writer(self) -> None:
        """To be called when the role has been started: the end of the pipe is then the end of the role."""
        self._close(self.writer)

    def receive(self, *, within: float = 0.0) -> R | None:
        """The message; None: it has not arrived in so many seconds. Raises EndedBeforeReady."""
        last = time.monotonic() + within
        while self._message is None:
            if not select.select([self._reader], [], [], max(0.0, last - time.monotonic()))[0]:
                return None
            piece = os.read(self._reader, _PIECE)
            self._received += piece
            if b"\n" in piece:
                self._message = decode(self._received, self._kind)
            elif not piece:
                raise EndedBeforeReady
        return self._message

    def close(self) -> None:
        """Closes what is open; may be called again."""
        for descriptor in (self._reader, self.writer):
            self._close(descriptor)

    def _close(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.remove(descriptor)
            os.close(descriptor)
