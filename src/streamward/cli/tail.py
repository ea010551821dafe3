"""Follows the control plane's events: through restarts, cut lines and expired tokens, each event once.

Whatever ends a connection, the next one goes on after the last id that was read. Only what another try cannot mend ends
it: somebody unknown, or who may not listen.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from streamward.cli.failure import CommandFailed, ExitCode
from streamward.cli.link import Query, place
from streamward.cli.refusal import CutShort
from streamward.runtime.backoff import Backoff, BackoffSpec

SILENT_FOR = 60.0  # seconds; a stream says every quarter of that that it lives
PAUSES = BackoffSpec(first=1.0, longest=30.0, steady=10.0)


@dataclass(frozen=True, slots=True)
class Event:
    """One event as it came; those about the connection have no id."""

    id: int | None
    name: str
    data: dict[str, Any]


class Streams(Protocol):
    """Where a stream comes from."""

    def download(self, path: str, query: Query | None = None, *, silent_for: float) -> Iterator[bytes]: ...


class Tail:
    """The events of one listener."""

    def __init__(self, link: Streams, query: Query, *, say: Callable[[str], None], after: int | None = None) -> None:
        self._link = link
        self._query = query
        self._say = say
        self._after = after
        self._pauses = Backoff(PAUSES, Random())  # noqa: S311 - jitter
        self._has_listened = False

    def follow(self, rest: Callable[[float], None] = time.sleep) -> Iterator[Event]:
        """Every event from now on, or after the one that is named; does not end by itself."""
        while True:
            began = time.monotonic()
            try:
                yield from self._listen()
            except CommandFailed as failure:
                if not (self._has_listened and _passes(failure)):
                    raise
                self._say(f"{failure}; trying again")
            rest(self._pauses.failed(after=time.monotonic() - began))

    def _listen(self) -> Iterator[Event]:
        """The events of one connection."""
        query = {**self._query, "after": self._after}
        parts = self._link.download(place("v1", "events", "stream"), query, silent_for=SILENT_FOR)
        for event in parsed(_lines(self._noted(parts))):
            if event.name == "missed":
                self._say(f"events {event.data['after'] + 1} to {event.data['next'] - 1} are not kept any more")
                self._after = event.data["next"] - 1
            if event.id is not None:
                self._after = event.id
                yield event

    def _noted(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        for part in parts:
            self._has_listened = True  # somebody is there who lets us listen
            yield part


def _lines(parts: Iterable[bytes]) -> Iterator[str]:
    """What came, line by line; what follows the last line end is not whole."""
    rest = b""
    for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        yield from (line.decode(errors="replace") for line in lines)


def parsed(lines: Iterable[str]) -> Iterator[Event]:
    """Events of a stream of server-sent ones; one that is cut short is none."""
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if line and name in {"id", "event", "data"}:
            fields[name] = value
        elif not line:
            if "data" in fields:
                number = fields.get("id")
                yield Event(None if number is None else int(number), fields["event"], json.loads(fields["data"]))
            fields = {}


def _passes(failure: CommandFailed) -> bool:
    """Whether another try may go better: nothing answers, it was cut, or it is too busy."""
    return failure.exit_code is ExitCode.AWAY or isinstance(failure, CutShort) or type(failure) is CommandFailed
