"""Ports that are free, the usual ones first.

Not guaranteed: that a port is still free when it is used; whoever is told it says so if it is not.
"""

import contextlib
import socket

from streamward.model.errors import StreamwardError

_TRIED = 100  # ports


class NoPortFree(StreamwardError):
    """A whole row of ports is taken, or the address is not this host's."""

    def __init__(self, host: str, first: int) -> None:
        super().__init__(host, first)
        self.host = host
        self.first = first

    def __str__(self) -> str:
        return f"no port of {self.host} from {self.first} to {self.first + _TRIED - 1} is free"


def free_port(host: str, first: int) -> int:
    """The first port from that one on that nobody listens at."""
    for port in range(first, min(first + _TRIED, 65_536)):
        if _is_free(host, port):
            return port
    raise NoPortFree(host, first)


def _is_free(host: str, port: int) -> bool:
    with contextlib.suppress(OSError):
        family, *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.create_server((host, port), family=family):
            return True
    return False
