"""Bearer tokens: given to identities or minted on the control host, checked at every call.

Guaranteed: a token counts only if one of our keys signed it with EdDSA for this audience, while its lifetime, which is
bounded, lasts, as long as nobody revoked or changed whom it was given to (`control.standing` says when that is known),
and for a tenant that exists and was not deleted since the token was issued, whichever tenant has its name by now.
Not guaranteed: that a token which was minted on the control host for somebody who never enrolled can be called back; it
ends with its lifetime, when that name is revoked, when its tenant is deleted, or when the signing key is changed.
"""

import secrets
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, Protocol

import jwt
import msgspec

from streamward.control import signed
from streamward.control.keys import Keys
from streamward.model.errors import StreamwardError
from streamward.model.identity import Caller, Identity, Role
from streamward.model.ids import Incarnation, RunnerId, TenantId, check_id
from streamward.model.tenant import CLOCKS_APART
from streamward.protocol import codec
from streamward.protocol.tenants import TENANT_GONE
from streamward.protocol.tokens import ALGORITHM, AUDIENCE, ISSUER, Claims
from streamward.runtime.clock import Clock

DEFAULT_LIFETIME = timedelta(minutes=15)
LONGEST_LIFETIME = timedelta(hours=24)
CLOCK_SKEW = int(CLOCKS_APART)  # seconds by which the minting host's clock may be ahead of ours
_HOURS = LONGEST_LIFETIME // timedelta(hours=1)
REMEMBERED = 10_000  # tokens: an Ed25519 check costs more than the call it guards


class TokenFault(StrEnum):
    """What is wrong with a token, as programs read it."""

    MISSING = "token-missing"
    INVALID = "token-invalid"
    EXPIRED = "token-expired"
    NOT_YET = "token-not-yet-valid"
    TOO_LONG = "token-lives-too-long"
    OUTDATED = "token-outdated"
    REVOKED = "token-revoked"
    TENANT_UNKNOWN = "token-tenant-unknown"
    TENANT_GONE = TENANT_GONE


_SENTENCES = {
    TokenFault.MISSING: "this call needs a bearer token: sign in with `streamward login`",
    TokenFault.INVALID: "the token was not made for this control plane",
    TokenFault.EXPIRED: "the token has expired",
    TokenFault.NOT_YET: "the token is not valid yet: the clock of the host that minted it is ahead of ours",
    TokenFault.TOO_LONG: f"a token may live for {_HOURS} h at most",
    TokenFault.OUTDATED: "whom the token was given to has changed: ask for a new one",
    TokenFault.REVOKED: "whom the token was given to is not trusted any more: a new one-time code is needed",
    TokenFault.TENANT_UNKNOWN: "the token is for a tenant that does not exist",
    TokenFault.TENANT_GONE: "the tenant that the token was issued for was deleted",
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

    def __init__(self, keys: Keys, *, clock: Clock) -> None:
        self._keys = keys
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

    def person(
        self,
        name: str,
        *,
        role: Role = Role.OPERATOR,
        tenant_id: TenantId | None = None,
        lifetime: timedelta = DEFAULT_LIFETIME,
    ) -> str:
        """A token for a person of the whole installation, or of one tenant."""
        return self._sign(Caller(subject=check_id("name", name), role=role, tenant_id=tenant_id), lifetime)

    def identity(self, identity: Identity, *, incarnation: Incarnation | None) -> str:
        """A token for whoever proved to be that."""
        caller = Caller(
            subject=identity.subject, role=identity.role, tenant_id=identity.tenant_id, incarnation=incarnation
        )
        return self._sign(caller, DEFAULT_LIFETIME, identity=identity)

    def release(self, runner: Caller) -> tuple[str, datetime]:
        """A token that ends this runner's incarnation and does nothing else, and until when it counts.

        It is given to no identity, so it outlasts a change of it, and counts no more once the runner's name is revoked.
        """
        expires_at = self._clock.wall() + LONGEST_LIFETIME
        return self._sign(replace(runner, only_releases=True), LONGEST_LIFETIME), expires_at.replace(microsecond=0)

    def _sign(self, caller: Caller, lifetime: timedelta, *, identity: Identity | None = None) -> str:
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
            idn=None if identity is None else identity.identity_id,
            rev=0 if identity is None else identity.revision,
            only="release-all" if caller.only_releases else None,
        )
        signing = self._keys.signing
        return jwt.encode(
            msgspec.to_builtins(claims), signing.private, algorithm=ALGORITHM, headers={"kid": signing.kid}
        )


class Standing(Protocol):
    """What is known of those to whom tokens were given."""

    def fault(self, claims: Claims) -> TokenFault | None:
        """Why a token that is good by itself counts no more."""
        ...


class Everyone:
    """Nobody was ever revoked."""

    def fault(self, claims: Claims) -> None:  # noqa: ARG002 - the port's signature
        return None


class _Known(NamedTuple):
    """A token that was checked."""

    caller: Caller
    claims: Claims
    kid: str


class TokenCheck:
    """Says who bears a token, and remembers what it has checked."""

    def __init__(self, keys: Keys, *, clock: Clock, standing: Standing, remember: int = REMEMBERED) -> None:
        self._keys = keys
        self._clock = clock
        self._standing = standing
        self._remember_at_most = remember
        self._known: dict[str, _Known] = {}

    @property
    def remembered(self) -> int:
        """How many checked tokens it knows."""
        return len(self._known)

    def caller(self, token: str) -> Caller:
        """Who bears this token; refuses one that does not count now."""
        now = int(self._clock.wall().timestamp())
        known = self._known.get(token)
        if known is None:
            kid, claims = self._read(token)
            _check_lifetime(claims, now)
            known = _Known(_bearer(claims), claims, kid)
            self._remember(token, known)
        elif self._keys.find(known.kid) is None:  # its key was taken away meanwhile
            self._known.pop(token, None)
            raise TokenRefused(TokenFault.INVALID)
        if known.claims.exp <= now:
            self._known.pop(token, None)
            raise TokenRefused(TokenFault.EXPIRED)
        if fault := self._standing.fault(known.claims):
            raise TokenRefused(fault)
        return known.caller

    def derive(self, purpose: str) -> list[bytes]:
        """Secrets for one other purpose, on which all control planes with these keys agree: make with the first."""
        return self._keys.derive(purpose)

    def _read(self, token: str) -> tuple[str, Claims]:
        """The name of the key that signed it, and what it says."""
        try:
            claims = codec.decode(signed.payload(token, self._keys.find), Claims)
        except (signed.NotSigned, codec.MalformedMessage):
            raise TokenRefused(TokenFault.INVALID) from None
        if (claims.iss, claims.aud) != (ISSUER, AUDIENCE):
            raise TokenRefused(TokenFault.INVALID)
        return signed.key_name(token), claims

    def _remember(self, token: str, known: _Known) -> None:
        if len(self._known) >= self._remember_at_most:
            self._known.pop(next(iter(self._known)))
        self._known[token] = known


def _check_lifetime(claims: Claims, now: int) -> None:
    if max(claims.iat, claims.nbf or 0) > now + CLOCK_SKEW:
        raise TokenRefused(TokenFault.NOT_YET)
    if claims.exp - claims.iat > LONGEST_LIFETIME.total_seconds():
        raise TokenRefused(TokenFault.TOO_LONG)


def _bearer(claims: Claims) -> Caller:
    is_runner = claims.role is Role.RUNNER
    if (is_runner and claims.inc is None) or (claims.only is not None and not is_runner):
        raise TokenRefused(TokenFault.INVALID)
    return Caller(
        subject=claims.sub,
        role=claims.role,
        tenant_id=None if claims.tenant is None else TenantId(claims.tenant),
        incarnation=None if claims.inc is None else Incarnation(claims.inc),
        only_releases=claims.only is not None,
    )
