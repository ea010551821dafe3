"""When a Worker's cameras may dial: not while their host is away, and no faster than their site bears.

The rules are `vision/hosts.py` and `leases/redialing.py`; this is the waiting. A host that is away is probed for as
long as a camera waits for it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random

from streamward.leases.redialing import Pace, Redials
from streamward.model.ids import SiteId
from streamward.model.stream_error import StreamFailure
from streamward.runtime.clock import Clock
from streamward.vision.hosts import AwayHosts, HostKey

JITTER = 0.25  # of a wait, at most: Workers that lost a site together are not to dial it in step
FIRST_DIAL_WITHIN = 0.25  # seconds over which first dials that got their tokens together are spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Where a camera is, and how to find out whether somebody is there."""

    key: HostKey
    probe: Callable[[], Awaitable[bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """The way to a camera; without a host it is on this one."""

    site_id: SiteId
    host: Host | None = None


@dataclass(slots=True, eq=False)
class _Vigil:
    """Those who wait for a host."""

    probing: asyncio.Task[None]
    is_over: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: int = 0


class Dialing:
    """Shared by the watchers of one Worker."""

    def __init__(self, *, clock: Clock, random: Random, pace: Pace | None = None) -> None:
        self._clock = clock
        self._random = random
        self._hosts = AwayHosts()
        self._redials = Redials(pace or Pace())
        self._queues: defaultdict[SiteId, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._vigils: dict[HostKey, _Vigil] = {}

    def set_pace(self, site_id: SiteId, pace: Pace) -> None:
        """How fast a site may be dialed from here, from now on."""
        self._redials.set(site_id, pace, self._clock.boot())

    def lost(self, way: Way, failure: StreamFailure) -> None:
        """A camera could not connect to its host."""
        if way.host is not None:
            self._hosts.lost(way.host.key, failure, self._clock.boot())

    def why_away(self, way: Way) -> StreamFailure | None:
        """Why a camera's host is away; None: it is not known to be."""
        return None if way.host is None else self._hosts.why(way.host.key)

    async def back(self, way: Way) -> None:
        """Waits until a camera's host answers."""
        host = way.host
        if host is None or self._hosts.why(host.key) is None:
            return
        vigil = self._vigils.get(host.key) or self._keep_vigil(host)
        vigil.waiting += 1
        try:
            await vigil.is_over.wait()
        finally:
            vigil.waiting -= 1
            if not vigil.waiting:
                vigil.probing.cancel()
                await asyncio.wait([vigil.probing])

    async def spread(self) -> None:
        """Waits for a random while before a first dial: one answer brings several tokens, for dials in one moment."""
        await asyncio.sleep(self._random.uniform(0.0, FIRST_DIAL_WITHIN))

    async def take(self, way: Way) -> None:
        """Waits for the camera's turn to dial; those of one site go in the order in which they came."""
        async with self._queues[way.site_id]:
            rest = self._redials.ask(way.site_id, self._clock.boot())
            while rest:
                await asyncio.sleep(rest * self._random.uniform(1.0, 1.0 + JITTER))
                rest = self._redials.ask(way.site_id, self._clock.boot(), again=True)

    def give_back(self, way: Way) -> None:
        """That dial has ended: the camera plays, or does not."""
        self._redials.done(way.site_id)

    def _keep_vigil(self, host: Host) -> _Vigil:
        vigil = self._vigils[host.key] = _Vigil(asyncio.ensure_future(self._probe(host)))
        vigil.probing.add_done_callback(lambda _: self._end_vigil(host.key))  # however it ends, nobody waits in vain
        return vigil

    def _end_vigil(self, key: HostKey) -> None:
        self._hosts.answered(key)
        self._vigils.pop(key).is_over.set()

    async def _probe(self, host: Host) -> None:
        """Until it answers."""
        under_way: set[asyncio.Future[bool]] = set()
        try:
            while not await self._has_answered(host, under_way):
                pass
        finally:
            for each in under_way:
                each.cancel()
            if under_way:
                await asyncio.wait(under_way)

    async def _has_answered(self, host: Host, under_way: set[asyncio.Future[bool]]) -> bool:
        """Waits for the next probe's time or for an answer to an earlier one."""
        now = self._clock.boot()
        rest = self._hosts.rest(host.key, now)
        if not rest:
            self._hosts.probing(host.key, now)
            under_way.add(asyncio.ensure_future(host.probe()))
        elif under_way:
            done, _ = await asyncio.wait(under_way, timeout=rest, return_when=asyncio.FIRST_COMPLETED)
            under_way -= done
            return any(each.result() for each in done)
        else:
            await asyncio.sleep(rest)
        return False
