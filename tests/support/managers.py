"""A Manager that holds one camera, with Workers without processes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from random import Random
from typing import Any

from streamward.leases.holder import AskKind, Flags, Released
from streamward.model.camera import LeasePolicyName
from streamward.model.ids import ShardId, SiteId
from streamward.model.runner import DrainMode
from streamward.protocol.leases import RunnerFlags
from streamward.protocol.shards import ShardConfig
from streamward.runner.known import KnownCameras
from streamward.runner.manager import Manager
from streamward.runner.manager_parts import ManagerParts, ManagerSpec
from streamward.runner.stream_end import StreamEndPublisher
from streamward.runtime.journal import Journal
from tests.support.builders import START
from tests.support.clocks import ManualClock
from tests.support.granted import ONE, a_source, granted
from tests.support.holder_talk import holding, renewed
from tests.support.nursery import Nursery
from tests.support.tellers import KeepingTeller


class Silence:
    """A control plane that does not answer, and keeps what it was sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    async def post(self, _path: str, message: Any, _kind: type[Any], *, within: float) -> None:
        assert within > 0
        self.sent.append(message)

    async def get(self, _path: str, _kind: type[Any], *, within: float) -> None:
        assert within > 0


class Host:
    """A Manager that holds one camera, and what it is in."""

    def __init__(self, *, site: SiteId | None = None) -> None:
        self.journal = Journal()
        self.control = Silence()
        self.facts: list[object] = []
        self.journal.subscribe(self.facts.append)
        self.clock = ManualClock(START)
        self.clock.advance(10.0)
        self.teller = KeepingTeller(self.clock)
        self.known = KnownCameras(Silence())
        self.known.granted(granted(a_source()))
        self.nursery = Nursery()
        self.talk = holding(ONE, now=10.0)
        spec = self.talk.holder.spec
        self.talk.holder.spec = replace(spec, runner=replace(spec.runner, site_id=site))
        parts = ManagerParts(
            holder=self.talk.holder,
            control=self.control,
            known=self.known,
            spawner=self.nursery,
            clock=self.clock,
            journal=self.journal,
            log=2,
            random=Random(1),
            ends=StreamEndPublisher(self.talk.holder.owner, teller=self.teller, clock=self.clock),
        )
        self.manager = Manager(ManagerSpec(template=ShardConfig(runner_id="r1", shard_id="none", sources=[])), parts)

    def loses(self) -> None:
        """The control plane says that the camera is another's."""
        now = self.clock.boot()
        assert AskKind.RENEW in self.talk.poll(now)
        self.talk.answer(AskKind.RENEW, renewed(now=now, lost=(ONE,)), now=now)

    def releases(self) -> None:
        """The control plane answers that the camera was given back."""
        now = self.clock.boot()
        assert [each.camera_id for each in self.talk.released(now)] == [ONE]
        self.talk.answer(AskKind.RELEASE, Released((ONE,)), now=now)

    def flagged(self, *, drain: DrainMode) -> None:
        """The answer to a heartbeat says what an operator wants."""
        now = self.clock.boot()
        self.talk.flags(Flags(capacity=10, drain=drain), now=now)
        self.manager._answered(
            RunnerFlags(
                runner_id="r1",
                cordoned=False,
                drain_mode=drain,
                capacity_streams=10,
                incarnation=None,
                site_id=None,
                policy=LeasePolicyName.FAST,
                last_seen_at=START,
            )
        )

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
