"""A Manager that holds one camera, with Workers without processes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from streamward.protocol.shards import ShardConfig
from streamward.runner.known import KnownCameras
from streamward.runner.manager import Manager
from streamward.runner.manager_parts import ManagerParts, ManagerSpec
from streamward.runtime.journal import Journal
from tests.support.builders import START
from tests.support.clocks import ManualClock
from tests.support.granted import ONE, a_source, granted
from tests.support.holder_talk import holding
from tests.support.nursery import Nursery


class Silence:
    """A control plane that does not answer."""

    async def post(self, _path: str, _message: Any, _kind: type[Any], *, within: float) -> None:
        assert within > 0

    async def get(self, _path: str, _kind: type[Any], *, within: float) -> None:
        assert within > 0


class Host:
    """A Manager that holds one camera, and what it is in."""

    def __init__(self) -> None:
        self.clock = ManualClock(START)
        self.clock.advance(10.0)
        self.known = KnownCameras(Silence())
        self.known.granted(granted(a_source()))
        self.nursery = Nursery()
        parts = ManagerParts(
            holder=holding(ONE, now=10.0).holder,
            control=Silence(),
            known=self.known,
            spawner=self.nursery,
            clock=self.clock,
            journal=Journal(),
            log=2,
        )
        self.manager = Manager(ManagerSpec(template=ShardConfig(runner_id="r1", shard_id="none", sources=[])), parts)

    async def staffed(self) -> int:
        """Looks until its shard has a Worker; returns that one's number."""
        async with asyncio.timeout(60):
            while True:
                await self.manager.tick()
                found = [seat.number for seat in self.manager.crew.seats.values() if seat.shard_id is not None]
                if found:
                    return found[0]
                self.clock.advance(0.1)
                await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def a_host() -> AsyncIterator[Host]:
    host = Host()
    yield host
    await host.manager.close()
    host.nursery.close()
