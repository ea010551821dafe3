"""Makes people's edits: each in the state that was read, under its author's name, and once however often it is sent."""

import hashlib
import hmac
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from streamward.control.tags import PreconditionFailed
from streamward.model.camera import Camera, Site
from streamward.model.identity import Author
from streamward.model.register import (
    NOUNS,
    Edit,
    Edited,
    Hindrance,
    NotEdited,
    Once,
    Register,
    Repeated,
    Thing,
    key_field,
)
from streamward.model.tenant import Tenant
from streamward.protocol import codec
from streamward.protocol.problem import Problem

KEY_REUSED = Problem(
    title="Conflict",
    status=409,
    detail="this Idempotency-Key was used for something else",
    reason="idempotency-key-reused",
)
_PLACES: dict[type[Thing], str] = {Camera: "site", Site: "tenant"}
_TENANTS: dict[type[Thing], str] = {Tenant: "sites", Site: "cameras"}

T = TypeVar("T", bound=Thing)


class Clerk:
    """Writes into the register."""

    def __init__(self, register: Register, *, digest_keys: Callable[[], list[bytes]]) -> None:
        self._register = register
        self._digest_keys = digest_keys  # the newest first

    async def create(
        self, thing: T, *, author: Author, message: Any = None, once_key: str | None = None
    ) -> T | Problem:
        """Adds a thing; repeated with the same key and message it answers as it did the first time."""
        once = None if once_key is None else self._once(author, once_key, message)
        outcome = await self._register.edit([Edit(after=thing)], author=author, once=once)
        if isinstance(outcome, Repeated):
            return _as_made(thing, outcome) if self._is_same(outcome, message) else KEY_REUSED
        return _made(outcome, thing)

    async def change(self, before: T, after: T, *, author: Author) -> T | Problem:
        """Changes a thing as it was read; what changes nothing is not written down."""
        if after == before:
            return before
        return _made(await self._register.edit([Edit(before=before, after=after)], author=author), after)

    async def remove(self, thing: Thing, *, author: Author, also: Sequence[Edit] = ()) -> Problem | None:
        """Removes a thing as it was read, and makes the edits that go with that."""
        outcome = await self._register.edit([Edit(before=thing), *also], author=author)
        return problem(outcome) if isinstance(outcome, NotEdited) else None

    def _once(self, author: Author, key: str, message: Any) -> Once:
        """Names are the caller's own, and a digest without the key tells nothing of a password."""
        digest = _digest(self._digest_keys()[0], message)
        return Once(subject=f"{author.tenant_id or ''}/{author.subject}", key=key, digest=digest)

    def _is_same(self, made: Repeated, message: Any) -> bool:
        """Whether the first creation was this one; its digest may be from before a change of keys."""
        return any(hmac.compare_digest(made.digest, _digest(key, message)) for key in self._digest_keys())


def problem(failed: NotEdited) -> Problem:
    """Why an edit was not made; that somebody else was quicker has a status of its own."""
    noun = NOUNS[type(failed.edit.thing)]
    match failed.why:
        case Hindrance.TAKEN:
            detail, reason = f"there is a {noun} of that id", f"{noun}-exists"
        case Hindrance.NAME_TAKEN:
            detail, reason = f"the tenant has another {noun} of that name", f"{noun}-name-taken"
        case Hindrance.IN_USE:
            detail = f"the {noun} has {_TENANTS[type(failed.edit.thing)]}: remove them first"
            reason = f"{noun}-in-use"
        case Hindrance.DELETING:
            detail = "a tenant of that name is being deleted: its data is still there (GET /v1/tenants/{id}/deletion)"
            reason = "tenant-deleting"
        case Hindrance.NO_PLACE:
            place = _PLACES[type(failed.edit.thing)]
            return Problem(
                title="Unprocessable Content",
                status=422,
                detail=f"there is no such {place}",
                reason=f"{place}-unknown",
            )
        case Hindrance.CHANGED:
            raise PreconditionFailed
    return Problem(title="Conflict", status=409, detail=detail, reason=reason)


def _made(outcome: Edited | NotEdited | Repeated, wanted: T) -> T | Problem:
    """The thing as it is now."""
    if isinstance(outcome, NotEdited):
        return problem(outcome)
    assert isinstance(outcome, Edited)
    made = outcome.things[0]
    assert isinstance(made, type(wanted))
    return made


def _as_made(thing: T, made: Repeated) -> T:
    """What the first of two equal creations was answered with."""
    stamps: dict[str, Any] = {key_field(thing): made.object_id, "updated_at": made.made_at, "revision": 1}
    return replace(thing, **stamps)


def _digest(key: bytes, message: Any) -> str:
    named = type(message).__name__.encode() + b" " + codec.encode(message)
    return hmac.new(key, named, hashlib.sha256).hexdigest()
