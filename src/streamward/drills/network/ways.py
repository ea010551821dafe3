"""A runner's own ways to the control plane and to the broker, each of which can be cut without the other."""

import contextlib
from urllib.parse import urlsplit, urlunsplit

from streamward.drills.network.wire import HERE, Wire

_PORTS = {"http": 80, "https": 443, "amqp": 5672, "amqps": 5671}


class Way:
    """A wire, and the URL by which what is at its end is found over it."""

    def __init__(self, url: str, started: contextlib.ExitStack, *, at: str = HERE) -> None:
        place = urlsplit(url)
        self.wire = Wire(place.port or _PORTS[place.scheme], to=place.hostname or HERE, at=at)
        started.callback(self.wire.close)
        self.url = moved(url, f"{at}:{self.wire.port}")


def moved(url: str, to: str) -> str:
    """The same at another host and port; who asks stays."""
    place = urlsplit(url)
    who, at, _ = place.netloc.rpartition("@")
    return urlunsplit(place._replace(netloc=f"{who}{at}{to}"))
