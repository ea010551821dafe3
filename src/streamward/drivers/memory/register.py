"""Tenants, sites, people's edits, the audit and the announcements in memory."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from streamward.drivers.memory.database import MemoryDatabase
from streamward.drivers.memory.fleet import put_camera, put_site
from streamward.leases.lease import SessionState
from streamward.model import announcement
from streamward.model.announcement import Announcement
from streamward.model.camera import Camera, Site
from streamward.model.identity import Author, Identity, Invitation, Role
from streamward.model.ids import RunnerId, SiteId, TenantId
from streamward.model.register import (
    REMEMBERED_FOR,
    TOLD_FOR,
    AuditFilter,
    AuditRow,
    Edit,
    Edited,
    Hindrance,
    Note,
    NotEdited,
    Once,
    Page,
    Repeated,
    Thing,
    key_of,
    name_clash,
    note,
)
from streamward.model.runner import Runner
from streamward.model.tenant import CLOCKS_APART, Tenant, TenantDeletion
from streamward.runtime.bell import Bell

_SAID_OF_RUNNERS = ("cordoned", "drain", "capacity", "make", "detector", "earlier_detector", "revision")


class MemoryEdits:
    """The writing half of the register on a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase, *, bell: Bell) -> None:
        self._db = database
        self._bell = bell
        self._tables: dict[type[Thing], dict[Any, Any]] = {
            Tenant: database.tenants,
            Site: database.sites,
            Camera: database.cameras,
            Runner: database.runners,
            Invitation: database.invitations,
            Identity: database.identities,
        }

    async def write_note(self, note: Note) -> None:
        self._db.note(note)

    async def edit(
        self, edits: Sequence[Edit], *, author: Author, once: Once | None = None
    ) -> Edited | NotEdited | Repeated:
        if once is not None and (known := self._known(once)):
            return known
        outcome = self.apply(edits, author=author)
        made = outcome.things[0] if isinstance(outcome, Edited) else None
        if once is not None and made is not None:
            self._db.created[once.subject, once.key] = Repeated(
                object_id=key_of(made), made_at=self._db.now(), digest=once.digest
            )
        if isinstance(outcome, Edited):
            self._bell.ring()
        return outcome

    def apply(self, edits: Sequence[Edit], *, author: Author) -> Edited | NotEdited:
        """Makes these edits, all or none, and writes them down."""
        holders = {(each.tenant_id, each.name): each.camera_id for each in self._db.cameras.values() if each.name}
        if (clash := name_clash(edits, holders)) is not None:
            return NotEdited(clash, Hindrance.NAME_TAKEN)
        for edit in edits:
            if why := self._hindrance(edit):
                return NotEdited(edit, why)
        things = tuple(self._make(edit) for edit in edits)
        self._forget()
        for edit, thing in zip(edits, things, strict=True):
            self._write_down(edit, thing, author)
        return Edited(things)

    def _hindrance(self, edit: Edit) -> Hindrance | None:
        known = self._tables[type(edit.thing)].get(key_of(edit.thing))
        if edit.before is None:
            if not self._has_place(edit.thing):
                return Hindrance.NO_PLACE
            if known is None and isinstance(edit.thing, Tenant) and self._is_held(edit.thing.tenant_id):
                return Hindrance.DELETING
            return None if known is None else Hindrance.TAKEN
        if edit.after is None and self._is_needed(edit.before):
            return Hindrance.IN_USE
        if edit.moves and not self._has_place(edit.thing):
            return Hindrance.NO_PLACE
        return None if known is not None and _state(known) == _state(edit.before) else Hindrance.CHANGED

    def _is_held(self, tenant_id: TenantId) -> bool:
        deletions = self._db.deletions.values()
        return any(each.tenant_id == tenant_id and each.finished_at is None for each in deletions)

    def _has_place(self, thing: Thing) -> bool:
        if isinstance(thing, Camera):
            site = self._db.sites.get(thing.site_id)
            return site is not None and site.tenant_id == thing.tenant_id
        return not isinstance(thing, Site) or thing.tenant_id in self._db.tenants

    def _is_needed(self, thing: Thing) -> bool:
        if isinstance(thing, Tenant):
            return any(site.tenant_id == thing.tenant_id for site in self._db.sites.values())
        return isinstance(thing, Site) and any(camera.site_id == thing.site_id for camera in self._db.cameras.values())

    def _make(self, edit: Edit) -> Thing | None:
        if edit.after is None:
            self._remove(edit.thing)
            return None
        if isinstance(edit.after, Camera):
            return put_camera(self._db, self._with_newest_seal(edit.after))
        if isinstance(edit.after, Site):
            return put_site(self._db, edit.after)
        stamps: dict[str, Any] = {"revision": edit.before.revision + 1 if edit.before else 1}
        if not isinstance(edit.after, Runner):
            stamps["updated_at"] = self._db.now()
        made = replace(edit.after, **stamps)
        if isinstance(made, Runner):  # only what people say of it
            flags = {name: getattr(made, name) for name in _SAID_OF_RUNNERS}
            made = replace(self._db.runners[made.runner_id], **flags)
        self._tables[type(made)][key_of(made)] = made
        if isinstance(made, Identity) and made.role is Role.RUNNER and not made.is_live:
            self._silence(RunnerId(made.subject))
        return made

    def _with_newest_seal(self, camera: Camera) -> Camera:
        known = self._db.cameras.get(camera.camera_id)
        is_same = known is not None and known.credential_version == camera.credential_version
        return replace(camera, sealed=known.sealed) if known is not None and is_same else camera

    def _remove(self, thing: Thing) -> None:
        del self._tables[type(thing)][key_of(thing)]
        if isinstance(thing, Camera):
            lease = self._db.leases[thing.camera_id]
            ended = lease.withdrawn(self._db.now())
            self._db.put_lease(replace(ended, state=SessionState.TERMINATED))
            self._db.statuses.pop(thing.camera_id, None)
        if isinstance(thing, Site):
            del self._db.buckets[thing.site_id]
        if isinstance(thing, Tenant):
            self._db.wishes.pop(thing.tenant_id, None)
            now = self._db.now()
            self._db.deletions[thing.tenant_key] = TenantDeletion(
                tenant_key=thing.tenant_key,
                tenant_id=thing.tenant_id,
                requested_at=now,
                tokens_after=now + timedelta(seconds=CLOCKS_APART),
            )

    def _silence(self, runner_id: RunnerId) -> None:
        """Ends a runner's incarnation; its leases run out, for it may be at work still."""
        runner = self._db.runners.get(runner_id)
        if runner is not None:
            self._db.runners[runner_id] = replace(runner, incarnation=None)

    def _write_down(self, edit: Edit, thing: Thing | None, author: Author) -> None:
        now = self._db.now()
        self._db.note(note(edit, author))
        camera = thing or edit.before
        if isinstance(camera, Camera):
            made = announcement.of_camera(camera, edit.verb, event_id=str(uuid.uuid4()), at=now)
            self._db.announced += 1
            position = self._db.announced
            self._db.outbox.append((camera.tenant_id, replace(made, position=position)))
            self._db.unpublished.add(position)

    def _forget(self) -> None:
        now = self._db.now()
        self._db.outbox[:] = [each for each in self._db.outbox if now - each[1].at < timedelta(seconds=TOLD_FOR)]

    def _known(self, once: Once) -> Repeated | None:
        known = self._db.created.get((once.subject, once.key))
        is_fresh = known and (self._db.now() - known.made_at).total_seconds() < REMEMBERED_FOR
        return known if is_fresh else None


class MemoryRegister:
    """The reading half of the register, and the outbox, on a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._db = database

    async def find_tenant(self, tenant_id: TenantId, *, scope: TenantId | None) -> Tenant | None:
        return self._db.tenants.get(tenant_id) if scope in (None, tenant_id) else None

    async def tenants(self, page: Page) -> list[Tenant]:
        return listed(self._db.tenants, page)

    async def find_site(self, site_id: SiteId, *, scope: TenantId | None) -> Site | None:
        site = self._db.sites.get(site_id)
        return site if site is not None and scope in (None, site.tenant_id) else None

    async def sites(self, page: Page) -> list[Site]:
        return listed(self._db.sites, page)

    async def audit(self, wanted: AuditFilter) -> list[AuditRow]:
        fitting = [row for row in reversed(self._db.audit) if _is_wanted(row, wanted)]
        return fitting[: wanted.limit]

    async def pending(self, *, limit: int) -> list[Announcement]:
        return [each for _, each in self._db.outbox if each.position in self._db.unpublished][:limit]

    async def published(self, positions: Sequence[int]) -> None:
        self._db.unpublished.difference_update(positions)

    async def announced(self, *, scope: TenantId | None, after: int, limit: int) -> list[Announcement]:
        told_to = [each for tenant_id, each in self._db.outbox if scope in (None, tenant_id)]
        return [each for each in told_to if each.position > after][:limit]

    async def newest(self) -> int:
        return self._db.outbox[-1][1].position if self._db.outbox else 0


def listed(rows: dict[Any, Any], page: Page, is_wanted: Callable[[Any], bool] = lambda _: True) -> list[Any]:
    """One page of rows that the scope sees, in the order of their ids."""
    keys = sorted(key for key in rows if page.after is None or key > page.after)
    seen = [rows[key] for key in keys if page.scope in (None, rows[key].tenant_id)]
    return [each for each in seen if is_wanted(each)][: page.limit]


def _state(thing: Thing) -> tuple[object, ...]:
    """What tells one state from every other; its instant too, for a new thing may have an old one's id."""
    return thing.revision, None if isinstance(thing, Runner) else thing.updated_at


def _is_wanted(row: AuditRow, wanted: AuditFilter) -> bool:
    return (
        wanted.scope in (None, row.tenant_id)
        and wanted.tenant_id in (None, row.tenant_id)
        and wanted.object_id in (None, row.object_id)
        and wanted.subject in (None, row.author.subject)
        and wanted.action in (None, row.action)
        and (wanted.since is None or row.at >= wanted.since)
        and (wanted.before is None or row.position < wanted.before)
    )
