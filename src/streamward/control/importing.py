"""Cameras brought in as a file: every line is judged before any is written, and then all are, or none.

A line is about the camera of its `camera_uuid`, or else about that of its `name` in the tenant of the caller, or of the
line's site. So a file without ids can be imported again and again, and changes nothing the second time.

What is judged is the state that was read; if somebody changes one of the cameras before the writing, all is judged once
more. Judging goes in small parts, between which other calls get their turn.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec import UnsetType, structs

from streamward.control.api.problems import problem_of
from streamward.control.clerk import problem
from streamward.control.registrar import SITE_UNKNOWN, Registrar
from streamward.leases.store import CameraStore
from streamward.model.camera import Camera, Site
from streamward.model.errors import StreamwardError
from streamward.model.identity import Author
from streamward.model.ids import CameraId, SiteId, TenantId
from streamward.model.register import Edit, Hindrance, NotEdited, Register
from streamward.protocol.camera_lines import Read
from streamward.protocol.problem import LineFault, Problem
from streamward.protocol.transfer import CameraLine, CamerasImported, ImportedLine, ImportOutcome, change, creation

REFUSED = Problem(
    title="Unprocessable Content",
    status=422,
    detail="nothing was imported: see what is wrong in `lines`",
    reason="import-refused",
)
CHANGED = Problem(
    title="Conflict",
    status=409,
    detail="nothing was imported: cameras of it are being changed by somebody else; send it again",
    reason="changed-meanwhile",
)
INCOMPLETE = Problem(
    title="Unprocessable Content",
    status=422,
    detail="there is no such camera, and a new one needs site_id and rtsp_url",
    reason="incomplete",
)
NAME_TAKEN = Problem(
    title="Conflict", status=409, detail="the tenant has another camera of that name", reason="camera-name-taken"
)
_TRIES = 2
_PART = 25  # lines that are judged in one go: some milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A line that can be done."""

    number: int
    before: Camera | None
    after: Camera
    is_id_new: bool  # and made up

    @property
    def outcome(self) -> ImportOutcome:
        if self.before is None:
            return ImportOutcome.CREATED
        return ImportOutcome.UNCHANGED if self.before == self.after else ImportOutcome.UPDATED


@dataclass(slots=True)
class Verdict:
    """What all lines come to."""

    done: list[Judged] = field(default_factory=list)
    faults: list[LineFault] = field(default_factory=list)

    def edits(self) -> list[Edit]:
        """What is to be written, in the order of ids: two imports at once lock the same rows in the same order."""
        changing = (each for each in self.done if each.outcome is not ImportOutcome.UNCHANGED)
        in_order = sorted(changing, key=lambda each: each.after.camera_id)
        return [Edit(before=each.before, after=each.after) for each in in_order]

    def told(self, *, dry_run: bool) -> CamerasImported:
        """The whole report."""
        counts = Counter(each.outcome for each in self.done)
        return CamerasImported(
            dry_run=dry_run,
            created=counts[ImportOutcome.CREATED],
            updated=counts[ImportOutcome.UPDATED],
            unchanged=counts[ImportOutcome.UNCHANGED],
            lines=[_told(each, dry_run=dry_run) for each in self.done],
        )


class Importer:
    """Brings files of cameras into the register."""

    def __init__(self, cameras: CameraStore, register: Register, *, registrar: Registrar) -> None:
        self._cameras = cameras
        self._register = register
        self._registrar = registrar

    async def take(
        self, author: Author, lines: Iterator[tuple[int, Read]], *, dry_run: bool
    ) -> CamerasImported | Problem:
        """Imports every line or none; a dry run only tells what would become of each."""
        read = await _all(lines)
        failed: Problem = CHANGED
        for _ in range(_TRIES):
            verdict = await self._judge(author, read)
            if verdict.faults:
                return structs.replace(REFUSED, lines=verdict.faults)
            edits = verdict.edits()
            if dry_run or not edits:
                return verdict.told(dry_run=dry_run)
            outcome = await self._register.edit(edits, author=author)
            if not isinstance(outcome, NotEdited):
                return verdict.told(dry_run=False)
            failed = _conflict(outcome, verdict)
        return failed

    async def _judge(self, author: Author, read: list[tuple[int, Read]]) -> Verdict:
        verdict = Verdict()
        known = await self._known(author, [line for _, line in read if isinstance(line, CameraLine)])
        first: dict[object, int] = {}  # where each camera, and each name of a tenant, stands first
        for count, (number, line) in enumerate(read):
            if count % _PART == 0:
                await asyncio.sleep(0)
            if not isinstance(line, CameraLine):
                verdict.faults.append(_fault(number, None, problem_of(line)))
                continue
            chosen, named = _own_id(line), known.named(author, line)
            before = known.before(author, line)
            about = [each for each in (chosen if before is None else before.camera_id, named) if each is not None]
            earlier = min(first.setdefault(each, number) for each in about) if about else number
            after = self._wanted(author, line, before=before, known=known) if earlier == number else _twice(earlier)
            if isinstance(after, Problem):
                verdict.faults.append(_fault(number, chosen, after))
            else:
                is_id_new = before is None and chosen is None
                verdict.done.append(Judged(number=number, before=before, after=after, is_id_new=is_id_new))
        return verdict

    def _wanted(self, author: Author, line: CameraLine, *, before: Camera | None, known: "_Known") -> Camera | Problem:
        """The camera that a line wants."""
        site = known.sites.get(_site_id(line, before) or "")
        created = creation(line) if before is None else None
        if before is None and created is None:
            return INCOMPLETE
        if site is None or (before is not None and before.tenant_id != site.tenant_id):
            return SITE_UNKNOWN
        named = known.named(author, line)
        holder = None if named is None else known.by_name.get(named)
        if holder is not None and holder != before:
            return NAME_TAKEN
        try:
            if created is not None:
                return self._registrar.described(author, site, created)
            assert before is not None
            return self._registrar.changed(before, site, change(line, before))
        except StreamwardError as err:
            return problem_of(err)

    async def _known(self, author: Author, lines: list[CameraLine]) -> "_Known":
        """What there is of all that lines name; sites first, for an id says nothing of a tenant."""
        ids = {CameraId(chosen) for chosen in map(_own_id, lines) if chosen is not None}
        by_id = {each.camera_id: each for each in await self._cameras.find_cameras(sorted(ids), scope=author.tenant_id)}
        places = {SiteId(line.site_id) for line in lines if not isinstance(line.site_id, UnsetType)}
        places |= {camera.site_id for camera in by_id.values()}
        found = [await self._register.find_site(each, scope=author.tenant_id) for each in sorted(places)]
        known = _Known(by_id=by_id, sites={each.site_id: each for each in found if each is not None})
        names: dict[TenantId, set[str]] = {}
        for tenant_id, name in filter(None, (known.named(author, line) for line in lines)):
            names.setdefault(tenant_id, set()).add(name)
        for tenant_id, wanted in names.items():
            for camera in await self._cameras.find_named_cameras(sorted(wanted), tenant_id=tenant_id):
                known.by_name[tenant_id, camera.name or ""] = camera
                known.sites.setdefault(camera.site_id, await self._register.find_site(camera.site_id, scope=tenant_id))
        return known


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What there is of all that the lines of a file name."""

    by_id: dict[CameraId, Camera]
    sites: dict[str, Site | None]
    by_name: dict[tuple[TenantId, str], Camera] = field(default_factory=dict)

    def named(self, author: Author, line: CameraLine) -> tuple[TenantId, str] | None:
        """The name that a line gives, and the tenant in which it is one; None: it gives none, or nowhere."""
        if not isinstance(line.name, str):
            return None
        camera = self.by_id.get(CameraId(_own_id(line) or ""))
        site = self.sites.get(_site_id(line, camera) or "")
        tenant_id = author.tenant_id or (None if site is None else site.tenant_id)
        return None if tenant_id is None else (tenant_id, line.name)

    def before(self, author: Author, line: CameraLine) -> Camera | None:
        """The camera that a line is about, as it was read; None: a new one."""
        chosen, named = _own_id(line), self.named(author, line)
        if chosen is not None:
            return self.by_id.get(CameraId(chosen))
        return None if named is None else self.by_name.get(named)


async def _all(lines: Iterator[tuple[int, Read]]) -> list[tuple[int, Read]]:
    read = []
    for count, line in enumerate(lines):
        if count % _PART == 0:
            await asyncio.sleep(0)
        read.append(line)
    return read


def _conflict(failed: NotEdited, verdict: Verdict) -> Problem:
    """What came in between; the camera may be another tenant's, whose ids are not told apart from taken ones."""
    told = CHANGED if failed.why is Hindrance.CHANGED else problem(failed)
    line = next(each for each in verdict.done if failed.edit.after is each.after)
    return structs.replace(told, lines=[_fault(line.number, line.after.camera_id, told)])


def _told(judged: Judged, *, dry_run: bool) -> ImportedLine:
    is_made_up = dry_run and judged.is_id_new
    return ImportedLine(
        line=judged.number, camera_uuid=None if is_made_up else judged.after.camera_id, outcome=judged.outcome
    )


def _fault(number: int, camera_id: str | None, told: Problem) -> LineFault:
    return LineFault(line=number, camera_uuid=camera_id, detail=told.detail, reason=told.reason)


def _twice(earlier: int) -> Problem:
    return structs.replace(REFUSED, detail=f"line {earlier} is about the same camera", reason="camera-twice")


def _own_id(line: CameraLine) -> str | None:
    return None if isinstance(line.camera_uuid, UnsetType) else line.camera_uuid


def _site_id(line: CameraLine, before: Camera | None) -> SiteId | None:
    if not isinstance(line.site_id, UnsetType):
        return SiteId(line.site_id)
    return None if before is None else before.site_id
