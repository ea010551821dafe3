"""Who is not trusted any more, as every control plane knows it.

    a person revokes or changes an identity  →  its revision rises in the database
    every control plane reads all that ever rose, once a second  →  tokens of before count no more

Guaranteed: what was revoked is refused here within `KNOWN_FOR` of the commit, or every call is: a control plane that
could not read for longer does not know, and not knowing is not trusting.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from streamward.control.tokens import TokenFault
from streamward.leases.store import StoreUnavailable
from streamward.model.identity import Role
from streamward.model.register import Doubt, IdentityStore
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


class KnownStanding:
    """What this control plane last read, and since when it knows it."""

    def __init__(self, store: IdentityStore, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._doubts = Doubts()
        self._read_at: float | None = None
        self._begun = self._counted = 0  # readings: how many began, and which of them is known

    def fault(self, claims: Claims) -> TokenFault | None:
        """Why a token counts no more; refuses to say if it has not heard for too long."""
        if self._read_at is None or self._clock.boot() - self._read_at > KNOWN_FOR:
            raise StoreUnavailable
        return self._doubts.fault(claims)

    async def tick(self) -> float:
        """Reads; returns in how many seconds to read again. Of two readings at once the one that began later counts."""
        self._begun += 1
        begun, began = self._begun, self._clock.boot()
        doubts = Doubts.of(await self._store.doubts())
        if begun > self._counted:
            self._counted, self._doubts, self._read_at = begun, doubts, began
        return READ_EVERY
