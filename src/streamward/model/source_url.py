"""Camera URLs, parsed once, strictly, where they enter.

    rtsp://user:p%40ss@192.0.2.7:554/live?channel=1
           └─ credential ─┘└──── url, as anyone may see it ────┘

What two programs could read in two ways is refused rather than guessed at: several `@`, backslashes, addresses that are
not in their one canonical spelling, characters that need escaping and are not escaped. A name is not looked up here;
`model.address_policy` judges addresses. What stands in a path or query counts as public.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import unquote

from streamward.model.errors import StreamwardError
from streamward.model.secret import Secret

LONGEST = 2048  # characters

Address = IPv4Address | IPv6Address


class SourceKind(StrEnum):
    """What a source is, named by its scheme."""

    RTSP = "rtsp"
    RTSPS = "rtsps"
    FILE = "file"  # a file of the runner's host
    DEVICE = "device"  # a camera that is plugged into it
    NULL = "null"  # nothing: empty pictures at an even pace


NETWORK = frozenset({SourceKind.RTSP, SourceKind.RTSPS})  # what every site allows


class UrlFault(StrEnum):
    """Why a URL is refused."""

    TOO_LONG = "url-too-long"
    CHARACTER = "url-character"  # a control character, a space, a backslash, or none of ASCII's
    ESCAPE = "url-escape"  # a `%` without two digits, or one that hides a control character or no UTF-8
    SCHEME = "url-scheme"
    KIND = "url-kind-not-allowed"
    USERINFO = "url-userinfo"  # several `@`, or one that separates nothing
    HOST = "url-host"
    ADDRESS = "url-address"  # not in its canonical spelling, or IPv4 dressed as IPv6
    ZONE = "url-zone"
    PORT = "url-port"
    FRAGMENT = "url-fragment"
    PATH = "url-path"
    CREDENTIAL = "credential"  # a user or password with a control character, or too long


_SENTENCES = {
    UrlFault.TOO_LONG: f"the URL is longer than {LONGEST} characters",
    UrlFault.CHARACTER: "the URL holds a character that must be written as %XX",
    UrlFault.ESCAPE: "the URL holds a % that is not the beginning of an escaped printable character",
    UrlFault.SCHEME: "the URL must begin with rtsp:// or rtsps://",
    UrlFault.KIND: "the site does not allow sources of this kind",
    UrlFault.USERINFO: "user and password must stand before one single @, with @ / ? # in them written as %XX",
    UrlFault.HOST: "the URL names no host, or one that cannot be a host's name",
    UrlFault.ADDRESS: "the address must be written in its canonical form, and IPv4 as IPv4",
    UrlFault.ZONE: "an address with a zone means another thing on each host",
    UrlFault.PORT: "the port must be a number from 1 to 65535",
    UrlFault.FRAGMENT: "a source has no fragment: write # as %23",
    UrlFault.PATH: "the path of a file or device must be absolute, without `.` and `..`; a device stands in /dev",
    UrlFault.CREDENTIAL: "user and password must be of up to 256 characters, without control characters",
}

_FORBIDDEN = re.compile(r"[^\x21-\x7e]|\\")
_SCHEME = re.compile(r"([A-Za-z]+)://")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})|%[01][0-9A-Fa-f]|%7[Ff]")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")  # as a last label it makes a host an address to every resolver
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_CREDENTIAL = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{0,256}")
_USERINFO = re.compile(r"([A-Za-z]+://)([^/?#]*)@")
_PORT = re.compile(r"[1-9][0-9]{0,4}")


class SourceUrlRefused(StreamwardError):
    """A text that is no source of ours; the text itself is not repeated, for it may hold a password."""

    def __init__(self, reason: UrlFault) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return _SENTENCES[self.reason]


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """What a source asks for before it shows anything."""

    user: Secret
    password: Secret

    def __post_init__(self) -> None:
        """A line break in a login could be read as the next line of a request."""
        if not all(_CREDENTIAL.fullmatch(each.reveal()) for each in (self.user, self.password)):
            raise SourceUrlRefused(UrlFault.CREDENTIAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceUrl:
    """Where a source is, without who may see it."""

    kind: SourceKind
    host: str = ""  # empty: on the runner's own host
    port: int | None = None
    path: str = ""  # with the query

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        return f"{self.kind}://{host}{port}{self.path}"

    @property
    def address(self) -> Address | None:
        """The address, if it names one and not a name."""
        if ":" in self.host:
            return IPv6Address(self.host)
        return IPv4Address(self.host) if _ends_in_number(self.host) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A URL taken apart."""

    url: SourceUrl
    credential: Credential | None = None


def parse(text: str, *, kinds: Collection[SourceKind] = NETWORK) -> Source:
    """The source that a text names, or the one reason why it names none."""
    _check_characters(text)
    scheme = _SCHEME.match(text)
    if scheme is None or scheme[1].lower() not in set(SourceKind):
        raise SourceUrlRefused(UrlFault.SCHEME)
    kind = SourceKind(scheme[1].lower())
    if kind not in kinds:
        raise SourceUrlRefused(UrlFault.KIND)
    rest = text[scheme.end() :]
    if kind not in NETWORK:
        return Source(url=SourceUrl(kind=kind, path=_local_path(kind, rest)))
    authority = re.split(r"[/?]", rest, maxsplit=1)[0]
    path = rest[len(authority) :]
    _check_escapes(path)
    if "@" in path:  # a password with a bare `/` or `?` would end up there, for all to see
        raise SourceUrlRefused(UrlFault.USERINFO)
    credential, place = _credential(authority)
    host, port = _place(place)
    return Source(url=SourceUrl(kind=kind, host=host, port=port, path=path), credential=credential)


def split_userinfo(text: str) -> tuple[str, Credential | None]:
    """A URL that was accepted before URLs were checked: what stands before its last `@`, and the rest as it is."""
    found = _USERINFO.match(text)
    if found is None:
        return text, None
    user, _, password = found[2].partition(":")
    credential = Credential(user=Secret(unquote(user)), password=Secret(unquote(password)))
    return found[1] + text[found.end() :], credential


def _check_characters(text: str) -> None:
    if len(text) > LONGEST:
        raise SourceUrlRefused(UrlFault.TOO_LONG)
    if _FORBIDDEN.search(text):
        raise SourceUrlRefused(UrlFault.CHARACTER)
    if "#" in text:
        raise SourceUrlRefused(UrlFault.FRAGMENT)


def _check_escapes(text: str) -> None:
    if _BAD_ESCAPE.search(text):
        raise SourceUrlRefused(UrlFault.ESCAPE)


def _local_path(kind: SourceKind, path: str) -> str:
    is_plain = re.fullmatch(r"(/(?!\.{1,2}(/|$))[^/?%@]+)+", path) is not None
    if not is_plain or (kind is SourceKind.DEVICE and not path.startswith("/dev/")):
        raise SourceUrlRefused(UrlFault.PATH)
    return path


def _credential(authority: str) -> tuple[Credential | None, str]:
    userinfo, at, place = authority.rpartition("@")
    if not at:
        return None, place
    if not userinfo or "@" in userinfo:
        raise SourceUrlRefused(UrlFault.USERINFO)
    user, _, password = userinfo.partition(":")
    return Credential(user=_unescaped(user), password=_unescaped(password)), place


def _unescaped(text: str) -> Secret:
    _check_escapes(text)
    try:
        return Secret(unquote(text, errors="strict"))
    except UnicodeDecodeError:
        raise SourceUrlRefused(UrlFault.ESCAPE) from None


def _place(text: str) -> tuple[str, int | None]:
    """Host and port."""
    if text.startswith("["):
        inside, bracket, port = text[1:].partition("]")
        if not bracket:
            raise SourceUrlRefused(UrlFault.HOST)
        return _ipv6(inside), _port(port)
    host, colon, port = text.partition(":")
    return _host(host), _port(colon + port)


def _port(text: str) -> int | None:
    if not text:
        return None
    if not text.startswith(":") or not _PORT.fullmatch(text[1:]) or int(text[1:]) > 65535:
        raise SourceUrlRefused(UrlFault.PORT)
    return int(text[1:])


def _ipv6(text: str) -> str:
    if "%" in text:
        raise SourceUrlRefused(UrlFault.ZONE)
    try:
        address = IPv6Address(text)
    except ValueError:
        raise SourceUrlRefused(UrlFault.ADDRESS) from None
    if address.ipv4_mapped is not None or str(address) != text.lower():
        raise SourceUrlRefused(UrlFault.ADDRESS)
    return str(address)


def _host(text: str) -> str:
    host = text.lower()
    if _ends_in_number(host):
        return _ipv4(host)
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in host.split(".")):
        raise SourceUrlRefused(UrlFault.HOST)
    return host


def _ipv4(text: str) -> str:
    try:
        return str(IPv4Address(text))  # refuses short, octal and hexadecimal spellings
    except ValueError:
        raise SourceUrlRefused(UrlFault.ADDRESS) from None


def _ends_in_number(host: str) -> bool:
    return _NUMBER.fullmatch(host.removesuffix(".").rpartition(".")[2]) is not None
