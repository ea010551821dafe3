"""Ports that nobody uses just now."""

import contextlib
import random
import socket

_BELOW_EPHEMERAL = range(15_000, 32_000)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def lasting_port() -> int:
    """One that no connection of anybody takes as its own end, so that it is free again after a restart too."""
    while True:
        port = random.choice(_BELOW_EPHEMERAL)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
