"""A call that the loop gives up while its thread is closing the connection."""

import http.client
import socket

from streamward.drivers.control_plane import _Call


class Closing(http.client.HTTPConnection):
    """Its socket is gone at the second look."""

    def __init__(self, opened: socket.socket) -> None:
        super().__init__("localhost")
        self._opened: socket.socket | None = opened

    @property
    def sock(self) -> socket.socket | None:
        opened, self._opened = self._opened, None
        return opened

    @sock.setter
    def sock(self, _value: socket.socket | None) -> None: ...


def test_a_connection_that_closes_in_that_moment_is_no_failure():
    near, far = socket.socketpair()
    with near, far:
        line = Closing(near)
        line._opened = near
        _Call(line, "http://localhost", {}).give_up()
        assert far.recv(1) == b""
