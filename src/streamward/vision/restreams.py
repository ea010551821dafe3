"""Cameras behind a restreamer: which streams it shall have, and whether each leads where it was told to.

    wanted, named ─plan→ forget …, name …       forgets first; idempotent; safe if cut after any step

A camera is told to a restreamer by an address that its site allows, never by a name that could come to mean another. A
restreamer that follows a redirect all the same is found out by the address that it is connected to.

It would also dial again by itself, asking nobody. So the way to a camera is shut while it is connected, and stays so
until nobody reads the stream any more: then its reader dials, when it is its turn.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from urllib.parse import quote

from streamward.model.secret import Secret
from streamward.model.source_url import Address, Credential, SourceKind, SourceUrl

_PORT = 554
_NOWHERE = Secret("rtsp://127.0.0.1:0/")
_MANNERS = "#backchannel=0#media=video"  # one connection, and one track: go2rtc asks for more unless it is told


@dataclass(frozen=True, slots=True, kw_only=True)
class Restream:
    """One camera as a restreamer is told of it."""

    name: str  # by which it is read; whoever knows it can
    source: Secret  # with the login
    remote: str  # where it must be connected to, like `192.0.2.7:554`

    def shut(self) -> "Restream":
        """The same without a way to its camera: whoever dials it is refused on this host."""
        return replace(self, source=_NOWHERE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connections:
    """What a restreamer has open for one stream."""

    remotes: tuple[str, ...] = ()  # the far ends of those to cameras
    readers: int = 0


@dataclass(frozen=True, slots=True)
class NameStream:
    """To be told to the restreamer, also in the place of what it was told before."""

    restream: Restream


@dataclass(frozen=True, slots=True)
class ForgetStream:
    """Wanted no more."""

    name: str


class Standing(StrEnum):
    """How a restream is, by what it is connected to."""

    WAITING = "waiting"  # nobody has read it yet, or its camera is away
    CONNECTED = "connected"
    ASTRAY = "astray"  # somewhere else than it was told


def can_be_restreamed(url: SourceUrl) -> bool:
    """Whether a restreamer may have it: by an address it cannot verify the name in a certificate."""
    return url.kind is SourceKind.RTSP


def restream(name: str, url: SourceUrl, credential: Credential | None, *, address: Address) -> Restream:
    """A camera at the address that was found for it and is allowed."""
    host = f"[{address}]" if address.version == 6 else str(address)
    remote = f"{host}:{url.port or _PORT}"
    login = "" if credential is None else f"{_escaped(credential.user)}:{_escaped(credential.password)}@"
    return Restream(name=name, source=Secret(f"rtsp://{login}{remote}{url.path}{_MANNERS}"), remote=remote)


def plan(wanted: Iterable[Restream], named: Mapping[str, Restream]) -> list[NameStream | ForgetStream]:
    """What to tell a restreamer that was told `named` since it was started."""
    by_name = {each.name: each for each in wanted}
    forgotten = [ForgetStream(name) for name in named if name not in by_name]
    return [*forgotten, *(NameStream(each) for name, each in by_name.items() if named.get(name) != each)]


def judge(told: Collection[str], remotes: Iterable[str]) -> Standing:
    """By the far ends that a restreamer was told for it, and those of all connections that it has for it."""
    ends = set(remotes)
    if not ends:
        return Standing.WAITING
    return Standing.CONNECTED if ends <= set(told) else Standing.ASTRAY


def _escaped(secret: Secret) -> str:
    return quote(secret.reveal(), safe="")
