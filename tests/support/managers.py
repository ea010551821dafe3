"""A Manager that holds one camera, with Workers without processes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from streamward.leases.holder import AskKind
from streamward.model.ids import ShardId, SiteId
from streamward.protocol.shards import ShardConfig
from streamward.runner.known import KnownCameras
from streamward.runner.manager import Manager
from streamward.runner.manager_parts import ManagerParts, ManagerSpec
from streamward.runtime.journal import Journal
from tests.support.builders import START
from tests.support.clocks import ManualClock
from tests.support.granted import ONE, a_source, granted
from tests.support.holder_talk import holding, renewed
from tests.support.nursery import Nursery


class Silence:
    """A control plane that does not answer."""

    async def post(self, _path: str, _message: Any, _kind: type[Any], *, within: float) -> None:
        assert within > 0

    async def get(self, _path: str, _kind: type[Any], *, within: float) -> None:
        assert within > 0


class Host:
    """A Manager that holds one camera, and what it is in."""

    def __init__(self, *, site: SiteId | None = None) -> None:
        self.clock = ManualClock(START)
        self.clock.advance(10.0)
        self.known = KnownCameras(Silence())
        self.known.granted(granted(a_source()))
        self.nursery = Nursery()
        self.talk = holding(ONE, now=10.0)
        spec = self.talk.holder.spec
        self.talk.holder.spec = replace(spec, runner=replace(spec.runner, site_id=site))
        parts = ManagerParts(
            holder=self.talk.holder,
            control=Silence(),
            known=self.known,
            spawner=self.nursery,
            clock=self.clock,
            journal=Journal(),
            log=2,
        )
        self.manager = Manager(ManagerSpec(template=ShardConfig(runner_id="r1", shard_id="none", sources=[])), parts)

    def loses(self) -> None:
        """The control plane says that the camera is another's."""
        now = self.clock.boot()
        assert AskKind.RENEW in self.talk.poll(now)
        self.talk.answer(AskKind.RENEW, renewed(now=now, lost=(ONE,)), now=now)

    async def staffed(self, shard_id: ShardId | None = None) -> int:
        """Looks until a shard has a Worker, or that one has; returns its number."""
        async with asyncio.timeout(60):
            while True:
                await self.manager.tick()
                seats = [each for each in self.manager.crew.seats.values() if each.shard_id is not None]
                found = [each.number for each in seats if shard_id in (None, each.shard_id)]
                if found:
                    return found[0]
                self.clock.advance(0.1)
                await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def a_host(*, site: SiteId | None = None) -> AsyncIterator[Host]:
    host = Host(site=site)
    yield host
    await host.manager.close()
    host.nursery.close()
