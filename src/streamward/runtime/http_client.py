"""HTTP/1.1 to one server, in short synchronous calls, for commands and for processes without a web framework.

What is sent goes to the configured address and nowhere else: no redirect is followed and no proxy asked.
"""

import http.client
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from streamward import __version__

VERSION = "Streamward-Version"
LARGEST_ANSWER = 1 << 25  # bytes; a page of 1,000 cameras has half a million


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """An answer as it came."""

    status: int
    headers: Mapping[str, str]  # by lower-case name
    body: bytes

    @property
    def kind(self) -> str:
        """The media type of its body."""
        return self.headers.get("content-type", "").partition(";")[0]

    @property
    def version(self) -> str | None:
        """The version of the control plane, if it is one that tells it."""
        return self.headers.get(VERSION.lower())

    @property
    def at(self) -> datetime | None:
        """Its clock, to the second."""
        try:
            return parsedate_to_datetime(self.headers["date"]).astimezone(UTC)
        except (KeyError, ValueError):
            return None


def connection(url: str, *, tls: ssl.SSLContext | None, timeout: float) -> http.client.HTTPConnection:
    """A connection that is still to be opened."""
    place = urlsplit(url)
    if place.scheme == "https":
        return http.client.HTTPSConnection(place.hostname or "", place.port, timeout=timeout, context=tls)
    return http.client.HTTPConnection(place.hostname or "", place.port, timeout=timeout)


def ask(
    line: http.client.HTTPConnection,
    url: str,
    method: str,
    path: str,
    *,
    headers: Mapping[str, str],
    body: bytes | None,
) -> http.client.HTTPResponse:
    """Sends a request for a path below a URL; the answer is still to be read."""
    sent = {"Accept": "*/*", "User-Agent": f"streamward/{__version__}"}
    if body is not None:
        sent["Content-Type"] = "application/json"
    line.request(method, urlsplit(url).path.rstrip("/") + path, body=body, headers=sent | dict(headers))
    return line.getresponse()


def bearing(token: str) -> dict[str, str]:
    """What says who asks."""
    return {"Authorization": f"Bearer {token}"}


def read(answer: http.client.HTTPResponse) -> Raw:
    """The whole answer, up to a bound; raises IncompleteRead for one that was cut short."""
    body = answer.read(LARGEST_ANSWER)
    if answer.length and len(body) < LARGEST_ANSWER:  # the library says so only of what is read without a bound
        raise http.client.IncompleteRead(body, answer.length)
    return Raw(status=answer.status, headers={k.lower(): v for k, v in answer.getheaders()}, body=body)
