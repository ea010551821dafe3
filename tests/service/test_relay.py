"""The relay as a service, on virtual time: what it does with brokers that are away, slow or choosy."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from streamward.control.relay import IN_FLIGHT, AnnouncementPublished, AnnouncementRefused, AnnouncingFailed, Relay
from streamward.model.announcement import Announcement
from streamward.model.bus import BusAway, Published, Refused
from streamward.model.message import Message
from streamward.runtime.journal import Journal
from streamward.runtime.service import Service
from streamward.runtime.virtual_time import run
from tests.support.announcements import MemoryOutbox, an_announcement
from tests.support.clocks import LoopClock

T = TypeVar("T")


class FakeBroker:
    """Takes everything after a moment, unless told otherwise."""

    def __init__(self, takes: Callable[[], float] = lambda: 0.01) -> None:
        self.takes = takes  # seconds until its word
        self.taken: list[int] = []
        self.is_away = False
        self.unwanted: set[str] = set()  # cameras
        self.tries = 0
        self.in_flight = 0
        self.most_in_flight = 0

    async def publish(self, message: Message) -> Published | Refused:
        self.tries += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        await asyncio.sleep(self.takes())
        self.in_flight -= 1
        if self.is_away:
            raise BusAway("mq:5672", "connection refused", retry_in=2.0)
        if message.routing_key.rpartition(".")[2] in self.unwanted:
            return Refused("not confirmed")
        self.taken.append(int(message.message_id.removeprefix("event-")))
        return Published()

    async def close(self) -> None: ...


class Relayed:
    """A relay at work, and what it said."""

    def __init__(self, waiting: list[Announcement]) -> None:
        self.outbox = MemoryOutbox(waiting)
        self.broker = FakeBroker()
        self.journal = Journal()
        self.failures: list[AnnouncingFailed] = []
        self.journal.subscribe(self._note)

    async def until_published(self, count: int) -> None:
        while len(self.broker.taken) < count:
            await self.journal.first(AnnouncementPublished, within=1000)
        await asyncio.sleep(0.1)

    def _note(self, fact: object) -> None:
        if isinstance(fact, AnnouncingFailed):
            self.failures.append(fact)


def relaying(
    scene: Callable[[Relayed], Awaitable[T]], waiting: list[Announcement], *, unwanted: set[str] | None = None
) -> T:
    """Plays a scene with a relay at work."""

    async def play() -> T:
        relayed = Relayed(waiting)
        relayed.broker.unwanted = unwanted or set()
        relay = Relay(relayed.outbox, relayed.broker, journal=relayed.journal, clock=LoopClock())
        async with Service("relay", relay, journal=relayed.journal):
            return await scene(relayed)

    return run(play())


def test_what_waits_is_published_and_taken_off() -> None:
    async def scene(relayed: Relayed) -> None:
        await relayed.until_published(3)
        assert relayed.broker.taken == [1, 2, 3]
        assert relayed.outbox.waiting == []
        assert relayed.failures == []

    relaying(scene, [an_announcement(position) for position in (1, 2, 3)])


def test_cameras_go_side_by_side_up_to_a_limit_and_each_in_its_order() -> None:
    async def scene(relayed: Relayed) -> None:
        await relayed.until_published(400)
        assert relayed.broker.most_in_flight == IN_FLIGHT
        for camera in range(200):
            ours = [each for each in relayed.broker.taken if each % 200 == camera]
            assert ours == sorted(ours)

    relaying(scene, [an_announcement(position, camera=f"cam-{position % 200}") for position in range(400)])


def test_a_broker_that_is_away_is_told_once_per_interval_and_nothing_is_lost() -> None:
    async def scene(relayed: Relayed) -> None:
        relayed.broker.is_away = True
        await asyncio.sleep(59)
        assert [(each.times, str(each.error)) for each in relayed.failures] == [
            (1, "the event bus mq:5672 cannot be used: connection refused")
        ]
        await asyncio.sleep(6)
        assert len(relayed.failures) == 2
        assert relayed.failures[1].times in range(28, 32)
        relayed.broker.is_away = False
        await relayed.until_published(3)
        assert relayed.broker.taken == [1, 2, 3]
        assert relayed.outbox.waiting == []

    relaying(scene, [an_announcement(position) for position in (1, 2, 3)])


def test_a_refused_announcement_holds_up_its_own_camera_only() -> None:
    async def scene(relayed: Relayed) -> None:
        await relayed.until_published(300)
        assert {each.position for each in relayed.outbox.waiting} == {*range(120), 420}
        assert isinstance(relayed.failures[0].error, AnnouncementRefused)
        assert len(relayed.failures) == 1
        relayed.broker.unwanted = set()
        await relayed.until_published(421)
        assert relayed.outbox.waiting == []
        assert relayed.broker.taken.index(420) > relayed.broker.taken.index(0)

    unwanted = [an_announcement(position, camera=f"bad-{position}") for position in range(120)]
    wanted = [an_announcement(position, camera=f"cam-{position}") for position in range(120, 420)]
    behind = an_announcement(420, camera="bad-0")
    relaying(scene, [*unwanted, *wanted, behind], unwanted={f"bad-{number}" for number in range(120)})


def test_what_is_refused_for_ever_is_tried_ever_less_often() -> None:
    async def scene(relayed: Relayed) -> int:
        await asyncio.sleep(3600)
        assert relayed.outbox.waiting
        return relayed.broker.tries

    assert 60 < relaying(scene, [an_announcement(1, camera="bad")], unwanted={"bad"}) < 140


def test_a_relay_that_is_stopped_midway_takes_nothing_off_that_was_not_confirmed() -> None:
    async def play() -> None:
        relayed = Relayed([an_announcement(position) for position in (1, 2, 3)])
        relay = Relay(relayed.outbox, relayed.broker, journal=relayed.journal, clock=LoopClock())
        async with Service("relay", relay, journal=relayed.journal):
            await relayed.journal.first(AnnouncementPublished)
        assert [each.position for each in relayed.outbox.waiting] == [1, 2, 3]
        async with Service("relay", relay, journal=relayed.journal):
            await relayed.until_published(4)
        assert relayed.broker.taken == [1, 1, 2, 3]
        assert relayed.outbox.waiting == []

    run(play())


@pytest.mark.parametrize("seed", range(10))
def test_of_two_relays_the_first_sight_of_each_announcement_is_in_order(seed: int) -> None:
    rng = random.Random(seed)

    async def play() -> list[int]:
        outbox = MemoryOutbox([an_announcement(n, camera=f"cam-{n % 7}") for n in range(300)])
        broker, journal = FakeBroker(lambda: rng.uniform(0, 0.2)), Journal()
        relays = [Relay(outbox, broker, journal=journal, clock=LoopClock()) for _ in range(2)]
        async with Service("one", relays[0], journal=journal), Service("two", relays[1], journal=journal):
            await outbox.only()
        return list(dict.fromkeys(broker.taken))

    first_seen = run(play())
    assert sorted(first_seen) == [*range(300)]
    for camera in range(7):
        ours = [each for each in first_seen if each % 7 == camera]
        assert ours == sorted(ours)
