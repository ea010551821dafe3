"""A Worker with a Manager: what it is told it does, in turn for each camera, and what happens it tells."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from streamward.leases.held import Held
from streamward.leases.logins import LoginId, LoginOutcome, Permission
from streamward.leases.redialing import Pace
from streamward.model.ids import CameraId, Generation, SiteId
from streamward.model.secret import Secret
from streamward.model.status import StreamState
from streamward.protocol import codec, worker_link
from streamward.protocol.fields import ClearText
from streamward.protocol.logins import AnsweredLogin, AskLogins, LoginAnswers, NamedLogin
from streamward.protocol.shards import Source
from streamward.protocol.worker_link import (
    Add,
    Drop,
    Feed,
    LoginsAnswered,
    LoginsAsked,
    Mute,
    Order,
    Unmute,
    WorkerExit,
)
from streamward.runner.ending import Ending
from streamward.runner.fed_leases import FedLeases
from streamward.runner.logins import ControlLogins
from streamward.runner.obeying import Obeying
from streamward.runner.parts import LastWord
from streamward.runtime.channel import Channel, pair
from tests.support.builders import START, an_owner
from tests.support.clocks import ManualClock
from tests.support.streams import a_report

ONE = CameraId("cam-1")
SOURCE = Source(camera_uuid=ONE, url=ClearText(Secret("rtsp://192.0.2.1/1")), site_id="s", tenant_id="t")
LAST = LastWord(epoch=4, arrived=3.5, made_until=START)


@dataclass
class Cameras:
    """Takes its time to end a camera."""

    done: list[str] = field(default_factory=list)
    may_end: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def dialing(self) -> "Cameras":
        return self

    def set_pace(self, site_id: SiteId, pace: Pace) -> None:
        self.done.append(f"pace {site_id} {pace.per_minute:g} {pace.burst:g}")

    def add(self, source: Source, *, is_muted: bool = False) -> None:
        self.done.append(f"add {source.camera_uuid}{' muted' if is_muted else ''}")

    async def drop(self, camera_id: CameraId) -> LastWord:
        await self.may_end.wait()
        self.done.append(f"drop {camera_id}")
        return LAST

    def expect(self, cameras: Iterable[CameraId]) -> None:
        self.done.append(f"expect {' '.join(cameras)}")

    def mute(self, camera_id: CameraId, *, is_final: bool = False) -> LastWord:
        self.done.append(f"mute {camera_id}{' for good' if is_final else ''}")
        return LAST

    def unmute(self, camera_id: CameraId, *, after: float) -> None:
        self.done.append(f"unmute {camera_id} {after}")


class Pair:
    """A Manager's end of the channel, and the Worker at the other."""

    def __init__(self, manager: Channel, worker: Channel) -> None:
        self.manager = manager
        self.clock = ManualClock(START)
        self.leases = FedLeases(an_owner(), clock=self.clock)
        self.ending = Ending(grace=10)
        self.obeying = Obeying(worker, self.leases, ending=self.ending)
        self.cameras = Cameras()

    def order(self, *orders: Order) -> None:
        for order in orders:
            self.manager.send(codec.encode(order))

    async def hears(self) -> worker_link.Word:
        async with asyncio.timeout(60):
            content = await self.manager.receive()
        assert content is not None
        return worker_link.read_word(content)


@contextlib.asynccontextmanager
async def obeying() -> AsyncIterator[Pair]:
    ends = [await Channel.over(end) for end in pair()]
    made = Pair(*ends)
    task = asyncio.ensure_future(made.obeying.obey(made.cameras))
    yield made
    await made.manager.close()
    async with asyncio.timeout(60):
        await task
    assert (made.ending.code, made.ending.within) == (WorkerExit.ORPHANED, 1.0)
    await ends[1].close()


async def test_orders_about_one_camera_follow_each_other_and_hold_up_no_other():
    two = Source(camera_uuid="cam-2", url=SOURCE.url, site_id="s", tenant_id="t")
    async with obeying() as made:
        made.order(Add(source=SOURCE), Drop(camera_uuid=ONE), Add(source=SOURCE, is_muted=True))
        made.order(Add(source=two), Mute(camera_uuid="cam-2"))
        stopped = await made.hears()
        assert made.cameras.done == ["add cam-1", "add cam-2", "mute cam-2"]
        assert stopped == worker_link.Stopped(camera_uuid="cam-2", last_arrived=3.5, made_until=START)
        made.cameras.may_end.set()
        assert await made.hears() == worker_link.Stopped(camera_uuid=ONE, epoch=4, last_arrived=3.5, made_until=START)
        made.order(Unmute(camera_uuid=ONE, after=7.0), Mute(camera_uuid=ONE))
        await made.hears()
        assert made.cameras.done[3:] == ["drop cam-1", "add cam-1 muted", "unmute cam-1 7.0", "mute cam-1"]


async def test_a_pace_is_set():
    async with obeying() as made:
        made.order(worker_link.SetPace(site_id="s", per_minute=30.0, burst=2.5), Mute(camera_uuid=ONE))
        await made.hears()
        assert made.cameras.done == ["pace s 30 2.5", "mute cam-1"]


async def test_a_camera_that_is_not_fed_is_ended():
    async with obeying() as made:
        held = Held(generation=Generation(3), deadline=made.clock.boot() + 5, told_at=START, asked=0.0, since=0.0)
        made.leases.feed([worker_link.fed(ONE, held)])
        made.cameras.may_end.set()
        made.order(Mute(camera_uuid=ONE))
        await made.hears()
        await made.obeying.tick()
        assert made.cameras.done == ["mute cam-1"]
        made.clock.advance(6)
        await made.obeying.tick()
        assert made.leases.expired() == []
        assert await made.hears() == worker_link.Stopped(camera_uuid=ONE, epoch=4, last_arrived=3.5, made_until=START)


async def test_a_camera_that_could_not_begin_has_stopped_as_the_one_that_was_meant():
    async with obeying() as made:
        made.cameras.may_end.set()
        made.order(Drop(camera_uuid=ONE, epoch=7))
        assert await made.hears() == worker_link.Stopped(camera_uuid=ONE, epoch=7, last_arrived=3.5, made_until=START)


async def test_states_failures_and_first_frames_are_told():
    async with obeying() as made:
        made.obeying.showing(ONE, 7.5)
        made.obeying.dial_ended(ONE)
        assert [await made.hears(), await made.hears()] == [
            worker_link.Showing(camera_uuid=ONE, arrived=7.5),
            worker_link.DialEnded(camera_uuid=ONE),
        ]


async def test_a_drain_is_heard():
    async with obeying() as made:
        made.order(worker_link.Drain())
        async with asyncio.timeout(60):
            await made.ending.wanted()
        assert made.ending.code is WorkerExit.DRAINED
        made.ending.code, made.ending.within = WorkerExit.ORPHANED, 1.0  # what the end of the channel would say


async def test_a_word_that_cannot_be_read_ends_the_worker():
    ends = [await Channel.over(end) for end in pair()]
    made = Pair(*ends)
    ends[0].send(b"?")
    with pytest.raises(codec.MalformedMessage):
        await made.obeying.obey(made.cameras)
    assert made.ending.code is WorkerExit.ORPHANED
    for end in ends:
        await end.close()


def test_of_two_words_about_a_lease_the_later_ask_counts():
    clock = ManualClock(START)
    leases = FedLeases(an_owner(), clock=clock)
    assert leases.database_time(1.0) == clock.wall()
    newer = Held(generation=Generation(3), deadline=20.0, told_at=START, asked=10.0, since=0.0)
    older = Held(generation=Generation(3), deadline=15.0, told_at=START, asked=5.0, since=0.0)
    leases.feed([worker_link.fed(ONE, newer), worker_link.fed(ONE, older)])
    stamp = leases.stamp(ONE, arrived=17.0, now=18.0)
    assert stamp is not None
    assert stamp.made_at == START + timedelta(seconds=7)
    assert leases.stamp(CameraId("other"), arrived=17.0, now=18.0) is None
    assert leases.database_time(12.0) == START + timedelta(seconds=2)
    leases.forget(ONE)
    assert leases.stamp(ONE, arrived=17.0, now=18.0) is None


async def test_a_feed_is_taken_in_order():
    async with obeying() as made:
        held = Held(generation=Generation(3), deadline=50.0, told_at=START, asked=0.0, since=0.0)
        made.order(Feed(leases=[worker_link.fed(ONE, held)]), Mute(camera_uuid=ONE))
        await made.hears()
        assert made.leases.stamp(ONE, arrived=1.0, now=2.0) is not None


async def test_logins_are_asked_for_by_the_managers_mouth():
    login = LoginId("a" * 64)
    async with obeying() as made:
        logins = ControlLogins(an_owner(), made.obeying.control, clock=made.clock)
        asking = asyncio.ensure_future(logins.ask(ONE, login))
        asked = await made.hears()
        assert asked == LoginsAsked(number=1, told=[], asks=[NamedLogin(camera_uuid=ONE, login=login)])
        may_go = AnsweredLogin(camera_uuid=ONE, login=login, permission=Permission.GO, retry_in_ms=0)
        made.order(LoginsAnswered(number=7, items=[]), LoginsAnswered(number=1, items=[may_go]))
        async with asyncio.timeout(60):
            assert await asking is Permission.GO
        logins.told(ONE, login, LoginOutcome.ACCEPTED)
        told = await made.hears()
        assert isinstance(told, LoginsAsked)
        assert [each.outcome for each in told.told] == [LoginOutcome.ACCEPTED]
        made.order(LoginsAnswered(number=told.number, items=[]))
        await logins.close()


async def test_a_manager_that_does_not_answer_lets_nobody_log_in():
    async with obeying() as made:
        answer = await made.obeying.control.post("/v1/logins", AskLogins(runner_id="r1"), LoginAnswers, within=0.01)
        assert answer is None
        made.order(LoginsAnswered(number=1, items=[]), Mute(camera_uuid=ONE))  # too late
        assert isinstance(await made.hears(), LoginsAsked)
        assert isinstance(await made.hears(), worker_link.Stopped)


async def test_the_cameras_of_the_shard_are_named_before_any_is_added():
    async with obeying() as made:
        made.order(worker_link.Expect(cameras=["cam-1", "cam-2"]), Mute(camera_uuid=ONE, is_final=True))
        await made.hears()
        assert made.cameras.done == ["expect cam-1 cam-2", "mute cam-1 for good"]


async def test_what_was_reported_of_a_camera_comes_before_its_end():
    async with obeying() as made:
        made.cameras.may_end.set()
        made.obeying.reported(a_report(1, state=StreamState.DISCONNECTED))
        made.order(Drop(camera_uuid=ONE))
        told, stopped = await made.hears(), await made.hears()
        assert isinstance(told, worker_link.Told)
        assert [each.state for each in told.reports] == [StreamState.DISCONNECTED]
        assert isinstance(stopped, worker_link.Stopped)


async def test_after_an_order_to_terminate_no_other_is_obeyed():
    exits: list[int] = []
    ends = [await Channel.over(end) for end in pair()]
    made = Pair(*ends)
    made.ending = Ending(grace=10, exit_now=exits.append)
    made.obeying = Obeying(ends[1], made.leases, ending=made.ending)
    made.order(worker_link.Terminate(), Drop(camera_uuid=ONE), worker_link.Drain())
    async with asyncio.timeout(60):
        await made.obeying.obey(made.cameras)
        while not exits:  # noqa: ASYNC110 - a twentieth of a second
            await asyncio.sleep(0)
    assert (exits, made.cameras.done) == ([WorkerExit.TERMINATED], [])
    made.ending.drain()
    assert made.ending.code is WorkerExit.FAILED, "a signal that comes late changes nothing"
    for end in ends:
        await end.close()
