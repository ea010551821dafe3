"""What whoever listens is told, numbered in the order in which it can be read.

Guaranteed: a reader that has seen a number has been shown, or could have asked for, all before it. Not guaranteed: that
all which happens is told. A broadcast that fails is left out, and fails nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from streamward.model.ids import TenantId


@dataclass(frozen=True, slots=True, kw_only=True)
class Broadcast:
    """One thing that was told."""

    seq: int  # rises, with holes
    tenant_id: TenantId
    kind: str
    body: str  # JSON
    at: datetime


class Broadcasts(Protocol):
    """What was told lately."""

    async def append(self, tenant_id: TenantId, kind: str, bodies: Sequence[str], *, tenant_key: str) -> bool:
        """Adds them, if the tenant of that name still is the one with that internal id; returns whether it is."""
        ...

    async def after(self, seq: int, *, scope: TenantId | None, limit: int) -> list[Broadcast]:
        """What was told after that number to a tenant (None: to all), in order."""
        ...

    async def newest(self) -> int:
        """The newest number that is there; 0: there is none."""
        ...

    async def oldest(self) -> int:
        """The oldest number that is still there; 0: there is none."""
        ...

    async def prune(self, *, kept: float, limit: int) -> int:
        """Forgets at most so many of what is older than that many seconds; returns how many."""
        ...
