"""Who is not trusted any more, as every control plane knows it.

    a person revokes or changes an identity  →  its revision rises in the database
    every control plane reads all that ever rose, once a second  →  tokens of before count no more

    a tenant is deleted  →  tokens of its name count no more, not even when another tenant gets the name

Guaranteed: what was revoked is refused here within `KNOWN_FOR` of the commit, or every call is: a control plane that
could not read for longer does not know, and not knowing is not trusting.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from streamward.control.tokens import TokenFault
from streamward.leases.store import StoreUnavailable
from streamward.model.identity import Role
from streamward.model.ids import TenantId
from streamward.model.register import Doubt, IdentityStore
from streamward.model.tenant import TenantDeletions, TenantStanding
from streamward.protocol.tokens import Claims
from streamward.runtime.clock import Clock

READ_EVERY = 1.0  # seconds
KNOWN_FOR = 4.0  # seconds since the last reading began


@dataclass(frozen=True, slots=True)
class Doubts:
    """All doubts at one moment."""

    by_identity: dict[str, Doubt] = field(default_factory=dict)
    barred: frozenset[tuple[object, ...]] = frozenset()  # names that no live identity has

    @classmethod
    def of(cls, doubts: Iterable[Doubt]) -> "Doubts":
        """The doubts that a store told."""
        told = list(doubts)
        return cls(
            {doubt.identity_id: doubt for doubt in told},
            frozenset(_name(doubt) for doubt in told if not doubt.is_live and not doubt.has_heir),
        )

    def fault(self, claims: Claims) -> TokenFault | None:
        """Why these claims count no more; those that were minted on the control host have no identity, but a name."""
        if claims.idn is None:
            is_barred = (claims.sub, claims.tenant, claims.role is Role.RUNNER) in self.barred
            return TokenFault.REVOKED if is_barred else None
        doubt = self.by_identity.get(claims.idn)
        if doubt is None or (doubt.is_live and claims.rev >= doubt.revision):
            return None
        return TokenFault.OUTDATED if doubt.is_live else TokenFault.REVOKED


def _name(doubt: Doubt) -> tuple[object, ...]:
    return doubt.subject, doubt.tenant_id, doubt.is_runner


@dataclass(frozen=True, slots=True)
class Tenants:
    """Every tenant at one moment, and those that were deleted."""

    by_name: dict[TenantId, TenantStanding] = field(default_factory=dict)

    @classmethod
    def of(cls, standings: Iterable[TenantStanding]) -> "Tenants":
        """The tenants that a store knows."""
        return cls({each.tenant_id: each for each in standings})

    def fault(self, claims: Claims) -> TokenFault | None:
        """Why claims for a tenant do not count; one that issues tokens dates them in whole seconds."""
        if claims.tenant is None:
            return None
        known = self.by_name.get(TenantId(claims.tenant))
        if known is None:
            return TokenFault.TENANT_UNKNOWN
        is_newer = known.tokens_after is None or claims.iat > known.tokens_after.timestamp()
        return None if known.is_live and is_newer else TokenFault.TENANT_GONE


class StandingStore(IdentityStore, TenantDeletions, Protocol):
    """The ports that know who is trusted."""


class KnownStanding:
    """What this control plane last read, and since when it knows it."""

    def __init__(self, store: StandingStore, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._doubts = Doubts()
        self._tenants = Tenants()
        self._read_at: float | None = None
        self._begun = self._counted = 0  # readings: how many began, and which of them is known

    def fault(self, claims: Claims) -> TokenFault | None:
        """Why a token counts no more; refuses to say if it has not heard for too long."""
        if self._read_at is None or self._clock.boot() - self._read_at > KNOWN_FOR:
            raise StoreUnavailable
        return self._tenants.fault(claims) or self._doubts.fault(claims)

    def records_after(self, tenant_id: TenantId | None) -> datetime | None:
        """The end of the tenant that had this name before: what is older is not for the one that has it now."""
        known = None if tenant_id is None else self._tenants.by_name.get(tenant_id)
        return None if known is None else known.tokens_after

    async def tick(self) -> float:
        """Reads; returns in how many seconds to read again. Of two readings at once the one that began later counts."""
        self._begun += 1
        begun, began = self._begun, self._clock.boot()
        doubts = Doubts.of(await self._store.doubts())
        tenants = Tenants.of(await self._store.tenant_standings())
        if begun > self._counted:
            self._counted, self._doubts, self._tenants, self._read_at = begun, doubts, tenants, began
        return READ_EVERY
