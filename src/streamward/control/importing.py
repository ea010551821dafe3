"""Cameras brought in as a file: every line is judged before any is written, and then all are, or none.

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
from streamward.model.ids import CameraId, SiteId
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
_TRIES = 2
_PART = 25  # lines that are judged in one go: some milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A line that can be done."""

    number: int
    before: Camera | None
    after: Camera
    has_own_id: bool

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
        sites: dict[str, Site | None] = {}
        first: dict[str, int] = {}  # where each id stands first
        for count, (number, line) in enumerate(read):
            if count % _PART == 0:
                await asyncio.sleep(0)
            if not isinstance(line, CameraLine):
                verdict.faults.append(_fault(number, None, problem_of(line)))
                continue
            chosen = _own_id(line)
            before = None if chosen is None else known.get(chosen)
            earlier = number if chosen is None else first.setdefault(chosen, number)
            site = await self._site(author, _site_id(line, before), sites)
            after = self._wanted(author, line, before=before, site=site) if earlier == number else _twice(earlier)
            if isinstance(after, Problem):
                verdict.faults.append(_fault(number, chosen, after))
            else:
                has_own_id = chosen is not None
                verdict.done.append(Judged(number=number, before=before, after=after, has_own_id=has_own_id))
        return verdict

    def _wanted(
        self, author: Author, line: CameraLine, *, before: Camera | None, site: Site | None
    ) -> Camera | Problem:
        """The camera that a line wants."""
        created = creation(line) if before is None else None
        if before is None and created is None:
            return INCOMPLETE
        if site is None or (before is not None and before.tenant_id != site.tenant_id):
            return SITE_UNKNOWN
        try:
            if created is not None:
                return self._registrar.described(author, site, created)
            assert before is not None
            return self._registrar.changed(before, site, change(line, before))
        except StreamwardError as err:
            return problem_of(err)

    async def _known(self, author: Author, lines: list[CameraLine]) -> dict[str, Camera]:
        named = {CameraId(chosen) for chosen in map(_own_id, lines) if chosen is not None}
        found = await self._cameras.find_cameras(sorted(named), scope=author.tenant_id)
        return {camera.camera_id: camera for camera in found}

    async def _site(self, author: Author, site_id: SiteId | None, sites: dict[str, Site | None]) -> Site | None:
        if site_id is not None and site_id not in sites:
            sites[site_id] = await self._register.find_site(site_id, scope=author.tenant_id)
        return None if site_id is None else sites[site_id]


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
    is_made_up = dry_run and not judged.has_own_id
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
