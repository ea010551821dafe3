"""The Manager's own look at things, with a control plane that says nothing and Workers without processes."""

import signal

import pytest

from streamward.leases.supervision import MOST_RESTARTS
from streamward.model.ids import SiteId
from streamward.model.status import Substate
from streamward.protocol.spawning import Exited
from tests.support.granted import ONE
from tests.support.holder_talk import TTL
from tests.support.managers import a_host


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


async def test_a_camera_that_was_given_up_is_told_as_often_as_others():
    async with a_host() as host:
        for _ in range(MOST_RESTARTS + 1):
            host.manager.crew.exited(Exited(worker=await host.staffed(), pid=1, signal=signal.SIGKILL))
        told = []
        for _ in range(24):
            await host.manager.tick()
            told += list(host.manager.reports.values())
            host.manager.reports = {}
            host.clock.advance(0.25)
        assert [report.substate for report in told] == [Substate.DEGRADED] * 2, "at once, and after five seconds"


async def test_a_camera_that_was_lost_is_forgotten_with_its_password():
    async with a_host() as host:
        await host.manager.tick()
        assert list(host.known) == [ONE]
        host.clock.advance(5.0)
        host.loses()
        await host.manager.tick()
        assert list(host.known) == []
        assert host.manager.counts.shards == 0


async def test_a_camera_that_moved_to_a_site_of_others_is_given_back():
    async with a_host(site=SiteId("site-2")) as host:
        await host.manager.tick()
        assert host.manager.counts.desired == 0
        assert [named.camera_id for named in host.talk.released(host.clock.boot())] == [ONE]
