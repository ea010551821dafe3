"""Requests and replies as values.

What we send is strict: anything that a reader could take for another line, header or message is refused. What we
read is as lenient as cameras need (bare LF, folded lines, a missing reason; a header without a colon is skipped)
and bounded.
"""

import re
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from streamward.model.errors import StreamwardError

VERSION = "RTSP/1.0"
MOST_HEADERS = 128
LARGEST_BODY = 65536
LONGEST_REASON = 200

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
_URI = re.compile(r"[\x21-\x7e]{1,2048}")
_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]{0,8192}")
_REQUEST_LINE = re.compile(r"([A-Z_]{3,32}) +([\x21-\x7e]{1,2048}) +RTSP/[12]\.\d *")
_STATUS_LINE = re.compile(r"RTSP/[12]\.\d +(\d{3})(?: +(.*))?", re.ASCII)
_UNPRINTABLE = re.compile(r"[^\x20-\x7e]")
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)


class RtspError(StreamwardError):
    """The root of what this package raises."""


class MalformedMessage(RtspError):
    """Bytes that are no RTSP message; they are not repeated, for they may hold a login."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what

    def __str__(self) -> str:
        return f"not an RTSP message: {self.what}"


class UnsendableMessage(RtspError):
    """A message of ours that a reader could take for something else."""

    def __init__(self, part: str) -> None:
        super().__init__(part)
        self.part = part

    def __str__(self) -> str:
        return f"the {self.part} of an RTSP message may not be sent as it is"


class Method(StrEnum):
    """The requests of a session."""

    OPTIONS = "OPTIONS"
    DESCRIBE = "DESCRIBE"
    SETUP = "SETUP"
    PLAY = "PLAY"
    PAUSE = "PAUSE"
    GET_PARAMETER = "GET_PARAMETER"
    TEARDOWN = "TEARDOWN"


class Status(IntEnum):
    """The answers that mean something to us."""

    OK = 200
    MOVED_PERMANENTLY = 301
    FOUND = 302
    BAD_REQUEST = 400
    UNAUTHORIZED = 401
    FORBIDDEN = 403
    NOT_FOUND = 404
    METHOD_NOT_ALLOWED = 405
    GONE = 410
    NOT_ENOUGH_BANDWIDTH = 453
    SESSION_NOT_FOUND = 454
    METHOD_NOT_VALID = 455
    UNSUPPORTED_TRANSPORT = 461
    SERVER_ERROR = 500
    NOT_IMPLEMENTED = 501
    UNAVAILABLE = 503


@dataclass(frozen=True, slots=True)
class Headers:
    """Names and values in their order; names are compared without regard to case."""

    fields: tuple[tuple[str, str], ...] = ()

    def get(self, name: str) -> str | None:
        """The first value of that name."""
        return next(iter(self.all(name)), None)

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of that name."""
        wanted = name.lower()
        return tuple(value for each, value in self.fields if each.lower() == wanted)

    def plus(self, name: str, value: str) -> "Headers":
        """These and one more."""
        return Headers((*self.fields, (name, value)))

    @property
    def cseq(self) -> int | None:
        """The number that ties a reply to its request."""
        return _number(self.get("CSeq"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What one end asks of the other."""

    method: str
    uri: str
    headers: Headers = field(default_factory=Headers)
    body: bytes = b""

    def encode(self) -> bytes:
        """The request as it is sent."""
        if not _TOKEN.fullmatch(self.method):
            raise UnsendableMessage("method")
        if not _URI.fullmatch(self.uri):
            raise UnsendableMessage("URI")
        return _encode(f"{self.method} {self.uri} {VERSION}", self.headers, self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the other end answers."""

    status: int
    reason: str = ""
    headers: Headers = field(default_factory=Headers)
    body: bytes = b""

    def encode(self) -> bytes:
        """The reply as it is sent."""
        if not 100 <= self.status <= 999:
            raise UnsendableMessage("status")
        if not _VALUE.fullmatch(self.reason):
            raise UnsendableMessage("reason")
        return _encode(f"{VERSION} {self.status} {self.reason}", self.headers, self.body)

    @property
    def is_success(self) -> bool:
        """Whether the request was granted."""
        return 200 <= self.status < 300


Message = Request | Reply


def decode_head(head: bytes) -> Message:
    """The message whose head this is, up to its empty line; its body is still to come."""
    lines = _unfolded(head.decode(errors="surrogateescape"))
    first = lines[0]
    fields = Headers(tuple(_fields(lines[1:])))
    if found := _STATUS_LINE.fullmatch(first):
        return Reply(
            status=int(found[1]), reason=_UNPRINTABLE.sub("?", found[2] or "")[:LONGEST_REASON].strip(), headers=fields
        )
    if found := _REQUEST_LINE.fullmatch(first):
        return Request(method=found[1], uri=found[2], headers=fields)
    raise MalformedMessage("first line")


def body_length(headers: Headers) -> int:
    """How many bytes follow the head."""
    told = set(headers.all("Content-Length"))
    if not told:
        return 0
    length = _number(told.pop())
    if told or length is None:
        raise MalformedMessage("Content-Length")
    if length > LARGEST_BODY:
        raise MalformedMessage("body too large")
    return length


def _encode(first: str, headers: Headers, body: bytes) -> bytes:
    lines = [first]
    for name, value in headers.fields:
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value) or name.lower() == "content-length":
            raise UnsendableMessage(f"header {name!r}" if _TOKEN.fullmatch(name) else "header name")
        lines.append(f"{name}: {value}")
    if len(lines) > MOST_HEADERS or len(body) > LARGEST_BODY:
        raise UnsendableMessage("size")
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode(errors="surrogateescape") + body


def _unfolded(text: str) -> list[str]:
    """The lines, with those that begin with a space joined to the one before."""
    lines: list[str] = []
    for raw in text.split("\n"):
        line = raw.rstrip("\r")
        if lines and line[:1] in (" ", "\t"):
            lines[-1] += " " + line.strip()
        elif line:
            lines.append(line)
    if not 1 <= len(lines) <= MOST_HEADERS + 1:
        raise MalformedMessage("number of lines")
    return lines


def _fields(lines: list[str]) -> list[tuple[str, str]]:
    """Headers; a line without a colon says nothing that we could use."""
    split = (line.partition(":") for line in lines)
    return [(name.strip(), value.strip()) for name, colon, value in split if colon and name.strip()]


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and _NUMBER.fullmatch(text) else None
