"""A Manager's Workers: who counts as stuck, what is told to whom, and what is left of a dead one."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from streamward.leases.held import Held
from streamward.leases.reconcile import Running, Voice
from streamward.model.ids import CameraId, Generation, ShardId
from streamward.model.secret import Secret
from streamward.protocol import codec, worker_link
from streamward.protocol.fields import ClearText
from streamward.protocol.shards import ShardConfig, Source
from streamward.protocol.spawning import Exited
from streamward.protocol.worker_link import (
    Began,
    Begin,
    DialEnded,
    Feed,
    Ping,
    Pong,
    Showing,
    Stopped,
    Told,
    Warm,
    Warmed,
    Word,
)
from streamward.runner.crew import (
    ANSWERED_WITHIN,
    BEGUN_WITHIN,
    LOADED_WITHIN,
    PING_EVERY,
    SILENT_FOR,
    Crew,
    Seat,
    seated,
    speaks,
)
from streamward.runtime.channel import Channel
from tests.support.builders import START
from tests.support.clocks import ManualClock
from tests.support.nursery import Nursery

SHARD = ShardId("shard-0")
CONFIG = ShardConfig(runner_id="r1", shard_id=SHARD, sources=[])
UNKNOWN = ShardConfig(runner_id="r1", shard_id=SHARD, sources=[], detector="nobody-has-this")


class Host:
    """A crew, its clock and what it told."""

    def __init__(self) -> None:
        self.clock = ManualClock(START)
        self.nursery = Nursery()
        self.words: asyncio.Queue[Word] = asyncio.Queue()
        self.gone: list[Seat] = []
        self.crew = Crew(
            self.nursery,
            log=2,
            grace=1.0,
            clock=self.clock,
            on_word=lambda _, word: self.words.put_nowait(word),
            on_gone=lambda seat, _: self.gone.append(seat),
        )

    def wait(self, seconds: float) -> list[int]:
        """The Manager looks once a second; returns who was stuck."""
        stuck: list[int] = []
        for _ in range(round(seconds)):
            self.clock.advance(1.0)
            stuck += self.crew.kill_stuck()
        return stuck

    async def hears(self, worker: Channel, word: Word) -> None:
        worker.send(codec.encode(word))
        async with asyncio.timeout(60):
            assert await self.words.get() == word


@contextlib.asynccontextmanager
async def a_host() -> AsyncIterator[Host]:
    host = Host()
    yield host
    await host.crew.close()
    host.nursery.close()


async def test_a_spare_that_waited_for_long_is_not_stuck_when_it_takes_a_shard():
    async with a_host() as host:
        await host.crew.start(None, CONFIG)
        worker = await Channel.over(host.nursery.ends[1])
        await host.hears(worker, Warmed())
        assert isinstance(worker_link.read_order(await worker.receive() or b""), Warm)
        for _ in range(10 * round(BEGUN_WITHIN / PING_EVERY)):
            assert host.wait(PING_EVERY) == []
            assert worker_link.read_order(await worker.receive() or b"") == Ping()
            host.crew.seats[1].heard(Pong(), host.clock.boot())
        worker.send(codec.encode(Pong()))
        await host.hears(worker, Warmed())  # a Pong is passed on to nobody
        seat = host.crew.seats[1]
        seat.begin(SHARD, CONFIG, now=host.clock.boot())
        assert host.wait(BEGUN_WITHIN) == []
        assert host.clock.boot() - seat.born_at == BEGUN_WITHIN  # it has proven nothing while it waited
        assert host.wait(2) == host.nursery.stopped == [1]
        await worker.close()


async def test_a_spare_that_does_not_answer_gets_no_shard_and_is_stuck():
    async with a_host() as host:
        await host.crew.start(None, CONFIG)
        worker = await Channel.over(host.nursery.ends[1])
        await host.hears(worker, Warmed())
        assert host.wait(PING_EVERY + ANSWERED_WITHIN) == []
        assert [each.worker.is_ready for each in host.crew.seated()] == [True]
        assert host.wait(1) == []
        assert [each.worker.is_ready for each in host.crew.seated()] == [False]
        host.clock.advance(3600)  # the host was suspended: its answer is still to be read
        assert host.crew.kill_stuck() == []
        assert [each.worker.is_ready for each in host.crew.seated()] == [True]
        assert host.wait(PING_EVERY + SILENT_FOR) == []
        assert host.wait(1) == host.nursery.stopped == [1]
        await worker.close()


async def test_a_spare_that_loads_for_too_long_is_stuck():
    async with a_host() as host:
        await host.crew.start(None, CONFIG)
        assert host.wait(LOADED_WITHIN) == []
        assert host.wait(1) == [1]


async def test_a_spare_loads_one_make_after_the_other_and_each_once():
    async with a_host() as host:
        seat = await host.crew.start(None, CONFIG)
        worker = await Channel.over(host.nursery.ends[1])
        for make in (1, 1):  # while it still loads the first one
            seat.warm(make, UNKNOWN, now=1.0)
        assert (seated(seat, 0.0).loading, seated(seat, 0.0).loaded) == (0, None)
        await host.hears(worker, Warmed())
        assert (seated(seat, 0.0).loading, seated(seat, 0.0).loaded) == (None, 0)
        for make in (1, 1):
            seat.warm(make, UNKNOWN, now=2.0)
        await host.hears(worker, Warmed(problem="it is not there"))
        assert (seated(seat, 0.0).loading, seated(seat, 0.0).loaded) == (None, None)
        seat.warm(1, UNKNOWN, now=3.0)
        seat.warm(0, CONFIG, now=4.0)
        async with asyncio.timeout(60):
            orders = [worker_link.read_order(await worker.receive() or b"") for _ in range(3)]
        names = ["colour", "nobody-has-this", "colour"]
        assert orders == [Warm(detector=name, models=CONFIG.models) for name in names]
        await worker.close()


async def test_a_worker_that_has_begun_and_is_silent_is_stuck_unless_nobody_listened():
    async with a_host() as host:
        await host.crew.start(SHARD, CONFIG)
        worker = await Channel.over(host.nursery.ends[1])
        assert isinstance(worker_link.read_order(await worker.receive() or b""), Begin)
        await host.hears(worker, Began(pid=1, port=4000))
        assert host.wait(SILENT_FOR - 1) == []
        await host.hears(worker, Told(reports=[], failures=[]))
        host.clock.advance(3600)  # the host was suspended
        assert host.crew.kill_stuck() == []
        assert host.wait(SILENT_FOR) == []
        assert host.wait(1) == [1]
        await worker.close()


async def test_of_a_dead_worker_nothing_is_left_also_if_it_died_at_birth():
    async with a_host() as host:
        await host.crew.start(SHARD, CONFIG)
        host.crew.exited(Exited(worker=2, pid=7, code=1))  # before its birth is told
        await host.crew.start(ShardId("shard-1"), CONFIG)
        host.crew.exited(Exited(worker=1, pid=7, code=1))
        assert [seat.shard_id for seat in host.gone] == ["shard-1", SHARD]
        assert not host.crew.seats
        for seat in host.gone:
            async with asyncio.timeout(60):
                assert await seat.channel.receive() is None


async def test_a_shard_whose_worker_is_being_born_is_never_without_one():
    async with a_host() as host:
        starting = asyncio.ensure_future(host.crew.start(SHARD, CONFIG))
        await asyncio.sleep(0)
        while not starting.done():
            assert [each.worker.shard_id for each in host.crew.seated()] == [SHARD]
            await asyncio.sleep(0)
        assert [each.worker.shard_id for each in host.crew.seated()] == [SHARD]


async def test_how_far_a_camera_has_come_is_known_from_what_its_worker_says():
    one = CameraId("cam-1")
    async with a_host() as host:
        await host.crew.start(SHARD, CONFIG)
        worker, seat = await Channel.over(host.nursery.ends[1]), host.crew.seats[1]
        source = Source(camera_uuid=one, url=ClearText(Secret("rtsp://192.0.2.1/1")), site_id="s", tenant_id="t")
        seat.add(source, Running(worker=1, generation=Generation(3), revision=1))
        host.clock.advance(7.0)
        for word in (DialEnded(camera_uuid=one), Showing(camera_uuid=one, arrived=1.0), DialEnded(camera_uuid="gone")):
            await host.hears(worker, word)
        assert (seat.cameras[one].dialed_at, seat.cameras[one].is_shown) == (host.clock.boot(), True)
        assert list(seat.cameras) == [one]
        await worker.close()


async def test_a_late_word_about_an_earlier_start_does_not_end_a_camera():
    one = CameraId("cam-1")
    async with a_host() as host:
        await host.crew.start(SHARD, CONFIG)
        worker, seat = await Channel.over(host.nursery.ends[1]), host.crew.seats[1]
        for epoch in (1, 2):
            source = Source(camera_uuid=one, url=ClearText(Secret("rtsp://192.0.2.1/1")), site_id="s", tenant_id="t")
            seat.add(source, Running(worker=1, generation=Generation(3), revision=1, epoch=epoch))
            seat.drop(one)
            await host.hears(worker, Stopped(camera_uuid=one, epoch=1))  # by itself, and again because it was told to
            assert (one in seat.cameras) is (epoch == 2)
        await host.hears(worker, Stopped(camera_uuid=one, epoch=2))
        assert host.crew.running() == {}
        await worker.close()


async def test_a_lease_is_fed_to_every_worker_that_goes_on_with_its_camera():
    one, two = CameraId("cam-1"), CameraId("cam-2")
    held = Held(generation=Generation(3), deadline=9.0, told_at=START, asked=0.0, since=0.0)
    async with a_host() as host:
        await host.crew.start(SHARD, CONFIG)
        worker, seat = await Channel.over(host.nursery.ends[1]), host.crew.seats[1]
        for name in (one, two):
            source = Source(camera_uuid=name, url=ClearText(Secret("rtsp://192.0.2.1/1")), site_id="s", tenant_id="t")
            seat.add(source, Running(worker=1, generation=Generation(3), revision=1, voice=Voice.SILENT))
        seat.drop(two)
        seat.feed({one: held, two: held})
        async with asyncio.timeout(60):
            orders = [worker_link.read_order(await worker.receive() or b"") for _ in range(5)]
        assert orders[-1] == Feed(leases=[worker_link.fed(one, held)])
        await worker.close()


@pytest.mark.parametrize(("voice", "is_told"), [(Voice.SPEAKS, True), (Voice.FALLS_SILENT, False), (None, False)])
async def test_only_who_speaks_of_a_camera_tells_how_it_is(voice: Voice | None, is_told: bool):
    async with a_host() as host:
        await host.crew.start(SHARD, CONFIG)
        seat = host.crew.seats[1]
        if voice is not None:
            seat.cameras[CameraId("cam-1")] = Running(worker=1, generation=Generation(3), revision=1, voice=voice)
        assert speaks(seat, "cam-1") is is_told
