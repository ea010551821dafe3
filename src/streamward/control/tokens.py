"""Bearer tokens: minted on the control host, checked at every call.

Guaranteed: a token counts only if one of our keys signed it with EdDSA for this audience, and while its lifetime, which
is bounded, lasts. Not guaranteed: that a token that got out can be called back; it ends with its lifetime, or when its
runner registers a new incarnation.
"""

import secrets
from datetime import timedelta
from enum import StrEnum
from typing import Any

import jwt
import msgspec

from streamward.control.keys import Keyring
from streamward.model.errors import StreamwardError
from streamward.model.identity import Caller, Role
from streamward.model.ids import Incarnation, RunnerId, TenantId, check_id
from streamward.protocol.tokens import ALGORITHM, AUDIENCE, ISSUER, Claims
from streamward.runtime.clock import Clock

DEFAULT_LIFETIME = timedelta(minutes=15)
LONGEST_LIFETIME = timedelta(hours=24)
CLOCK_SKEW = 5  # seconds by which the minting host's clock may be ahead of ours
_HOURS = LONGEST_LIFETIME // timedelta(hours=1)
LONGEST_TOKEN = 4096  # characters
REMEMBERED = 10_000  # tokens: an Ed25519 check costs more than the call it guards

# Signature, audience and issuer are PyJWT's to check; instants are ours, since they go by the clock port.
_OPTIONS: Any = {"verify_exp": False, "verify_iat": False, "verify_nbf": False}


class TokenFault(StrEnum):
    """What is wrong with a token, as programs read it."""

    MISSING = "token-missing"
    INVALID = "token-invalid"
    EXPIRED = "token-expired"
    NOT_YET = "token-not-yet-valid"
    TOO_LONG = "token-lives-too-long"


_SENTENCES = {
    TokenFault.MISSING: "this call needs a bearer token: mint one with `streamward token` on the control host",
    TokenFault.INVALID: "the token was not made for this control plane",
    TokenFault.EXPIRED: "the token has expired",
    TokenFault.NOT_YET: "the token is not valid yet",
    TokenFault.TOO_LONG: f"a token may live for {_HOURS} h at most",
}


class TokenRefused(StreamwardError):
    """A call without a token that counts."""

    def __init__(self, fault: TokenFault) -> None:
        super().__init__(fault)
        self.fault = fault

    def __str__(self) -> str:
        return _SENTENCES[self.fault]


class LifetimeRefused(StreamwardError):
    """A token was asked for that no control plane would accept."""

    def __str__(self) -> str:
        return f"a token's lifetime must be more than 0 s and at most {_HOURS} h"


class TokenMint:
    """Makes tokens."""

    def __init__(self, keyring: Keyring, *, clock: Clock) -> None:
        self._keyring = keyring
        self._clock = clock

    def runner(
        self,
        runner_id: RunnerId,
        *,
        incarnation: Incarnation | None = None,
        tenant_id: TenantId | None = None,
        lifetime: timedelta = DEFAULT_LIFETIME,
    ) -> str:
        """A token for one start of a runner; without an incarnation it is a fresh one."""
        return self._sign(
            Caller(
                subject=check_id("runner", runner_id),
                role=Role.RUNNER,
                tenant_id=tenant_id,
                incarnation=incarnation or Incarnation(secrets.token_hex(8)),
            ),
            lifetime,
        )

    def operator(self, name: str, *, tenant_id: TenantId | None = None, lifetime: timedelta = DEFAULT_LIFETIME) -> str:
        """A token for a person who runs the fleet, or one tenant's part of it."""
        return self._sign(Caller(subject=check_id("operator", name), role=Role.OPERATOR, tenant_id=tenant_id), lifetime)

    def _sign(self, caller: Caller, lifetime: timedelta) -> str:
        if not timedelta(0) < lifetime <= LONGEST_LIFETIME:
            raise LifetimeRefused
        now = int(self._clock.wall().timestamp())
        claims = Claims(
            iss=ISSUER,
            aud=AUDIENCE,
            sub=caller.subject,
            role=caller.role,
            iat=now,
            exp=now + max(1, int(lifetime.total_seconds())),
            inc=caller.incarnation,
            tenant=caller.tenant_id,
        )
        signing = self._keyring.signing
        return jwt.encode(
            msgspec.to_builtins(claims), signing.private, algorithm=ALGORITHM, headers={"kid": signing.kid}
        )


class TokenCheck:
    """Says who bears a token, and remembers what it has checked."""

    def __init__(self, keyring: Keyring, *, clock: Clock, remember: int = REMEMBERED) -> None:
        self._keyring = keyring
        self._clock = clock
        self._remember_at_most = remember
        self._known: dict[str, tuple[Caller, int]] = {}

    @property
    def remembered(self) -> int:
        """How many checked tokens it knows."""
        return len(self._known)

    def caller(self, token: str) -> Caller:
        """Who bears this token; refuses one that does not count now."""
        now = int(self._clock.wall().timestamp())
        known = self._known.get(token)
        if known is None:
            claims = self._claims(token)
            _check_lifetime(claims, now)
            known = (_bearer(claims), claims.exp)
            self._remember(token, known)
        caller, expires = known
        if expires <= now:
            self._known.pop(token, None)
            raise TokenRefused(TokenFault.EXPIRED)
        return caller

    def derive(self, purpose: str) -> bytes:
        """A secret for one other purpose, on which all control planes with these keys agree."""
        return self._keyring.signing.derive(purpose)

    def _claims(self, token: str) -> Claims:
        if len(token) > LONGEST_TOKEN:
            raise TokenRefused(TokenFault.INVALID)
        try:
            key = self._keyring.find(jwt.get_unverified_header(token).get("kid"))
            if key is None:
                raise TokenRefused(TokenFault.INVALID)
            payload = jwt.decode(token, key, algorithms=[ALGORITHM], audience=AUDIENCE, issuer=ISSUER, options=_OPTIONS)
            return msgspec.convert(payload, Claims)
        except (jwt.InvalidTokenError, msgspec.ValidationError):
            raise TokenRefused(TokenFault.INVALID) from None

    def _remember(self, token: str, known: tuple[Caller, int]) -> None:
        if len(self._known) >= self._remember_at_most:
            self._known.pop(next(iter(self._known)))
        self._known[token] = known


def _check_lifetime(claims: Claims, now: int) -> None:
    if max(claims.iat, claims.nbf or 0) > now + CLOCK_SKEW:
        raise TokenRefused(TokenFault.NOT_YET)
    if claims.exp - claims.iat > LONGEST_LIFETIME.total_seconds():
        raise TokenRefused(TokenFault.TOO_LONG)


def _bearer(claims: Claims) -> Caller:
    if claims.role is Role.RUNNER and claims.inc is None:
        raise TokenRefused(TokenFault.INVALID)
    return Caller(
        subject=claims.sub,
        role=claims.role,
        tenant_id=None if claims.tenant is None else TenantId(claims.tenant),
        incarnation=None if claims.inc is None else Incarnation(claims.inc),
    )
