"""Routing keys: how ours read, and which pattern gets which key.

    camera.created.<tenant>.<site>.<camera>        kind `camera.created`, subject `<tenant>/<site>/<camera>`

A pattern is made of words parted by dots too, as RabbitMQ reads them: `*` stands for exactly one word, `#` for any
number of them, none included. An empty key has no word at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

ONE = "*"
ANY = "#"


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """What a routing key says: a kind of message, and whom it is about."""

    kind: str
    tenant: str
    site: str
    camera: str

    @classmethod
    def read(cls, routing_key: str) -> Self:
        """Every key of S0 ends in tenant, site and camera; ids have no dots."""
        kind, tenant, site, camera = routing_key.rsplit(".", maxsplit=3)
        return cls(kind=kind, tenant=tenant, site=site, camera=camera)

    @classmethod
    def tenant_in(cls, routing_key: str) -> str | None:
        """Whose message it is; None: it is no key of S0."""
        words = routing_key.rsplit(".", maxsplit=3)
        return words[1] if len(words) == len(("kind", "tenant", "site", "camera")) else None

    @property
    def subject(self) -> str:
        return f"{self.tenant}/{self.site}/{self.camera}"


def matches(pattern: str, routing_key: str) -> bool:
    """Whether a queue bound by this pattern gets what is published under this key."""
    wanted = _words(pattern)
    reached = _skip(wanted, {0})  # how many words of the pattern the words so far may have used up
    for word in _words(routing_key):
        reached = _skip(wanted, _step(wanted, reached, word))
    return len(wanted) in reached


def _words(text: str) -> list[str]:
    return text.split(".") if text else []


def _step(wanted: Sequence[str], reached: set[int], word: str) -> set[int]:
    """One word further: a `#` may take it and stay."""
    stays = {place for place in reached if place < len(wanted) and wanted[place] == ANY}
    return stays | {place + 1 for place in reached if place < len(wanted) and wanted[place] in {ONE, word}}


def _skip(wanted: Sequence[str], reached: set[int]) -> set[int]:
    """A `#` may also stand for nothing."""
    every = set(reached)
    for place, word in enumerate(wanted):
        if word == ANY and place in every:
            every.add(place + 1)
    return every
