"""The error of a port that a process cannot listen on: it names the port, the reason and what chooses another."""

import os

from streamward.model.errors import StreamwardError


class CannotListen(StreamwardError):
    """The port is in use or reserved, or the address is not of this host."""

    def __init__(self, host: str, port: int, why: str, *, remedy: str) -> None:
        super().__init__(host, port, why)
        self.host = host
        self.port = port
        self.why = why
        self.remedy = remedy  # the option or setting: "choose another with --port"

    def __str__(self) -> str:
        return f"cannot listen on {self.host} port {self.port} ({self.why}): {self.remedy}"

    @classmethod
    def because(cls, error: OSError, host: str, port: int, *, remedy: str) -> "CannotListen":
        """With the operating system's reason: asyncio adds the address to it; an unknown name has no errno."""
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error.strerror or error)
        return cls(host, port, why.lower(), remedy=remedy)
