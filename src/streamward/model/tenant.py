"""A tenant: whose cameras they are. Nobody of one tenant can tell whether another has something.

    live ─delete→ deleting: rows ─→ payloads ─→ name ─→ gone

A tenant has a name that people choose (`tenant_id`) and an internal id (`tenant_key`) that is never used again.
Deletion ends the tenant at once: its tokens are refused and nothing is stored for it. What it had is deleted
afterwards, and its name can be given to another tenant only when nothing is left under it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from streamward.model.errors import StreamwardError
from streamward.model.ids import TenantId

KEY_MARK = "~"
HOLD_NAME_FOR = 6.0  # seconds at least from a deletion until its name can be used again
CLOCKS_APART = 5.0  # seconds by which the clock of a host that issues tokens may be ahead


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """A customer of the installation."""

    tenant_id: TenantId
    tenant_key: str  # internal id, never used again
    name: str = ""
    updated_at: datetime
    revision: int = 0  # set by the store: rises with each change


def tenant_key(random: str) -> str:
    """An internal id made of random characters; the first one is in no name, so no tenant can be called like it."""
    return f"{KEY_MARK}{random}"


def is_tenant_key(text: str | None) -> bool:
    """Whether this is the internal id of a deleted tenant, in the place of its name."""
    return text is not None and text.startswith(KEY_MARK)


class DeletionStage(StrEnum):
    """How far the deletion of a tenant is."""

    ROWS = "rows"  # control planes delete its rows in the database
    PAYLOADS = "payloads"  # a batcher deletes its stored payloads, open batches and dead letters
    NAME = "name"  # nothing is left; its name is held until every earlier token can be recognised
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantDeletion:
    """A tenant that was deleted, and how far its data is. The record stays for ever: ids and times, no content."""

    tenant_key: str
    tenant_id: TenantId
    requested_at: datetime
    tokens_after: datetime  # a token of that name counts only if it was issued later
    rows_deleted_at: datetime | None = None
    payloads_deleted_at: datetime | None = None
    finished_at: datetime | None = None
    removed: Mapping[str, int] = field(default_factory=dict)  # rows so far, by kind

    @property
    def stage(self) -> DeletionStage:
        if self.rows_deleted_at is None:
            return DeletionStage.ROWS
        if self.payloads_deleted_at is None:
            return DeletionStage.PAYLOADS
        return DeletionStage.NAME if self.finished_at is None else DeletionStage.GONE


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantStanding:
    """Whether a name is a tenant's now, and from when on its tokens count."""

    tenant_id: TenantId
    is_live: bool
    tokens_after: datetime | None = None  # of the newest deletion of that name


class TenantDeletions(Protocol):
    """Deleted tenants; `Register.edit` begins a deletion. Any number of control planes may carry it on at once."""

    async def deletions(self) -> list[TenantDeletion]:
        """Those that are not finished, oldest first."""
        ...

    async def find_deletion(self, tenant_id: TenantId) -> TenantDeletion | None:
        """The newest deletion of that name."""
        ...

    async def rows_left(self, tenant_id: TenantId, *, at_most: int) -> int:
        """How many rows there are of that tenant, counted up to a limit."""
        ...

    async def delete_rows(self, deletion: TenantDeletion, *, limit: int) -> int:
        """Deletes some rows, or takes content and name out of those that must stay; returns of how many."""
        ...

    async def advance(self, deletion: TenantDeletion) -> TenantDeletion:
        """Goes on to the next stage if everything of this one is done; returns the deletion as it is now."""
        ...

    async def tenant_standings(self) -> list[TenantStanding]:
        """Of every name that is or was a tenant's."""
        ...

    async def gone(self, tenant_ids: Sequence[TenantId]) -> list[TenantId]:
        """Which of these names belonged to a deleted tenant, and belong to none now."""
        ...


class PayloadDeletions(Protocol):
    """What a batcher has to do with deleted tenants."""

    async def at_work(self) -> None:
        """Records that this installation has batchers: no deletion is finished without one."""
        ...

    async def waiting(self) -> list[TenantDeletion]:
        """Deletions whose rows are deleted and whose payloads are not."""
        ...

    async def payloads_deleted(self, deletion: TenantDeletion) -> None: ...


class IdOutsideTenant(StreamwardError):
    """Somebody of one tenant chose an id that another might have."""

    def __init__(self, tenant_id: TenantId) -> None:
        super().__init__(tenant_id)
        self.tenant_id = tenant_id

    def __str__(self) -> str:
        return f"an id that you choose must begin with {self.tenant_id}-: ids are one for all tenants"


def check_own(chosen: str, *, scope: TenantId | None) -> str:
    """Returns an id that a caller of that scope may choose: a refusal must not tell what other tenants have."""
    if scope is not None and not chosen.startswith(f"{scope}-"):
        raise IdOutsideTenant(scope)
    return chosen


def tenants_named_by(chosen: str) -> list[TenantId]:
    """The tenants whose people may choose that id, if there are such tenants: one for each of its hyphens."""
    return [TenantId(chosen[:place]) for place, character in enumerate(chosen) if character == "-" and place]


def overlap(one: TenantId, other: TenantId) -> bool:
    """Whether people of both could choose the same id, so that one could learn what the other has."""
    return one.startswith(f"{other}-") or other.startswith(f"{one}-")
