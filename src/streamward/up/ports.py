"""The ports of a fleet: those that the user chose, and for the others the usual one or the next that is free.

Not guaranteed: that a port is still free when its process listens there; that process then reports it.
"""

import errno
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from streamward.model.errors import StreamwardError
from streamward.runtime.listening import CannotListen
from streamward.runtime.local_http import HOST

_TRIED = 100  # ports
_ANOTHER_MAY_DO = (errno.EADDRINUSE, errno.EACCES)


class NoPortFree(StreamwardError):
    """All ports of a range are in use."""

    def __init__(self, request: "PortRequest") -> None:
        super().__init__(request)
        self.request = request

    def __str__(self) -> str:
        host, first, option = self.request.host, self.request.usual, self.request.option
        return f"no port of {host} from {first} to {_after(first) - 1} is free: choose another with {option}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PortRequest:
    """One port that a fleet needs."""

    option: str  # of `streamward up`, which chooses it
    chosen: int | None  # None: the usual one, or the next that is free
    usual: int  # 0: the process takes any
    host: str = HOST


def allocate(requests: Mapping[str, PortRequest]) -> dict[str, int]:
    """A port for each, no port twice; what the user chose comes first. Raises CannotListen or NoPortFree."""
    given: dict[int, str] = {}  # the option by port
    ports: dict[str, int] = {}
    for name, request in requests.items():
        port, remedy = request.chosen, f"choose another with {request.option}"
        if port is None:
            continue
        if port in given:
            raise CannotListen(request.host, port, f"{given[port]} takes it", remedy=remedy)
        try:
            _probe(request.host, port)
        except OSError as error:
            raise CannotListen.because(error, request.host, port, remedy=remedy) from None
        given[port], ports[name] = request.option, port
    for name, request in requests.items():
        if name not in ports:
            ports[name] = port = _usual(request, given)
            given[port] = request.option
    return ports


def _usual(request: PortRequest, given: Mapping[int, str]) -> int:
    first = request.usual
    if not first:
        return 0
    for port in range(first, _after(first)):
        if port in given:
            continue
        try:
            _probe(request.host, port)
        except OSError as error:
            if error.errno not in _ANOTHER_MAY_DO:
                remedy = "set STREAMWARD_HOST to an address of this host"
                raise CannotListen.because(error, request.host, port, remedy=remedy) from None
        else:
            return port
    raise NoPortFree(request)


def _after(first: int) -> int:
    return min(first + _TRIED, 65_536)


def _probe(host: str, port: int) -> None:
    family, *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    socket.create_server((host, port), family=family).close()
