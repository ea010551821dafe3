"""The control plane as a command sees it: short synchronous calls, and every failure one sentence with its remedy.

No part of a call waits longer than its timeout, and no answer is read beyond a bound.
"""

import contextlib
import http.client
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import quote, urlencode

from streamward import __version__
from streamward.cli import refusal
from streamward.protocol.codec import MalformedMessage, decode, encode, problem_in
from streamward.protocol.problem import Problem
from streamward.runtime import http_client
from streamward.runtime.http_client import VERSION, Raw

CONNECT_TIMEOUT = 3.0
ANSWER_TIMEOUT = 15.0  # seconds of silence
FILE_TIMEOUT = 120.0  # seconds; 10,000 cameras take some


class Page(Protocol):
    """One page of a listing."""

    @property
    def items(self) -> list[Any]: ...
    @property
    def next_cursor(self) -> str | None: ...


T = TypeVar("T")
P = TypeVar("P", bound=Page)
Query = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[T]):
    """What the control plane said, which state that was, and what time it had."""

    body: T
    etag: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class File:
    """A file to be sent; it may hold passwords."""

    media_type: str
    content: bytes = field(repr=False)


class Link:
    """The calls of one command."""

    def __init__(
        self,
        url: str,
        *,
        bearer: Callable[[], str],
        tls: ssl.SSLContext | None = None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.url = url
        self._bearer = bearer
        self._tls = tls
        self._warn = warn
        self._has_warned = False

    def get(self, path: str, kind: type[T], query: Query | None = None) -> Answer[T]:
        """Reads one thing."""
        return self._call("GET", path, kind, query=query)

    def post(self, path: str, message: object, kind: type[T]) -> Answer[T]:
        """Does something."""
        return self._call("POST", path, kind, message=message)

    def post_openly(self, path: str, message: object, kind: type[T]) -> Answer[T]:
        """Does something that needs no token."""
        return self._call("POST", path, kind, message=message, is_open=True)

    def patch(self, path: str, message: object, kind: type[T], *, etag: str | None = "*") -> Answer[T]:
        """Changes a thing; with an ETag only the state that was read."""
        return self._call("PATCH", path, kind, message=message, etag=etag)

    def delete(self, path: str, kind: type[T], *, etag: str | None = "*") -> Answer[T]:
        """Removes a thing; with an ETag only in the state that was read."""
        return self._call("DELETE", path, kind, etag=etag)

    def pages(self, path: str, kind: type[P], query: Query | None = None) -> Iterator[P]:
        """Every page of a listing, each asked for when the one before was used."""
        cursor: str | None = None
        while True:
            page = self.get(path, kind, {**(query or {}), "cursor": cursor}).body
            yield page
            if page.next_cursor is None:
                return
            if page.next_cursor == cursor:
                raise refusal.NotStreamward(self.url, "a listing that does not end")
            cursor = page.next_cursor

    def send(self, path: str, file: File, kind: type[T], query: Query | None = None) -> Answer[T]:
        """Sends a file, and waits longer for what becomes of it."""
        headers = {**http_client.bearing(self._bearer()), "Content-Type": file.media_type}
        raw = self._exchange("POST", path + _written(query), headers, file.content, timeout=FILE_TIMEOUT)
        return self._answer(raw, kind)

    def download(self, path: str, query: Query | None = None, *, silent_for: float = ANSWER_TIMEOUT) -> Iterator[bytes]:
        """A file or a stream, part by part as they come; one that was cut short fails at its end."""
        headers = http_client.bearing(self._bearer())
        with self._opened("GET", path + _written(query), headers, None, timeout=silent_for) as answer:
            if answer.status != HTTPStatus.OK:
                self._accept(http_client.read(answer))
            self._compare(answer.getheader(VERSION))
            while part := answer.read1(1 << 16):
                yield part
            if answer.length:  # of one whose length was told the library bears a shorter one
                raise refusal.CutShort(self.url)

    def ask(self, path: str) -> Raw:
        """Asks without a token, for whatever answers there."""
        return self._exchange("GET", path, {})

    def _call(
        self,
        method: str,
        path: str,
        kind: type[T],
        *,
        message: object = None,
        query: Query | None = None,
        etag: str | None = None,
        is_open: bool = False,
    ) -> Answer[T]:
        headers = {} if is_open else http_client.bearing(self._bearer())
        if etag is not None:
            headers["If-Match"] = etag
        raw = self._exchange(method, path + _written(query), headers, None if message is None else encode(message))
        return self._answer(raw, kind)

    def _answer(self, raw: Raw, kind: type[T]) -> Answer[T]:
        self._accept(raw)
        return Answer(body=self._body(raw, kind), etag=raw.headers.get("etag"), at=raw.at or datetime.now(UTC))

    def _accept(self, raw: Raw) -> None:
        """Raises what a refusal stands for."""
        self._compare(raw.version)
        if raw.status >= HTTPStatus.MULTIPLE_CHOICES:
            seen = refusal.Seen(
                url=self.url, version=raw.version, at=raw.at, call_id=raw.headers.get("x-request-id", "unknown")
            )
            raise refusal.of(self._problem(raw), seen)

    def _exchange(
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        body: bytes | None = None,
        *,
        timeout: float = ANSWER_TIMEOUT,
    ) -> Raw:
        with self._opened(method, path, headers, body, timeout=timeout) as answer:
            return http_client.read(answer)

    @contextlib.contextmanager
    def _opened(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None, *, timeout: float
    ) -> Iterator[http.client.HTTPResponse]:
        """An answer that is still to be read; whatever fails until that is done is told in one sentence."""
        connection = http_client.connection(self.url, tls=self._tls, timeout=CONNECT_TIMEOUT)
        headers = {"Connection": "close"} | headers
        try:
            connection.connect()
            connection.sock.settimeout(timeout)
            yield http_client.ask(connection, self.url, method, path, headers=headers, body=body)
        except ssl.SSLError as err:
            raise refusal.tls(self.url, err) from err
        except (OSError, UnicodeError) as err:  # a name that cannot be one is as far away as a host that is off
            raise refusal.away(self.url, err) from err
        except http.client.IncompleteRead as err:
            raise refusal.CutShort(self.url) from err
        except http.client.HTTPException as err:
            raise refusal.NotStreamward(self.url, "no HTTP") from err
        finally:
            connection.close()

    def _problem(self, raw: Raw) -> Problem:
        problem = problem_in(raw.kind, raw.body)
        if problem is None:
            raise refusal.NotStreamward(self.url, _seen(raw))
        return problem

    def _body(self, raw: Raw, kind: type[T]) -> T:
        try:
            return decode(raw.body, kind)
        except MalformedMessage as err:
            if raw.version is None:
                raise refusal.NotStreamward(self.url, _seen(raw)) from err
            raise refusal.OtherVersion(raw.version) from err

    def _compare(self, version: str | None) -> None:
        """Says once that the two ends are of different versions."""
        if version is None or self._has_warned or _minor(version) == _minor(__version__):
            return
        self._has_warned = True
        self._warn(
            f"the control plane has version {version} and this program {__version__}: what follows may differ; "
            "install the same version here"
        )


def place(*parts: str) -> str:
    """`place("v1", "cameras", camera_id)` as a path, whatever stands in the id."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def trust(*, ca: Path | None, certificate: Path | None, key: Path | None) -> ssl.SSLContext:
    """What a command accepts of a control plane that speaks TLS, and what it shows to it."""
    try:
        context = ssl.create_default_context(cafile=ca)
        if certificate is not None:
            context.load_cert_chain(certificate, key)
    except OSError as err:  # of ssl too
        raise refusal.CertificateUnusable(ca, certificate, key, why=err) from err
    return context


def _written(query: Query | None) -> str:
    given = {name: _word(value) for name, value in (query or {}).items() if value is not None}
    return f"?{urlencode(given)}" if given else ""


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _seen(raw: Raw) -> str:
    """What came instead, for people: a proxy's page has its own status and type."""
    return f"status {raw.status}, {raw.kind if raw.kind and raw.kind.isprintable() else 'nothing'}"


def _minor(version: str) -> list[str]:
    return version.split(".")[:2]
