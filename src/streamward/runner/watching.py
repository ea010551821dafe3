"""How a Manager hears that something has changed: by long polls, and by a look now and then."""

import asyncio
from typing import Any, Protocol

from streamward.model.ids import CameraId
from streamward.protocol.changes import CameraChange, CameraChanges
from streamward.protocol.problem import Problem
from streamward.protocol.wait import Changed
from streamward.runner.known import NOT_NOW, Asking, KnownCameras

WAIT = 20.0  # seconds of one long poll
_MARGIN = 5.0  # seconds for the way there and back
RETRY_AFTER = 1.0  # seconds, if nobody answers
_READ_AT_ONCE = 4  # sources
SITES_EVERY = 10.0  # seconds between two looks at what sites allow


class Waking(Protocol):
    """What wants to know."""

    def wake(self) -> None:
        """Something may be free."""
        ...

    @property
    def poke(self) -> Any: ...


class FreeWatch:
    """Leases that free up, and cameras that are new."""

    def __init__(self, control: Asking, waking: Waking) -> None:
        self._control = control
        self._waking = waking
        self._cursor: str | None = None

    async def tick(self) -> float:
        """One long poll."""
        after = "" if self._cursor is None else f"&after={self._cursor}"
        told = await self._control.get(f"/v1/wait?timeout_s={WAIT:g}{after}", Changed, within=WAIT + _MARGIN)
        if not isinstance(told, Changed):
            return RETRY_AFTER
        if told.changed or self._cursor is None:
            self._waking.wake()
        self._cursor = told.cursor
        return 0.0


class ChangeWatch:
    """Cameras that were edited: their sources are read again."""

    def __init__(self, control: Asking, known: KnownCameras, waking: Waking) -> None:
        self._control = control
        self._known = known
        self._waking = waking
        self._cursor: str | None = None
        self._unread: set[CameraId] = set()  # what is said to have changed

    async def tick(self) -> float:
        """One long poll; who has been away for too long takes a cursor, and reads everything again."""
        is_new = self._cursor is None
        asked = "timeout_s=0" if is_new else f"timeout_s={WAIT:g}&after={self._cursor}"
        told = await self._control.get(f"/v1/cameras/changes?{asked}", CameraChanges, within=WAIT + _MARGIN)
        if isinstance(told, Problem) and told.status not in NOT_NOW:  # a busy control plane still knows the cursor
            self._cursor = None
        if isinstance(told, CameraChanges):
            self._cursor = told.cursor
            self._unread |= {CameraId(change.camera_uuid) for change in told.items if self._is_news(change)}
            self._unread |= set(self._known) if is_new else set()
        await self._read()
        return 0.0 if isinstance(told, CameraChanges) and not self._unread else RETRY_AFTER

    def _is_news(self, change: CameraChange) -> bool:
        """Not what the grant has told already: a camera that is new is often granted before that is heard."""
        is_gone = change.type == "camera.deleted"  # another of that name counts from the beginning
        return is_gone or self._known.read.get(CameraId(change.camera_uuid)) != change.revision

    async def _read(self) -> None:
        """What cannot be read now is read later: its change is told only once."""
        unread = sorted(self._unread)
        for place in range(0, len(unread), _READ_AT_ONCE):
            asked = unread[place : place + _READ_AT_ONCE]
            answered = await asyncio.gather(*map(self._known.reread, asked))
            self._unread -= {camera_id for camera_id, is_answered in zip(asked, answered, strict=True) if is_answered}
            if any(answered):
                self._waking.wake()
            if not any(answered):
                break  # nobody has time now: the others would only add to that


class SiteWatch:
    """What sites allow, which has no news of its own."""

    def __init__(self, known: KnownCameras, waking: Waking) -> None:
        self._known = known
        self._waking = waking

    async def tick(self) -> float:
        """Reads them all again."""
        for site_id in sorted(self._known.sites()):
            await self._known.reread_site(site_id)
        self._waking.poke()
        return SITES_EVERY
