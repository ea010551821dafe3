"""The Manager's end of the channel to its parent: hands over the release ticket, and notices when the parent is gone.

A Manager without a parent ends hard: there is nobody to clean up after it any more. It has `END_WITHIN` seconds from
when it is noticed, then the kernel ends it, and its fork server and Workers with it.
"""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable

from streamward.protocol.codec import encode
from streamward.protocol.ticket import ReleaseTicket
from streamward.runner.parent import LONGEST_TICKET, WITHDRAWN
from streamward.runtime import process_tree

END_WITHIN = 2.0  # seconds


class ParentLink:
    """One end; the other is in another process."""

    def __init__(self, channel: socket.socket, *, on_gone: Callable[[], None], end_within: float = END_WITHIN) -> None:
        self._channel = channel
        self._on_gone = on_gone
        self._end_within = end_within
        channel.setblocking(False)
        asyncio.get_running_loop().add_reader(channel, self._hear)

    @classmethod
    def inherited(cls, descriptor: int, *, on_gone: Callable[[], None], end_within: float = END_WITHIN) -> "ParentLink":
        """Takes over in a Manager that was just started: from now on it ends in good order without its parent.

        What its own children leave behind is its own from here on, too.
        """
        link = cls(socket.socket(fileno=descriptor), on_gone=on_gone, end_within=end_within)
        process_tree.adopt_orphans()
        process_tree.outlive_parent()  # after the reader is there: a parent that died just now is noticed by it
        return link

    def hand_over(self, ticket: ReleaseTicket) -> None:
        """From now on the parent can release; to be called before the first lease is asked for, and for each renewal.

        The parent reads what was sent also after the Manager's death, so nobody waits for an answer.
        """
        content = encode(ticket)
        if len(content) > LONGEST_TICKET:
            raise ValueError("the ticket is too long")
        self._send(content)

    def withdraw(self) -> None:
        """Everything was given back: the parent has nothing to release."""
        self._send(WITHDRAWN)

    def close(self) -> None:
        """Lets go of it; the parent then waits for this process's end."""
        asyncio.get_running_loop().remove_reader(self._channel)
        self._channel.close()

    def _send(self, content: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # the parent is gone, which the reader says
            self._channel.send(content)

    def _hear(self) -> None:
        """The parent never speaks: whatever there is to read is its end."""
        asyncio.get_running_loop().remove_reader(self._channel)
        signal.setitimer(signal.ITIMER_REAL, self._end_within)  # SIGALRM ends a process that does not care about it
        self._on_gone()
