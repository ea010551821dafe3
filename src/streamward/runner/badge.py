"""By what token a runner speaks to its control plane: one that it was given, or one that it proves itself by.

key pair ─assertion→ /v1/tokens ─→ token ─→ every call ─401→ a new one
"""

import asyncio
import base64
import binascii
import contextlib
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Protocol

import msgspec

from streamward.leases.lease import Owner
from streamward.model.errors import StreamwardError
from streamward.model.ids import Incarnation, RunnerId
from streamward.model.secret import Secret
from streamward.protocol.fields import ClearText
from streamward.protocol.identities import AskToken, TokenGiven
from streamward.protocol.problem import Problem
from streamward.runtime.clock import Clock
from streamward.runtime.hedging import WITHIN, hedged

_RENEWED_AT = 2 / 3  # of a token's life
_REMEDY = (
    "start again with another from `streamward token --runner NAME --ttl 24h`, or enrol this host, which renews its own"
)

_log = logging.getLogger(__name__)


class OpenControl(Protocol):
    """The control plane for whoever brings a token along, or none."""

    async def post(
        self, path: str, message: Any, kind: type[Any], *, within: float, token: Secret | None = None
    ) -> Any | Problem | None: ...

    async def get(
        self, path: str, kind: type[Any], *, within: float, token: Secret | None = None
    ) -> Any | Problem | None: ...


class Badge(Protocol):
    """What proves who speaks."""

    @property
    def refusal(self) -> Problem | None:
        """Why there is no token, if the control plane said so."""
        ...

    async def token(self) -> Secret | None:
        """The token; None: there is none to be had now."""
        ...

    def refused(self, problem: Problem) -> None:
        """The last one did not count."""
        ...


class TokenUnusable(StreamwardError):
    """Something that is no runner's token."""

    def __str__(self) -> str:
        return "the token is no runner's: make one with `streamward token --runner NAME`, or enrol this host"


class GivenToken:
    """One that somebody handed over; it ends when it ends."""

    refusal = None

    def __init__(self, token: Secret) -> None:
        self._token = token
        self._is_refused = False

    async def token(self) -> Secret | None:
        return self._token

    def refused(self, problem: Problem) -> None:
        """There is no other: what is held runs out, and somebody should know why."""
        if not self._is_refused:
            self._is_refused = True
            _log.warning("the token that was given counts no more (%s): %s", problem.detail, _REMEDY)


class ProvenToken:
    """One that is asked for with the key of an identity, in good time and whenever one was refused.

    One ask is for all who want it, and nobody who has a good one waits: a slow answer must not cost leases.
    """

    def __init__(self, control: OpenControl, assertion: Callable[[], str], *, clock: Clock) -> None:
        self._control = control
        self._assertion = assertion
        self._clock = clock
        self.refusal: Problem | None = None
        self._token: Secret | None = None
        self._renew_at = 0.0  # boot-time
        self._asking: asyncio.Task[None] | None = None

    async def token(self) -> Secret | None:
        if self._token is None:
            await asyncio.wait([self._ask_once()])
        elif self._clock.boot() >= self._renew_at:
            self._ask_once()
        return self._token

    def refused(self, _problem: Problem) -> None:
        self._token = None

    def _ask_once(self) -> "asyncio.Task[None]":
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(self._ask(), name="token")
        return self._asking

    async def _ask(self) -> None:
        asked = self._clock.boot()
        answer = await hedged(self._send)
        self.refusal = answer if isinstance(answer, Problem) else None
        if isinstance(answer, TokenGiven):
            self._token = answer.access_token.secret
            self._renew_at = asked + answer.expires_in * _RENEWED_AT

    async def _send(self) -> Any | Problem | None:
        message = AskToken(assertion=ClearText(Secret(self._assertion())))  # each sending has its own: it counts once
        return await self._control.post("/v1/tokens", message, TokenGiven, within=WITHIN)


class Speaker:
    """The control plane for one runner."""

    def __init__(self, control: OpenControl, badge: Badge) -> None:
        self._control = control
        self._badge = badge

    @property
    def refusal(self) -> Problem | None:
        """Why this runner gets no token."""
        return self._badge.refusal

    async def post(self, path: str, message: Any, kind: type[Any], *, within: float) -> Any | Problem | None:
        """The answer, a refusal, or None if there was none in time."""
        token = await self._badge.token()
        if token is None:
            return None
        return self._look(await self._control.post(path, message, kind, within=within, token=token))

    async def get(self, path: str, kind: type[Any], *, within: float) -> Any | Problem | None:
        """Likewise, and changes nothing."""
        token = await self._badge.token()
        return None if token is None else self._look(await self._control.get(path, kind, within=within, token=token))

    def _look(self, answer: Any) -> Any:
        if isinstance(answer, Problem) and answer.status == HTTPStatus.UNAUTHORIZED:
            self._badge.refused(answer)
        return answer


class _Said(msgspec.Struct):
    sub: str
    inc: str


def owner_in(token: Secret) -> Owner:
    """For which start of which runner a token was made; read, not checked: that is the control plane's part."""
    parts = token.reveal().split(".")
    with contextlib.suppress(IndexError, binascii.Error, msgspec.MsgspecError):
        said = msgspec.json.decode(base64.urlsafe_b64decode(parts[1] + "=="), type=_Said)
        return Owner(RunnerId(said.sub), Incarnation(said.inc))
    raise TokenUnusable
