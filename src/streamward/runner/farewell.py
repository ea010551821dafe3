"""What a parent does and says once its Manager is dead: gives the leases back, and logs how it ended.

One short call over HTTP, tried again for as long as it could still be quicker than the leases' own end. Not guaranteed:
that they are given back. A control plane that is away lets them run out.
"""

import http.client
import ssl
import sys
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from streamward.leases.policy import FAST
from streamward.model.errors import StreamwardError
from streamward.model.ids import Incarnation, RunnerId
from streamward.protocol import codec
from streamward.protocol.leases import CamerasReleased, ReleaseAll
from streamward.protocol.problem import Problem
from streamward.protocol.ticket import ReleaseTicket
from streamward.runtime import log

PATH = "/v1/runners/release-all"
TRY_FOR = FAST.ttl  # seconds; later the leases have run out
TRY_EVERY = 0.5
ANSWER_WITHIN = 2.0
LARGEST_ANSWER = 1 << 20  # bytes; 10,000 names fit


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasesGivenBack:
    """A parent released what its dead Manager held."""

    runner_id: RunnerId
    incarnation: Incarnation
    released: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasesLeft:
    """A parent could not release what its dead Manager held: it runs out."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeLingers:
    """Something of a dead Manager's tree does not die, so nothing is released."""


class NotReleased(StreamwardError):
    """The control plane refused, or gave no answer that is one."""

    def __init__(self, reason: str, *, is_final: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_final = is_final

    def __str__(self) -> str:
        return f"the leases were not released: {self.reason}"


def release(ticket: bytes, *, try_for: float = TRY_FOR) -> None:
    """Gives everything back that the ticket is good for; says how that went."""
    log.configure(log.form_for(sys.stderr), out=sys.stderr)
    try:
        known = codec.decode(ticket, ReleaseTicket)
        log.log_fact(_released(known, until=time.monotonic() + try_for))
    except codec.MalformedMessage:
        log.log_fact(LeasesLeft(reason="the ticket cannot be read"))
    except NotReleased as err:
        log.log_fact(LeasesLeft(reason=err.reason))


def linger() -> None:
    """Says that the tree does not die."""
    log.configure(log.form_for(sys.stderr), out=sys.stderr)
    log.log_fact(TreeLingers())


def _released(ticket: ReleaseTicket, *, until: float) -> LeasesGivenBack:
    while True:
        try:
            answer = _called(ticket)
        except NotReleased as err:
            if err.is_final or time.monotonic() + TRY_EVERY >= until:
                raise
            time.sleep(TRY_EVERY)
        else:
            return LeasesGivenBack(
                runner_id=RunnerId(ticket.runner_id),
                incarnation=Incarnation(ticket.incarnation),
                released=len(answer.released),
            )


def _called(ticket: ReleaseTicket) -> CamerasReleased:
    message = ReleaseAll(runner_id=ticket.runner_id, incarnation=ticket.incarnation)
    headers = {"Authorization": f"Bearer {ticket.token.secret.reveal()}", "Content-Type": "application/json"}
    try:
        connection = _connection(ticket)
        try:
            connection.request("POST", urlsplit(ticket.url).path.rstrip("/") + PATH, codec.encode(message), headers)
            answer = connection.getresponse()
            content = answer.read(LARGEST_ANSWER)
        finally:
            connection.close()
    except (OSError, http.client.HTTPException) as err:
        raise NotReleased(type(err).__name__, is_final=False) from err
    return _read(answer.status, content)


def _read(status: int, content: bytes) -> CamerasReleased:
    is_final = 400 <= status < 500
    try:
        if status == 200:
            return codec.decode(content, CamerasReleased)
        raise NotReleased(codec.decode(content, Problem).reason, is_final=is_final)
    except codec.MalformedMessage:
        raise NotReleased(f"an answer of status {status}", is_final=is_final) from None


def _connection(ticket: ReleaseTicket) -> http.client.HTTPConnection:
    place = urlsplit(ticket.url)
    host = place.hostname or ""
    if place.scheme != "https":
        return http.client.HTTPConnection(host, place.port, timeout=ANSWER_WITHIN)
    context = ssl.create_default_context(cafile=ticket.ca)
    if ticket.certificate is not None:
        context.load_cert_chain(ticket.certificate, ticket.key)
    return http.client.HTTPSConnection(host, place.port, timeout=ANSWER_WITHIN, context=context)
