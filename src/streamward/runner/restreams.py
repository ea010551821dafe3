"""A runner's cameras behind its restreamer (mode B): Workers read them there, and the cameras are dialed from there.

    known camera ─find→ an address that its site allows ─plan→ a named stream ─→ its Worker may begin
                                                     ↑ told again to a restreamer that had to be started again

To the Manager these are known cameras like all others: one has a revision as soon as its stream has a name. Nothing is
dialed before its Worker reads it, so that dial tokens, logins and the pace of redials are what they are without it.
What cannot be restreamed, or leads to where its site does not allow, is left to its Worker, who tells what is wrong.

Not guaranteed: that a camera which points somewhere else is not followed there. It is found out within a second or two,
and given to its Worker, who does not follow.
"""

import asyncio
import random
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Protocol

import msgspec

from streamward.leases.logins import TRIED_FOR, LoginOutcome
from streamward.model.ids import CameraId, Generation
from streamward.model.secret import Secret
from streamward.protocol import shards
from streamward.protocol.fields import ClearText
from streamward.protocol.logins import AskLogins, ToldLogin
from streamward.runner import facts
from streamward.runner.known import Asking, KnownCameras
from streamward.runner.own_leases import Control
from streamward.runtime.backoff import Backoff, BackoffSpec
from streamward.runtime.clock import Clock
from streamward.runtime.journal import Journal
from streamward.vision.restreams import Connections, ForgetStream, NameStream, Restream, Standing, judge, plan

LOOK_EVERY = 1.0  # seconds between two looks at where it is connected to
LOOK_SOON = 0.2  # seconds, while a camera waits for its Worker to let go
FIND_EVERY = 30.0  # seconds after which a host's name is looked up again
_RESTARTS = BackoffSpec(first=0.5, longest=30.0)
_NOTHING = ClearText(Secret(""))

Find = Callable[[str, shards.Source], Awaitable[Restream | None]]  # by that name; None: its Worker shall dial it


class Restreamer(Protocol):
    """What reads cameras for others; it has no stream when it was just started."""

    @property
    def is_running(self) -> bool: ...
    def url(self, name: str) -> Secret: ...
    async def start(self) -> int: ...
    async def name(self, restream: Restream) -> bool: ...
    async def forget(self, name: str) -> None: ...
    async def connections(self) -> dict[str, Connections]: ...
    def refused(self) -> set[str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RestreamParts:
    """What restreams are made with."""

    server: Restreamer
    find: Find
    clock: Clock
    journal: Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a camera is read."""

    revision: int  # of what is known of it
    number: int  # that revision as the Manager sees it
    restream: Restream | None  # None: where it is, by its Worker
    remotes: frozenset[str]  # all that were told for it: a connection outlives what its name meant
    found_at: float  # boot-time
    named_at: float | None = None  # when the restreamer first knew it; None: its Worker must not begin yet
    is_connected: bool = False
    is_shut: bool = False  # the way to the camera, so that the restreamer does not dial again by itself

    @property
    def is_ready(self) -> bool:
        return self.restream is None or self.named_at is not None


class RestreamedCameras(KnownCameras):
    """All that were granted, and where they are read; a service runs its ticks."""

    def __init__(self, control: Asking, parts: RestreamParts) -> None:
        super().__init__(control)
        self._server = parts.server
        self._find = parts.find
        self._clock = parts.clock
        self._journal = parts.journal
        self.poke: Callable[[], None] = lambda: None  # somebody waits for a place
        self.on_ready: Callable[[], None] = lambda: None  # a camera may begin
        self._places: dict[CameraId, _Place] = {}
        self._named: dict[str, Restream] = {}  # what the restreamer was told since it was started
        self._numbers = count(1)
        self._started_at: float | None = None
        self._restarts = Backoff(_RESTARTS, random.SystemRandom())
        self._refused: dict[CameraId, float] = {}  # when, in boot-time, a camera's login was

    def revision(self, camera_id: CameraId) -> int | None:
        """Likewise, and None also while it has no place."""
        revision, place = super().revision(camera_id), self._places.get(camera_id)
        if revision is None:
            return None
        if place is None or place.revision != revision:
            self.poke()
            return None
        return place.number if place.is_ready else None

    def source(self, camera_id: CameraId, *, generation: Generation, epoch: int, is_dial_paid: bool) -> shards.Source:
        """Likewise; of one that is restreamed its Worker needs no password."""
        told = super().source(camera_id, generation=generation, epoch=epoch, is_dial_paid=is_dial_paid)
        restream = self._places[camera_id].restream
        if restream is None:
            return told
        password = None if told.password is None else _NOTHING
        return msgspec.structs.replace(told, password=password, via=ClearText(self._server.url(restream.name)))

    def judged(self, asked: AskLogins) -> AskLogins:
        """What a Worker tells of its logins: it cannot know that one was refused, but the restreamer said so."""
        now = self._clock.boot()
        names = self._server.refused()
        found = {each for each, place in self._places.items() if place.restream and place.restream.name in names}
        self._refused = {each: at for each, at in self._refused.items() if now - at < TRIED_FOR}
        self._refused |= dict.fromkeys(found, now)
        return msgspec.structs.replace(asked, told=[self._outcome(each) for each in asked.told])

    async def tick(self) -> float:
        """Keeps the restreamer running, tells it what it shall have, and looks at what it does."""
        await self._keep_up()
        await self._place_all()
        for step in plan(self._wanted(), dict(self._named)):
            await self._apply(step)
        await self._look()
        is_waiting = any(place.is_shut and not place.is_connected for place in self._places.values())
        return LOOK_SOON if is_waiting else LOOK_EVERY

    async def _keep_up(self) -> None:
        if self._server.is_running:
            return
        if self._started_at is not None:
            ran_for, self._started_at = self._clock.boot() - self._started_at, None
            self._journal.record(facts.RestreamerExited(duration_ms=round(ran_for * 1000)))
            await asyncio.sleep(self._restarts.failed(after=ran_for))
        began, self._named = self._clock.boot(), {}
        for camera_id, place in self._places.items():
            self._places[camera_id] = replace(place, is_connected=False, is_shut=False)
        pid = await self._server.start()
        self._started_at = self._clock.boot()
        self._journal.record(facts.RestreamerStarted(pid=pid, duration_ms=round((self._started_at - began) * 1000)))

    async def _place_all(self) -> None:
        """Finds cameras that are new or have changed, and now and then those whose name may mean another address."""
        revisions = {camera_id: KnownCameras.revision(self, camera_id) for camera_id in self}
        self._places = {each: place for each, place in self._places.items() if revisions.get(each) == place.revision}
        due = {each: self._told(each) for each, revision in revisions.items() if revision and self._is_due(each)}
        await asyncio.gather(*(self._place(each, revisions[each] or 0, source) for each, source in due.items()))

    def _is_due(self, camera_id: CameraId) -> bool:
        place = self._places.get(camera_id)
        if place is None:
            return True
        is_old = self._clock.boot() - place.found_at >= FIND_EVERY
        return place.restream is not None and not place.is_connected and is_old

    def _told(self, camera_id: CameraId) -> shards.Source:
        """A camera as its Worker would be told of it without a restreamer."""
        return KnownCameras.source(self, camera_id, generation=Generation(0), epoch=0, is_dial_paid=False)

    async def _place(self, camera_id: CameraId, revision: int, source: shards.Source) -> None:
        before = self._places.get(camera_id)
        is_same = before is not None and before.restream is not None
        name = before.restream.name if before and before.restream else f"{camera_id}/{secrets.token_hex(16)}"
        restream, now = await self._find(name, source), self._clock.boot()
        remotes = frozenset() if restream is None else frozenset({restream.remote})
        if before is not None and is_same:  # a name that means nothing just now keeps its address
            self._places[camera_id] = replace(
                before, restream=restream or before.restream, remotes=before.remotes | remotes, found_at=now
            )
            return
        self._places[camera_id] = _Place(
            revision=revision, number=next(self._numbers), restream=restream, remotes=remotes, found_at=now
        )
        if restream is None:
            self._leave_out(camera_id)

    def _wanted(self) -> list[Restream]:
        return [
            place.restream.shut() if place.is_shut else place.restream
            for place in self._places.values()
            if place.restream is not None
        ]

    async def _apply(self, step: NameStream | ForgetStream) -> None:
        match step:
            case ForgetStream(name):
                await self._server.forget(name)
                self._named.pop(name, None)
            case NameStream(restream):
                is_taken = await self._server.name(restream)
                self._named[restream.name] = restream
                for camera_id, place in list(self._places.items()):
                    if place.restream is restream:
                        self._name(camera_id, place, is_taken=is_taken)

    def _name(self, camera_id: CameraId, place: _Place, *, is_taken: bool) -> None:
        if not is_taken:
            self._leave_to_worker(camera_id, place)
        elif place.named_at is None:
            self._places[camera_id] = replace(place, named_at=self._clock.boot())
            self.on_ready()

    async def _look(self) -> None:
        """Confirms that producers are connected (S0-105), and to where they were told."""
        found = await self._server.connections()
        for camera_id, place in list(self._places.items()):
            if place.restream is None or place.restream.name not in self._named:
                continue
            seen = found.get(place.restream.name, Connections())
            standing = judge(place.remotes, seen.remotes)
            if standing is Standing.ASTRAY:
                self._journal.record(facts.RestreamAstray(camera_id=camera_id))
                self._leave_to_worker(camera_id, place)
                self.poke()  # it is to be forgotten
            elif standing is Standing.CONNECTED:
                self._connected(camera_id, place)
            elif place.is_connected:
                self._lost(camera_id, place)
            elif place.is_shut and not seen.readers:
                self._places[camera_id] = replace(place, is_shut=False)

    def _connected(self, camera_id: CameraId, place: _Place) -> None:
        if not place.is_connected:
            self._places[camera_id] = replace(place, is_connected=True, is_shut=True)
            self._journal.record(facts.ProducerConnected(camera_id=camera_id))
            self.poke()  # its way is to be shut

    def _lost(self, camera_id: CameraId, place: _Place) -> None:
        """Its Worker lets go, and begins anew when its way is open again: it dials when it is its turn."""
        self._places[camera_id] = replace(
            place, is_connected=False, is_shut=True, named_at=None, number=next(self._numbers)
        )
        self._journal.record(facts.ProducerLost(camera_id=camera_id))
        self.on_ready()

    def _leave_to_worker(self, camera_id: CameraId, place: _Place) -> None:
        """To be begun anew, without a restream."""
        self._places[camera_id] = replace(place, restream=None, number=next(self._numbers))
        self._leave_out(camera_id)

    def _leave_out(self, camera_id: CameraId) -> None:
        self._journal.record(facts.RestreamLeftOut(camera_id=camera_id))
        self.on_ready()

    def _outcome(self, told: ToldLogin) -> ToldLogin:
        camera_id = CameraId(told.camera_uuid)
        if told.outcome is LoginOutcome.GAVE_UP and self._refused.pop(camera_id, None) is not None:
            return msgspec.structs.replace(told, outcome=LoginOutcome.REFUSED)
        return told


@dataclass(frozen=True, slots=True)
class RestreamControl:
    """The control plane, told of logins what the restreamer knows better."""

    control: Control
    cameras: RestreamedCameras

    async def post(self, path: str, message: Any, kind: type[Any], *, within: float) -> Any:
        said = self.cameras.judged(message) if isinstance(message, AskLogins) else message
        return await self.control.post(path, said, kind, within=within)
