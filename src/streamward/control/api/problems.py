"""Every refusal as RFC 9457 problem details: one table from error class to answer.

What is told comes from our own errors only, so no internals can be in it.
"""

import math
from http import HTTPStatus

from fastapi import Response

from streamward.control.admission import AssertionRefused, ClocksApart, TenantGone
from streamward.control.cursor import CursorRefused
from streamward.control.feed import TooManyListen
from streamward.control.gate import Crowded
from streamward.control.tags import PreconditionFailed
from streamward.control.tokens import TokenFault, TokenRefused
from streamward.leases.store import StoreUnavailable
from streamward.model.address_policy import NetworkRefused, PolicyTooWide
from streamward.model.errors import StreamwardError
from streamward.model.ids import MalformedId
from streamward.model.source_url import SourceUrlRefused
from streamward.model.tenant import IdOutsideTenant
from streamward.protocol.codec import InvalidMessage, MalformedMessage, encode
from streamward.protocol.problem import MEDIA_TYPE, Problem


class BodyTooLarge(StreamwardError):
    """A body longer than what the route takes."""

    def __init__(self, largest: int) -> None:
        super().__init__(largest)
        self.largest = largest

    def __str__(self) -> str:
        return f"the body is longer than {self.largest} bytes"


class BodyCutShort(StreamwardError):
    """The client went away while it was sending."""

    def __str__(self) -> str:
        return "the body ended early"


class NotJson(StreamwardError):
    """A body that says it is something else."""

    def __str__(self) -> str:
        return "the body must be application/json"


class MediaTypeRefused(StreamwardError):
    """A file of a kind that the route does not take, or that does not say its kind."""

    def __init__(self, taken: tuple[str, ...]) -> None:
        super().__init__(taken)
        self.taken = taken

    def __str__(self) -> str:
        return f"the body must say in Content-Type that it is {' or '.join(self.taken)}"


class RoleRefused(StreamwardError):
    """A valid token of somebody who may not do this."""

    def __init__(self, wanted: str) -> None:
        super().__init__(wanted)
        self.wanted = wanted

    def __str__(self) -> str:
        return f"this needs the token of {self.wanted}"


class PreconditionMissing(StreamwardError):
    """An edit that does not say which state it changes."""

    def __str__(self) -> str:
        return "an edit needs the header If-Match with the ETag that was read, so that nobody's change is lost"


class MalformedOnceKey(StreamwardError):
    """A text that cannot name a creation."""

    def __str__(self) -> str:
        return "Idempotency-Key must be 1 to 128 printable characters of ASCII, without spaces"


ANSWERS: dict[type[StreamwardError], tuple[int, str]] = {
    MalformedMessage: (400, "malformed-json"),
    BodyCutShort: (400, "body-cut-short"),
    CursorRefused: (400, "bad-cursor"),
    TokenRefused: (401, TokenFault.INVALID),
    AssertionRefused: (401, "assertion-refused"),
    ClocksApart: (401, "clock-skew"),
    TenantGone: (401, TokenFault.TENANT_GONE),
    RoleRefused: (403, "wrong-role"),
    PreconditionFailed: (412, "changed-meanwhile"),
    BodyTooLarge: (413, "body-too-large"),
    NotJson: (415, "not-json"),
    MediaTypeRefused: (415, "wrong-media-type"),
    IdOutsideTenant: (422, "id-outside-tenant"),
    InvalidMessage: (422, "invalid-message"),
    MalformedId: (422, "malformed-id"),
    MalformedOnceKey: (422, "malformed-idempotency-key"),
    NetworkRefused: (422, "malformed-network"),
    PolicyTooWide: (422, "sources-beyond-limits"),
    SourceUrlRefused: (422, "url"),
    PreconditionMissing: (428, "if-match-missing"),
    TooManyListen: (429, "too-many-listeners"),
    Crowded: (503, "crowded"),
    StoreUnavailable: (503, "store-unavailable"),
}
INTERNAL = Problem(
    title="Internal Server Error", status=500, detail="the control plane failed on this call", reason="internal"
)
_RETRY_IN_MS: dict[type[StreamwardError], int] = {Crowded: 1000, StoreUnavailable: 1000, TooManyListen: 10_000}


def problem_of(error: StreamwardError) -> Problem:
    """The answer to an error; one that is not in the table is not the client's and goes on."""
    if type(error) not in ANSWERS:
        raise error
    status, reason = ANSWERS[type(error)]
    return Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        detail=str(error),
        reason=_reason(error) or reason,
        retry_in_ms=_RETRY_IN_MS.get(type(error)),
        fields={"subject": error.subject} if isinstance(error, TenantGone) else None,
    )


def _reason(error: StreamwardError) -> str | None:
    """The word of an error that has several."""
    if isinstance(error, TokenRefused):
        return error.fault
    return error.reason if isinstance(error, SourceUrlRefused) else None


def plain_problem(status: int) -> Problem:
    """The answer to a call that no route takes."""
    phrase = HTTPStatus(status).phrase
    return Problem(title=phrase, status=status, detail=phrase.lower(), reason=phrase.lower().replace(" ", "-"))


def problem_response(problem: Problem) -> Response:
    """The problem as an HTTP answer."""
    headers = {}
    if problem.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = _challenge(problem.reason)
    if problem.retry_in_ms is not None:
        headers["Retry-After"] = str(math.ceil(problem.retry_in_ms / 1000))
    return Response(encode(problem), status_code=problem.status, media_type=MEDIA_TYPE, headers=headers)


def _challenge(reason: str) -> str:
    """RFC 6750: an error only when a token was sent."""
    return 'Bearer realm="streamward"' + ("" if reason == TokenFault.MISSING else ', error="invalid_token"')
