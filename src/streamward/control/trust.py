"""Whom a control plane believes: its keys, the tokens that it gives and checks, and who was revoked."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from streamward.control.keys import Keys
from streamward.control.standing import KnownStanding, StandingStore
from streamward.control.tokens import TokenCheck, TokenMint
from streamward.model.ids import TenantId
from streamward.runtime.clock import Clock


class Rereads(Protocol):
    """What is read again at once after somebody was revoked here; elsewhere it is within seconds."""

    async def tick(self) -> float: ...
    def records_after(self, tenant_id: TenantId | None) -> datetime | None: ...


@dataclass(frozen=True, slots=True)
class Trust:
    """The three that go together."""

    check: TokenCheck
    mint: TokenMint
    standing: Rereads


def trust(store: StandingStore, keys: Keys, *, clock: Clock) -> Trust:
    """A control plane's trust: nobody is believed until its standing was read once."""
    standing = KnownStanding(store, clock=clock)
    return Trust(TokenCheck(keys, clock=clock, standing=standing), TokenMint(keys, clock=clock), standing)
