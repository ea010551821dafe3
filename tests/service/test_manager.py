"""The Manager's own look at things, with a control plane that says nothing and Workers without processes."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from typing import Any

import pytest

from streamward.leases.supervision import MOST_RESTARTS
from streamward.protocol.shards import ShardConfig
from streamward.protocol.spawning import Exited
from streamward.runner.known import KnownCameras
from streamward.runner.manager import Manager
from streamward.runner.manager_parts import ManagerParts, ManagerSpec
from streamward.runtime.journal import Journal
from tests.support.builders import START
from tests.support.clocks import ManualClock
from tests.support.granted import ONE, a_source, granted
from tests.support.holder_talk import TTL, holding
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


async def test_a_shard_outlives_its_leases_while_the_control_plane_is_away():
    async with a_host() as host:
        manager, host.nursery.is_ready = host.manager, False
        for owned in (1, 0):
            await manager.tick()
            assert (manager.counts.owned, manager.counts.shards) == (owned, 1)
            host.clock.advance(TTL)
        manager.leave()
        await manager.tick()
        assert manager.counts.shards == 0


@pytest.mark.parametrize("is_alone", [True, False])
async def test_workers_that_die_with_their_fork_server_have_not_failed(is_alone: bool):
    async with a_host() as host:
        for _ in range(MOST_RESTARTS + 1):
            number = await host.staffed()
            host.nursery.is_ready = is_alone
            host.manager.crew.exited(Exited(worker=number, pid=1, signal=signal.SIGKILL))
            host.nursery.is_ready = True
        assert list(host.manager.staffing.given_up()) == ([ONE] if is_alone else [])
