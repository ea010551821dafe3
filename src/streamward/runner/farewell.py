"""What a parent does and says once its Manager is dead: gives the leases back, and logs how it ended.

One call over HTTP, which waits for its answer and, if it failed, is tried again for as long as it could still be
quicker than the leases' own end. Not guaranteed: that they are given back. A control plane that is away lets them run
out.

Loads only what the call needs, so that nothing is imported between the death of a Manager and the release: other
runners wait for it. The ticket and the answer are therefore read as plain JSON, not as messages of `protocol`.
"""

import http.client
import json
import ssl
import sys
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

PATH = "/v1/runners/release-all"
TRY_EVERY = 0.5  # seconds
LARGEST_ANSWER = 1 << 20  # bytes; 10,000 names fit


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasesGivenBack:
    """A parent released what its dead Manager held."""

    runner_id: str
    incarnation: str
    released: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasesLeft:
    """A parent could not release what its dead Manager held: it runs out."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeLingers:
    """Something of a dead Manager's tree does not die, so nothing is released."""


class NotReleased(Exception):
    """The control plane refused, or gave no answer that is one."""

    def __init__(self, reason: str, *, is_final: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_final = is_final


def release(ticket: bytes) -> None:
    """Gives everything back that the ticket (`protocol.ticket.ReleaseTicket`) is good for; says how that went."""
    try:
        known = json.loads(ticket)
        _log(_released(known, until=time.monotonic() + known["ttl_s"]))
    except (ValueError, KeyError, TypeError):
        _log(LeasesLeft(reason="the ticket cannot be read"))
    except NotReleased as err:
        _log(LeasesLeft(reason=err.reason))


def linger() -> None:
    """Says that the tree does not die."""
    _log(TreeLingers())


def _log(fact: object) -> None:
    from streamward.runtime import log  # noqa: PLC0415 - not before the leases are given back

    log.configure(log.form_for(sys.stderr), out=sys.stderr)
    log.log_fact(fact)


def _released(ticket: dict[str, Any], *, until: float) -> LeasesGivenBack:
    while True:
        try:
            released = _called(ticket, within=max(TRY_EVERY, until - time.monotonic()))
        except NotReleased as err:
            if err.is_final or time.monotonic() + TRY_EVERY >= until:
                raise
            time.sleep(TRY_EVERY)
        else:
            return LeasesGivenBack(
                runner_id=ticket["runner_id"], incarnation=ticket["incarnation"], released=len(released)
            )


def _called(ticket: dict[str, Any], *, within: float) -> list[str]:
    message = {"runner_id": ticket["runner_id"], "incarnation": ticket["incarnation"]}
    headers = {"Authorization": f"Bearer {ticket['token']}", "Content-Type": "application/json"}
    path = urlsplit(ticket["url"]).path.rstrip("/") + PATH
    try:
        connection = _connection(ticket, within=within)
        try:
            connection.request("POST", path, json.dumps(message).encode(), headers)
            answer = connection.getresponse()
            content = answer.read(LARGEST_ANSWER)
        finally:
            connection.close()
    except (OSError, http.client.HTTPException) as err:
        raise NotReleased(type(err).__name__, is_final=False) from err
    is_final = 400 <= answer.status < 500
    try:
        told = json.loads(content)
        if answer.status == 200:
            return list(told["released"])
        raise NotReleased(told["reason"], is_final=is_final)
    except (ValueError, KeyError, TypeError):
        raise NotReleased(f"an answer of status {answer.status}", is_final=is_final) from None


def _connection(ticket: dict[str, Any], *, within: float) -> http.client.HTTPConnection:
    place = urlsplit(ticket["url"])
    host = place.hostname or ""
    if place.scheme != "https":
        return http.client.HTTPConnection(host, place.port, timeout=within)
    context = ssl.create_default_context(cafile=ticket.get("ca"))
    if ticket.get("certificate") is not None:
        context.load_cert_chain(ticket["certificate"], ticket.get("key"))
    return http.client.HTTPSConnection(host, place.port, timeout=within, context=context)
