"""The Manager's own look at things, with a control plane that says nothing and Workers without processes."""

import asyncio
import signal
from dataclasses import replace

import pytest

from streamward.leases.handover import HANDED_WITHIN, Handing
from streamward.leases.holder import AskKind, Released, Releasing
from streamward.leases.reconcile import Running, Voice
from streamward.leases.store import Named
from streamward.leases.supervision import MOST_RESTARTS
from streamward.model.ids import Generation, SiteId
from streamward.model.runner import DrainMode
from streamward.model.status import StreamState, Substate
from streamward.protocol import codec, worker_link
from streamward.protocol.dials import TakeDials
from streamward.protocol.sites import SourceRules
from streamward.protocol.spawning import Exited
from streamward.protocol.streams import StreamReport
from streamward.protocol.worker_link import Told, WorkerExit
from streamward.runner.crew import TERMINATED_WITHIN
from streamward.runner.known import _SiteRules
from streamward.runtime.channel import Channel
from tests.support.granted import ONE, SITE
from tests.support.holder_talk import OWNER, TTL
from tests.support.managers import Host, a_host
from tests.support.streams import a_report


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


async def test_a_camera_that_was_handed_over_is_not_dialed_again_while_its_release_is_not_answered():
    async with a_host() as host:
        host.known._rules[SiteId(SITE)] = _SiteRules(tls_ca=None, site=SourceRules(), installation=SourceRules())
        host.talk.holder.handing = Handing(shown=frozenset({ONE}))
        host.talk.holder.drop(ONE, host.clock.boot())
        for _ in range(8):
            await host.manager.tick()
            host.clock.advance(1.0)
            await asyncio.sleep(0)
        assert ONE in host.manager.handovers.handed
        assert not [each for each in host.control.sent if isinstance(each, TakeDials)]


async def test_a_camera_that_was_lost_is_forgotten_with_its_password():
    async with a_host() as host:
        await host.manager.tick()
        assert list(host.known) == [ONE]
        host.clock.advance(5.0)
        host.loses()
        host.releases()
        await host.manager.tick()
        assert list(host.known) == []
        assert host.manager.counts.shards == 0


async def test_a_camera_that_moved_to_a_site_of_others_is_given_back():
    async with a_host(site=SiteId("site-2")) as host:
        await host.manager.tick()
        assert host.manager.counts.desired == 0
        assert [named.camera_id for named in host.talk.released(host.clock.boot())] == [ONE]


async def test_a_drain_is_in_progress_until_the_last_lease_is_given_back():
    async with a_host() as host:
        await host.manager.tick()
        assert not host.manager.counts.is_draining
        host.flagged(drain=DrainMode.SOFT)
        assert host.manager.counts.is_draining
        host.clock.advance(HANDED_WITHIN)
        assert host.talk.released(host.clock.boot()) != ()
        assert (host.manager.counts.desired, host.manager.counts.is_draining) == (0, True)
        host.talk.answer(AskKind.RELEASE, Released((ONE,)), now=host.clock.boot())
        assert not host.manager.counts.is_draining


async def running(host: Host) -> int:
    """A Worker speaks for the camera; returns its number."""
    number = await host.staffed()
    seat = host.manager.crew.seats[number]
    seat.cameras[ONE] = Running(worker=number, generation=Generation(1), revision=1, since=host.clock.boot())
    return number


def announced(host: Host) -> list[StreamReport]:
    return [codec.decode(message.body, StreamReport) for _, message in host.teller.kept]


async def orders(host: Host, number: int) -> list[worker_link.Order]:
    """What a Worker was told so far."""
    end = await Channel.over(host.nursery.ends[number])
    found: list[worker_link.Order] = []
    while not found or not isinstance(found[-1], worker_link.Terminate | worker_link.Drain):
        async with asyncio.timeout(60):
            found.append(worker_link.read_order(await end.receive() or b""))
    await end.close()
    return found


async def test_a_hard_drain_terminates_workers_and_gives_leases_back_when_they_are_dead():
    async with a_host() as host:
        number = await running(host)
        host.flagged(drain=DrainMode.HARD)
        await host.manager.tick()
        assert isinstance((await orders(host, number))[-1], worker_link.Terminate)
        assert host.nursery.stopped == []
        host.clock.advance(TERMINATED_WITHIN + 0.1)
        await host.manager.tick()
        assert host.nursery.stopped == [number], "it is killed if it has not ended"
        assert host.manager.counts.is_draining
        releasing = asyncio.ensure_future(host.manager._stopping(Releasing(OWNER, (Named(ONE, Generation(1)),))))
        await asyncio.sleep(0)
        assert not releasing.done(), "the lease is held while something may still be made under it"
        died_at = host.manager._holder.giving_back[ONE].made_until
        host.manager.crew.exited(Exited(worker=number, pid=1, code=WorkerExit.TERMINATED))
        (released,) = (await releasing).leases
        assert released.made_until is not None
        assert died_at is not None
        assert released.made_until >= died_at
        await host.manager.tick()
        assert [seat.shard_id for seat in host.manager.crew.seats.values() if seat.shard_id] == []


async def test_streams_of_a_terminated_worker_are_announced_once_whatever_it_reports_in_its_last_moment():
    async with a_host() as host:
        number = await running(host)
        seat = host.manager.crew.seats[number]
        host.flagged(drain=DrainMode.HARD)
        await host.manager.tick()
        for state in (StreamState.DISCONNECTED, StreamState.CONNECTING):
            host.manager._heard(seat, Told(reports=[a_report(1, state=state)], failures=[]))
        host.manager.crew.exited(Exited(worker=number, pid=1, code=WorkerExit.TERMINATED))
        assert [(each.camera_uuid, each.state) for each in announced(host)] == [(ONE, StreamState.DISCONNECTED)]


async def test_a_stream_whose_worker_died_is_announced_as_disconnected_by_the_manager():
    async with a_host() as host:
        number = await running(host)
        host.manager.crew.exited(Exited(worker=number, pid=1, signal=signal.SIGKILL))
        (report,) = announced(host)
        assert (report.camera_uuid, report.state, report.version) == (ONE, StreamState.DISCONNECTED, 1)
        assert host.teller.kept[0][1].routing_key == "stream.status.acme.site-1.cam-1"
        assert host.manager.reports[ONE] == report


@pytest.mark.parametrize("is_silent", [True, False])
async def test_a_stream_that_another_announces_or_that_was_disconnected_has_no_end(is_silent: bool):
    async with a_host() as host:
        number = await running(host)
        seat = host.manager.crew.seats[number]
        if is_silent:
            seat.cameras[ONE] = replace(seat.cameras[ONE], voice=Voice.SILENT)
        host.manager._heard(seat, Told(reports=[a_report(1, state=StreamState.DISCONNECTED)], failures=[]))
        host.manager.crew.exited(Exited(worker=number, pid=1, signal=signal.SIGKILL))
        assert announced(host) == []


async def test_a_worker_knows_the_cameras_of_its_shard_before_any_may_dial():
    async with a_host() as host:
        number = await host.staffed()
        await host.manager.tick()
        assert host.manager.crew.seats[number].expected == frozenset({ONE})
        host.flagged(drain=DrainMode.HARD)
        await host.manager.tick()
        told = await orders(host, number)
        assert [order for order in told if isinstance(order, worker_link.Expect)] == [worker_link.Expect(cameras=[ONE])]
