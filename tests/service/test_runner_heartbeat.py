"""A runner's heartbeat: every second whatever HTTP does, with the leases that the runner holds."""

import asyncio
from typing import Any

from streamward.leases.holder import AskKind, Beat
from streamward.protocol import codec
from streamward.protocol.leases import Heartbeat
from streamward.protocol.runner_link import request
from streamward.runner.bulletin import Bulletin
from streamward.runner.heartbeat import HeartbeatPublisher
from streamward.runtime import virtual_time
from streamward.runtime.journal import Journal
from streamward.runtime.service import Ticks, ticking
from tests.support.builders import an_owner
from tests.support.clocks import LoopClock
from tests.support.granted import ONE
from tests.support.holder_talk import TTL
from tests.support.managers import Host, a_host
from tests.support.streams import a_report
from tests.support.tellers import KeepingTeller

OWNER = an_owner()


class Stuck:
    """A control plane that takes every request and answers none."""

    def __init__(self) -> None:
        self.calls = 0

    async def post(self, _path: str, _message: Any, _kind: type[Any], *, within: float) -> None:
        self.calls += 1
        await asyncio.sleep(within)


def test_a_heartbeat_goes_every_second_while_the_control_plane_answers_nothing():
    async def story() -> None:
        clock, control = LoopClock(), Stuck()
        host, teller = Host(), KeepingTeller(clock)
        host.manager.reports = {ONE: a_report(1)}
        bulletin = Bulletin(host.manager, control)
        bodies: dict[str, Ticks] = {
            "heartbeat": HeartbeatPublisher(host.manager, OWNER, teller=teller, clock=clock),
            "bulletin": bulletin,
        }
        async with ticking(bodies, journal=Journal()):
            await asyncio.sleep(20.5)
        await bulletin.close()
        host.nursery.close()
        assert control.calls > 1
        assert [round(at) for at, _ in teller.kept] == list(range(21))

    virtual_time.run(story())


async def published(host: Host) -> Heartbeat:
    teller = KeepingTeller(host.clock)
    await HeartbeatPublisher(host.manager, OWNER, teller=teller, clock=host.clock).tick()
    return codec.decode(teller.kept[0][1].body, Heartbeat)


async def test_it_counts_leases_whether_or_not_a_worker_runs_their_cameras():
    async with a_host() as host:
        await host.manager.tick()
        assert host.manager.counts.running == 0
        heartbeat = await published(host)
        assert (heartbeat.streams_owned, heartbeat.shards, heartbeat.ts) == (1, 1, host.clock.wall())
        assert heartbeat.mem_mb > 0
        host.clock.advance(TTL)
        assert (await published(host)).streams_owned == 0, "a lease that is not trusted may be another runner's"


async def test_the_control_plane_gets_what_the_bus_gets():
    async with a_host() as host:
        await host.manager.tick()
        on_the_bus = await published(host)
        await host.manager.tick()
        host.clock.advance(1.0)
        assert AskKind.BEAT in host.talk.poll(host.clock.boot())
        ask = host.talk.last(AskKind.BEAT)
        assert isinstance(ask.body, Beat)
        assert request(ask, at=on_the_bus.ts) == on_the_bus
