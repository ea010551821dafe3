"""What people change: each change is one value before and one after, and everything else follows from these two.

A store applies a list of edits in one transaction, each only if the thing still is in the revision that was read, and
writes in the same transaction who did it (the audit) and what the outside is told (announcements of cameras). Nothing
is half-done. Neither carries a credential: a person's edit can be read by others than its object.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from streamward.model.announcement import Announcement
from streamward.model.camera import UNDATED, Camera, Site
from streamward.model.identity import Author, Identity, Invitation, Role
from streamward.model.ids import CameraId, SiteId, TenantId
from streamward.model.runner import Runner
from streamward.model.tenant import Tenant

REMEMBERED_FOR = 86_400.0  # seconds: how long the name of a creation is known
TOLD_FOR = 7 * 86_400.0  # seconds: how long a change can be asked for, published or not

Thing = Tenant | Site | Camera | Runner | Invitation | Identity

NOUNS: dict[type[Thing], str] = {
    Tenant: "tenant",
    Site: "site",
    Camera: "camera",
    Runner: "runner",
    Invitation: "invitation",
    Identity: "identity",
}
_NOT_TOLD = {"tenant_key", "sealed", "code_hash", "revision", "updated_at", "last_seen_at", "incarnation"}


class Verb(StrEnum):
    """What became of a thing."""

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A thing as it was read, and as it shall be."""

    before: Thing | None = None  # None: to be created
    after: Thing | None = None  # None: to be removed

    def __post_init__(self) -> None:
        assert self.before is not None or self.after is not None
        if self.before is not None and self.after is not None:
            assert (type(self.before), key_of(self.before)) == (type(self.after), key_of(self.after))
            assert self.before.tenant_id == self.after.tenant_id, "nothing goes from one tenant to another"

    @property
    def thing(self) -> Thing:
        """Whatever it is about."""
        thing = self.after or self.before
        assert thing is not None
        return thing

    @property
    def moves(self) -> bool:
        """Whether it puts a camera somewhere else; where it stood before is not looked at again."""
        before, after = self.before, self.after
        return isinstance(before, Camera) and isinstance(after, Camera) and before.site_id != after.site_id

    @property
    def verb(self) -> Verb:
        if self.before is None:
            return Verb.CREATED
        return Verb.DELETED if self.after is None else Verb.UPDATED


class Hindrance(StrEnum):
    """Why an edit was not made, and with it none of its list."""

    TAKEN = "taken"  # there is a thing of that id
    NAME_TAKEN = "name-taken"  # another camera of the same tenant has that name
    CHANGED = "changed"  # it is not in the revision that was read
    NO_PLACE = "no-place"  # the tenant or the site that it belongs to is not there
    IN_USE = "in-use"  # other things belong to it
    DELETING = "deleting"  # a tenant of that name is being deleted


@dataclass(frozen=True, slots=True)
class NotEdited:
    """Nothing was changed, because of this edit."""

    edit: Edit
    why: Hindrance


@dataclass(frozen=True, slots=True)
class Edited:
    """Every edit was made: the things as they are now, in the same order; None: removed."""

    things: tuple[Thing | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """A caller's name for one creation, so that a repeated call creates nothing twice."""

    subject: str
    key: str
    digest: str  # of what is to be created; made with a key, for it may hold a password


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """That name was used before: for this thing, at that time, with this digest."""

    object_id: str
    made_at: datetime
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What the audit says of a manual change that is no edit of a thing."""

    author: Author
    action: str
    tenant_id: TenantId | None
    object_id: str
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """One change by a person, as it is kept for ever."""

    position: int
    at: datetime
    author: Author
    action: str  # `camera.updated`
    tenant_id: TenantId | None  # whose thing it is; None: the installation's
    object_id: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which rows of the audit, newest first, before the position named."""

    scope: TenantId | None  # the caller's tenant; None sees all
    tenant_id: TenantId | None = None
    object_id: str | None = None
    subject: str | None = None
    action: str | None = None
    since: datetime | None = None
    before: int | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Which part of a listing in the order of ids."""

    scope: TenantId | None  # the caller's tenant; None sees all
    after: str | None = None
    limit: int = 100


class Register(Protocol):
    """Tenants and sites, and every change that people make."""

    async def edit(
        self, edits: Sequence[Edit], *, author: Author, once: Once | None = None
    ) -> Edited | NotEdited | Repeated:
        """Makes all of these edits or none; a name for them is only looked up and kept with the first one."""
        ...

    async def write_note(self, note: Note) -> None:
        """Adds a row to the audit that is no edit."""
        ...

    async def audit(self, wanted: AuditFilter) -> list[AuditRow]: ...
    async def find_tenant(self, tenant_id: TenantId, *, scope: TenantId | None) -> Tenant | None: ...
    async def tenants(self, page: Page) -> list[Tenant]: ...
    async def find_site(self, site_id: SiteId, *, scope: TenantId | None) -> Site | None: ...
    async def sites(self, page: Page) -> list[Site]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Redemption:
    """Somebody shows a one-time code and a public key."""

    code_hash: str
    identity_id: str
    public_key: str
    address: str
    request_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """An identity that was changed or revoked: tokens from before count no more."""

    identity_id: str
    revision: int
    is_live: bool
    subject: str
    tenant_id: TenantId | None
    is_runner: bool
    has_heir: bool  # another identity of the same subject is live


class IdentityStore(Protocol):
    """Who is known, and by which key; invitations and identities are changed by `Register.edit`."""

    async def invitations(
        self, page: Page, *, role: Role | None = None, subject: str | None = None
    ) -> list[Invitation]:
        """Those that can still be redeemed."""
        ...

    async def find_invitation(self, invitation_id: str, *, scope: TenantId | None) -> Invitation | None: ...
    async def known_codes(self, code_hashes: Collection[str]) -> set[str]:
        """Those of these hashes that are of any code, open, used or expired: whoever names one has had it."""
        ...

    async def redeem(self, redemption: Redemption) -> Identity | None:
        """The identity that a code gives; None: it is unknown, used or expired. The same key again gets the same."""
        ...

    async def identities(self, page: Page, *, subject: str | None = None) -> list[Identity]: ...
    async def find_identity(self, identity_id: str, *, scope: TenantId | None) -> Identity | None: ...
    async def proving(self, identity_ids: Collection[str]) -> dict[str, Identity]:
        """Those of these identities that there are, of any tenant, by their ids: for what their keys have signed."""
        ...

    async def has_admin(self) -> bool:
        """Whether somebody can sign in who may invite others."""
        ...

    async def doubts(self) -> list[Doubt]: ...


class Outbox(Protocol):
    """What the outside is told, in the order in which it was committed."""

    async def pending(self, *, limit: int) -> list[Announcement]:
        """What was not published yet, oldest first."""
        ...

    async def published(self, positions: Sequence[int]) -> None: ...
    async def announced(self, *, scope: TenantId | None, after: int, limit: int) -> list[Announcement]:
        """What was told after a position, published or not."""
        ...

    async def newest(self) -> int:
        """The position of the newest announcement; 0: there was none."""
        ...


def redeemed(code: Invitation, redemption: Redemption) -> tuple[Identity, Author]:
    """The identity that a code gives, and whose doing that is: the invited one's own."""
    identity = Identity(
        identity_id=redemption.identity_id,
        subject=code.subject,
        role=code.role,
        tenant_id=code.tenant_id,
        public_key=redemption.public_key,
        updated_at=UNDATED,
    )
    author = Author(
        subject=code.subject,
        role=code.role,
        tenant_id=code.tenant_id,
        address=redemption.address,
        request_id=redemption.request_id,
    )
    return identity, author


def key_of(thing: Thing) -> str:
    """A thing's id."""
    key: str = getattr(thing, key_field(thing))
    return key


def key_field(thing: Thing) -> str:
    """Where a thing's id stands."""
    return f"{NOUNS[type(thing)]}_id"


def name_of(edit: Edit) -> str:
    """What an edit is about, told from everything else: one list names each thing once."""
    return f"{NOUNS[type(edit.thing)]} {key_of(edit.thing)}"


def names_given(edits: Sequence[Edit]) -> list[tuple[TenantId, str]]:
    """The names that edits give to cameras, each with its tenant; one that a camera had before is not given."""
    given = ((edit.before, edit.after) for edit in edits)
    return [
        (after.tenant_id, after.name)
        for before, after in given
        if isinstance(after, Camera)
        and after.name is not None
        and not (isinstance(before, Camera) and before.name == after.name)
    ]


def name_clash(edits: Sequence[Edit], holders: Mapping[tuple[TenantId, str], CameraId]) -> Edit | None:
    """The first edit that gives a camera a name which another camera of its tenant has, or is given before it."""
    taken = dict(holders)
    for edit in edits:
        for name in names_given([edit]):
            if taken.setdefault(name, CameraId(key_of(edit.thing))) != key_of(edit.thing):
                return edit
    return None


def action(edit: Edit) -> str:
    """What the audit calls it."""
    return f"{NOUNS[type(edit.thing)]}.{edit.verb}"


def note(edit: Edit, author: Author) -> Note:
    """What the audit says of an edit."""
    return Note(
        author=author,
        action=action(edit),
        tenant_id=edit.thing.tenant_id,
        object_id=key_of(edit.thing),
        before=told(edit.before),
        after=told(edit.after),
    )


def told(thing: Thing | None) -> dict[str, Any] | None:
    """A thing as everyone may read it in the audit: a credential is only told by its version."""
    if thing is None:
        return None
    values = {each.name: getattr(thing, each.name) for each in fields(thing) if each.name not in _NOT_TOLD}
    if isinstance(thing, Camera):
        values["rtsp_url"] = thing.shown_url
        values["labels"] = dict(thing.labels)
        values["zones"] = [zone.described() for zone in thing.zones]
        values["thresholds"] = dict(thing.thresholds)
    if isinstance(thing, Site):
        values["addresses"] = thing.addresses.described()
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}
