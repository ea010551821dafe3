"""What tenants want of batching.

The ETag is of what a tenant wants, not of a revision: of two who change the same state in the same moment the later one
counts, and the audit has both.
"""

import hashlib
from typing import Any

import msgspec

from streamward.control.api.routing import Access, Routes, Tagged
from streamward.control.api.tenants import UNKNOWN
from streamward.control.tags import PreconditionFailed
from streamward.insight.rules import Rules, Wishes
from streamward.insight.store import RuleBook
from streamward.model.identity import Author, Caller
from streamward.model.ids import TenantId
from streamward.model.register import Note
from streamward.protocol.batching import BatchingDetails, ChangeBatching, changed, details, told
from streamward.protocol.codec import encode
from streamward.protocol.problem import Problem

IDLE_TOO_LONG = Problem(
    title="Unprocessable Content",
    status=422,
    detail="the idle time is longer than the window: it would never count",
    reason="idle-beyond-window",
)
_NO_SUCH = {404: "There is no such tenant"}


def add_batching(routes: Routes, book: RuleBook, *, rules: Rules) -> None:
    """Adds the routes about a tenant's rules; `rules` are the installation's."""

    @routes.get("/v1/tenants/{tenant_id}/batching", access=Access.VIEWER, refuses=_NO_SUCH)
    async def get_batching(caller: Caller, tenant_id: str) -> Tagged[BatchingDetails] | Problem:
        """Tells when a tenant's batches close, what cannot wait for them, and how long they are kept."""
        wishes = await book.find_wishes(TenantId(tenant_id), scope=caller.tenant_id)
        return UNKNOWN if wishes is None else _tagged(tenant_id, wishes)

    @routes.patch("/v1/tenants/{tenant_id}/batching", access=Access.ADMIN, refuses=_NO_SUCH)
    async def change_batching(
        author: Author, tenant_id: str, message: ChangeBatching, if_match: str
    ) -> Tagged[BatchingDetails] | Problem:
        """Changes what a tenant wants of batching; batchers know it within seconds."""
        before = await book.find_wishes(TenantId(tenant_id), scope=author.tenant_id)
        if before is None:
            return UNKNOWN
        if if_match not in ("*", _tag(before)):
            raise PreconditionFailed
        after = changed(before, message)
        limits = after.applied(rules).limits
        if limits.idle > limits.window:
            return IDLE_TOO_LONG
        if after != before and not await book.save_wishes(
            TenantId(tenant_id), after, note=_note(author, TenantId(tenant_id), before, after)
        ):
            return UNKNOWN
        return _tagged(tenant_id, after)

    def _tagged(tenant_id: str, wishes: Wishes) -> Tagged[BatchingDetails]:
        return Tagged(details(tenant_id, wishes, rules), _tag(wishes))


def _note(author: Author, tenant_id: TenantId, before: Wishes, after: Wishes) -> Note:
    return Note(
        author=author,
        action="batching.updated",
        tenant_id=tenant_id,
        object_id=tenant_id,
        before=_plain(before),
        after=_plain(after),
    )


def _plain(wishes: Wishes) -> dict[str, Any]:
    return {name: msgspec.to_builtins(wish) for name, wish in told(wishes).items() if wish is not None}


def _tag(wishes: Wishes) -> str:
    return f'"{hashlib.sha256(encode(told(wishes))).hexdigest()[:16]}"'
